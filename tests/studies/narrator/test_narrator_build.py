"""`evenhand build narrator`: from a dump to a folder that configs read, whatever happens in between."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from evenhand.errors import DataError
from evenhand.sources.fetching import Origin
from studies import built_folder
from studies.narrator.build import Request, build, main
from studies.narrator.corpora import CorpusSpec, conversation_set_hash, load_conversations
from studies.narrator.prompts import narrator_prompts
from studies.narrator.records import Conversation
from tests.made.convokit_dump import made_cmv_dump, made_dump, zipped
from tests.made.places import SHARED
from tests.made.publishers_server import Fault, PublishersServer

EXAMPLE = SHARED / "data" / "raw" / "cga_wiki"


@pytest.fixture
def raw(tmp_path: Path) -> Path:
    return made_dump(tmp_path / "dump")


def load(root: Path, split: str, **spec: Any) -> list[Conversation]:
    return load_conversations(CorpusSpec(dataset="cga-wiki", split=split, root=root, **spec))


def test_a_build_is_read_back_by_split_and_no_page_is_on_both_sides(raw: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    manifest = build(Request(out=out, raw=raw))
    train, test, both = (load(out, name) for name in ("train", "test", "all"))
    assert (len(train), len(test), len(both)) == (28, 12, 40)
    assert manifest["n_conversations"] == {"train": 28, "test": 12}
    assert manifest["dropped"] == {"calm counterpart": 20}
    assert manifest["conversation_set_hash"] == conversation_set_hash(both)
    pages = [{one.meta["page_title"].partition("/")[0] for one in found} for found in (train, test)]
    assert not pages[0] & pages[1]
    assert both[0].conversation_id == "cga-wiki-0.0"
    assert [turn.text for turn in both[0].turns] == [f"Turn {n} of 0.0." for n in range(4)]
    assert {path.name for path in out.iterdir()} == {".lock", "README.md", "conversations.jsonl", "manifest.json"}


def test_a_finished_build_is_left_alone_a_changed_one_repaired_and_another_refused(raw: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    first = build(Request(out=out, raw=raw))
    assert build(Request(out=out, raw=raw)) == first
    lines = (out / "conversations.jsonl").read_text()
    (out / "conversations.jsonl").write_text(lines.replace("Turn 0", "Turn X", 1))
    with pytest.raises(DataError, match=r"conversations\.jsonl: is gone, or not as it was built"):
        load(out, "all")
    assert build(Request(out=out, raw=raw))["files"] == first["files"]
    assert (out / "conversations.jsonl").read_text() == lines
    with pytest.raises(DataError, match="holds a finished build with another split; choose another --out"):
        build(Request(out=out, raw=raw, seed=7))
    made_dump(raw, 21)
    with pytest.raises(DataError, match="finished build with another sources"):
        build(Request(out=out, raw=raw))


@pytest.mark.parametrize("step", ["write_jsonl", "write_whole", "write_json"])
def test_a_build_that_was_cut_off_is_no_build_and_starts_over(
    step: str, raw: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    build(Request(out=out, raw=raw))
    (out / "conversations.jsonl").write_text("")  # so that it is built again

    def killed(*arguments: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(built_folder, step, killed)
        with pytest.raises(KeyboardInterrupt):
            build(Request(out=out, raw=raw))
    with pytest.raises(DataError, match="holds no finished build; make one with `evenhand build narrator`"):
        load(out, "all")
    build(Request(out=out, raw=raw))
    assert len(load(out, "all")) == 40


def test_folders_of_others_are_refused_and_stay_as_they_are(raw: Path, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "README.md").write_text("mine")
    with pytest.raises(DataError, match="holds other files"):
        build(Request(out=tmp_path / "mine", raw=raw))
    assert (tmp_path / "mine" / "README.md").read_text() == "mine"
    (tmp_path / "unified").mkdir()
    (tmp_path / "unified" / "manifest.json").write_text('{"benchmark": "unified", "format": 1}')
    with pytest.raises(DataError, match=r"manifest\.json: is not of `evenhand build narrator`"):
        build(Request(out=tmp_path / "unified", raw=raw))
    with pytest.raises(DataError, match="is not of `evenhand build narrator`"):
        load(tmp_path / "unified", "test")


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[PublishersServer]:
    for name in ("HF_HUB_OFFLINE", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    packed = zipped(made_dump(tmp_path / "theirs"), tmp_path / "theirs.zip", "awry/")
    with PublishersServer({"convokit/awry.zip": packed.read_bytes()}) as running:
        yield running


def test_the_zip_is_downloaded_after_a_break_and_recorded(server: PublishersServer, tmp_path: Path) -> None:
    out = tmp_path / "out"
    request = Request(out=out, origin=Origin(place=f"{server.base}/folder/convokit/", files=("awry.zip",)))
    whole = len(server.files["convokit/awry.zip"])
    refused = Fault(status=403)  # not asked again
    server.faults["awry.zip"] = [Fault(cut=whole // 2), refused]
    with pytest.raises(DataError, match="access is refused"):
        build(request)
    assert not (out / "manifest.json").exists()
    manifest = build(request)
    assert server.n_sent == whole // 2 + whole  # a file of a web folder is read anew
    [source] = manifest["sources"]
    assert source["url"] == f"{server.base}/folder/convokit/awry.zip"
    assert source["n_bytes"] == whole
    n_requests = len(server.seen)
    assert build(request) == manifest
    assert len(server.seen) == n_requests
    assert len(load(out, "all")) == 40


def test_the_command_prints_the_facts_beside_the_papers(
    raw: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["--raw", str(raw), "--out", str(tmp_path / "out"), "--test-share", "0.5"])
    printed = capsys.readouterr().out.splitlines()
    assert "conversations in the dump                 60        4,188" in printed
    assert "conversations of the study                40  not printed" in printed
    assert "random baseline, mean of 1/n, %         41.7         36.1" in printed
    assert "left out:     20  calm counterpart" in printed
    assert "train 20, test 20; no page is in both" in printed
    card = (tmp_path / "out" / "README.md").read_text()
    assert "| of them escalating | 40 | 2,094 |" in card
    assert "No licence was found" in card
    assert "utterances.jsonl (put there by hand)" in card


def test_threads_of_changemyview_are_built_with_the_removed_final_comment_as_the_attack(tmp_path: Path) -> None:
    raw, out = made_cmv_dump(tmp_path / "dump"), tmp_path / "out"
    with pytest.raises(DataError, match="is a dump of cga-cmv; build it with --corpus cga-cmv"):
        build(Request(out=tmp_path / "wrong", raw=raw))
    main(["--corpus", "cga-cmv", "--raw", str(raw), "--out", str(out)])
    train, test, both = (
        load_conversations(CorpusSpec(dataset="cga-cmv", split=split, root=out)) for split in ("train", "test", "all")
    )
    assert len(both) == 40
    assert both[0].conversation_id == "cga-cmv-c0x0"
    assert both[0].turns[-1].text == "Comment 3 of c0x0."
    assert both[0].attacker == "user1"
    posts = [{one.meta["page_id"] for one in found} for found in (train, test)]
    assert posts[0]
    assert not posts[0] & posts[1]
    card = (out / "README.md").read_text()
    assert "Reddit's ChangeMyView" in card
    assert "| of them escalating | 40 | not printed |" in card
    prompts = list(narrator_prompts(both[0], tasks=("blame",), visibilities=("hidden",)))
    assert all("Comment 3" not in prompt.messages[0].content for prompt in prompts)


@pytest.mark.parametrize(
    ("place", "field", "reason"),
    [
        (3, "speaker", "a comment without author"),
        (3, "text", "the attack has no text"),
        (1, "text", "a comment without author"),  # else the transcript would have a hole
    ],
)
def test_a_removed_comment_whose_author_or_text_is_gone_drops_its_thread(
    tmp_path: Path, place: int, field: str, reason: str
) -> None:
    raw = made_cmv_dump(tmp_path / "dump", 3)
    file = raw / "utterances.jsonl"
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    rows[place][field] = "[deleted]"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    manifest = build(Request(out=tmp_path / "out", raw=raw, dataset="cga-cmv"))
    assert manifest["dropped"] == {"calm counterpart": 3, reason: 1}


@pytest.mark.skipif(not EXAMPLE.exists(), reason=f"the synthetic example is not at {EXAMPLE}")
def test_the_synthetic_example_builds(tmp_path: Path) -> None:
    manifest = build(Request(out=tmp_path / "out", raw=EXAMPLE))
    assert manifest["dropped"] == {"calm counterpart": 1}
    [found] = load(tmp_path / "out", "all")
    assert (found.conversation_id, found.attacker, found.meta["source_split"]) == (
        "cga-wiki-100.0.0",
        "EditorA",
        "train",
    )
