"""`evenhand build narrator`: from a dump to a folder that configs read, whatever happens in between."""

import pytest

from evenhand.errors import DataError
from studies.fetching import Origin
from studies.narrator.build import CONVOKIT, build, main
from studies.narrator.corpus import CorpusSpec, conversation_set_hash, load_conversations
from tests.made.convokit_dump import made_cmv_dump, made_dump, zipped
from tests.made.publishers_server import PublishersServer


@pytest.fixture
def raw(tmp_path):
    return made_dump(tmp_path / "dump")


def load(root, split="all", **spec):
    return load_conversations(CorpusSpec(**{"dataset": "cga-wiki", "split": split, "root": root, **spec}))


def test_a_build_is_read_back_by_split_and_no_page_is_on_both_sides(raw, tmp_path):
    out = tmp_path / "out"
    manifest = build(out, raw)
    train, test, both = (load(out, name) for name in ("train", "test", "all"))
    assert (len(train), len(test), len(both)) == (28, 12, 40)
    assert manifest["n_conversations"] == {"train": 28, "test": 12}
    assert manifest["dropped"] == {"calm counterpart": 20}
    assert manifest["conversation_set_hash"] == conversation_set_hash(both) == "df59ccededf247fc"
    pages = [{one.meta["page_title"].partition("/")[0] for one in part} for part in (train, test)]
    assert not pages[0] & pages[1]
    assert both[0].conversation_id == "cga-wiki-0.0"
    assert [turn.text for turn in both[0].turns] == [f"Turn {n} of 0.0." for n in range(4)]
    assert {path.name for path in out.iterdir()} == {"README.md", "conversations.jsonl", "manifest.json"}


def test_a_finished_build_is_left_alone_a_changed_one_repaired_and_another_refused(raw, tmp_path):
    out = tmp_path / "out"
    first = build(out, raw)
    assert build(out, raw) == first
    lines = (out / "conversations.jsonl").read_text()
    (out / "conversations.jsonl").write_text(lines.replace("Turn 0", "Turn X", 1))
    with pytest.raises(DataError, match=r"conversations\.jsonl: is gone, or not as it was built"):
        load(out)
    assert build(out, raw)["files"] == first["files"]
    assert (out / "conversations.jsonl").read_text() == lines
    with pytest.raises(DataError, match="holds a finished build of other split; choose another --out"):
        build(out, raw, seed=7)
    (out / "manifest.json").write_text('{"benchmark": "unified"}')
    with pytest.raises(DataError, match=r"manifest\.json: is not of this version of `evenhand build narrator`"):
        build(out, raw)


def test_the_zip_is_downloaded_once_and_recorded(raw, tmp_path, monkeypatch):
    out, packed = tmp_path / "out", zipped(raw, tmp_path / "theirs.zip", "awry/").read_bytes()
    with PublishersServer({"convokit/awry.zip": packed}) as server:
        server.stand_in(monkeypatch)
        origin = Origin(place=f"{server.base}/folder/convokit/", files=("awry.zip",))
        monkeypatch.setitem(CONVOKIT, "cga-wiki", origin)
        manifest = build(out)
        n_requests = len(server.seen)
        assert build(out) == manifest
        assert len(server.seen) == n_requests
    assert manifest["sources"][0]["n_bytes"] == len(packed)
    assert len(load(out)) == 40


def test_threads_of_changemyview_are_built_with_the_removed_final_comment_as_the_attack(tmp_path):
    raw, out = made_cmv_dump(tmp_path / "dump"), tmp_path / "out"
    with pytest.raises(DataError, match="is a dump of cga-cmv; build it with --corpus cga-cmv"):
        build(tmp_path / "wrong", raw)
    main(["--corpus", "cga-cmv", "--raw", str(raw), "--out", str(out)])
    train, test, both = (load(out, split, dataset="cga-cmv") for split in ("train", "test", "all"))
    assert (len(both), both[0].conversation_id, both[0].attacker) == (40, "cga-cmv-c0x0", "user1")
    assert both[0].turns[-1].text == "Comment 3 of c0x0."
    posts = [{one.meta["page_id"] for one in part} for part in (train, test)]
    assert posts[0]
    assert not posts[0] & posts[1]
    assert "| of them escalating | 40 | not printed |" in (out / "README.md").read_text()
    with pytest.raises(DataError, match="was built of cga-cmv, wanted is cga-wiki"):
        load(out)


def test_a_removed_comment_whose_text_is_gone_drops_its_thread(tmp_path):
    manifest = build(tmp_path / "out", made_cmv_dump(tmp_path / "dump", 3, gone=(3, "text")), dataset="cga-cmv")
    assert manifest["dropped"] == {"calm counterpart": 3, "the attack has no text": 1}
