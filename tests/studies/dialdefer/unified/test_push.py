"""Uploading a build: what may not be passed on stays here, the rest arrives whole, and refusals say what to do."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from evenhand.errors import ConfigError, DataError, EvenhandError
from evenhand.manifest import read_manifest
from studies.dialdefer.unified.push import PAPERS, push_to_hub
from tests.made.built_folder import build_small
from tests.made.fake_hub import REPO, FakeHub, api, serving


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeHub]:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    with serving("datasets") as fake:
        yield fake


@pytest.fixture(scope="module")
def open_build(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_small(tmp_path_factory.mktemp("open"), "truthfulqa", "bbq")


@pytest.fixture(scope="module")
def closed_build(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_small(tmp_path_factory.mktemp("closed"), "bbq", "gpqa", "harp", n_test=4)


def test_tables_and_papers_arrive_whole_and_nothing_else_does(open_build: Path, hub: FakeHub) -> None:
    (open_build / "raw").mkdir(exist_ok=True)
    (open_build / "raw" / "notes.txt").write_text("not for the hub")
    stray = open_build / "data" / "gpqa" / "test.parquet"  # of an earlier build, no part of this one
    stray.parent.mkdir(exist_ok=True)
    stray.write_bytes(b"PAR1")
    assert push_to_hub(open_build, REPO, private=True, api=api(hub)) == f"{hub.url}/datasets/{REPO}"
    assert sorted(hub.uploaded) == sorted([*PAPERS, *read_manifest(open_build)["files"]])
    assert all(content == (open_build / path).read_bytes() for path, content in hub.uploaded.items())
    assert (hub.created["type"], hub.created["visibility"]) == ("dataset", "private")


def test_an_existing_repository_is_taken_and_tables_of_an_earlier_push_go(open_build: Path, hub: FakeHub) -> None:
    hub.files = ["data/gone/test.parquet", "data/bbq/test.parquet", "LICENSE"]
    hub.refusals = {"/api/repos/create": 409}  # it exists
    push_to_hub(open_build, REPO, private=True, api=api(hub))
    assert hub.deleted == ["data/gone/test.parquet"]


def test_a_public_repository_is_not_pushed_to_unless_asked_for(open_build: Path, hub: FakeHub) -> None:
    hub.private = False
    with pytest.raises(ConfigError, match="exists and is public; add --public"):
        push_to_hub(open_build, REPO, private=True, api=api(hub))
    assert hub.uploaded == {}
    push_to_hub(open_build, REPO, private=False, api=api(hub))
    assert hub.created["visibility"] == "public"
    assert hub.uploaded


def test_datasets_that_may_not_be_passed_on_are_named_before_any_request(closed_build: Path, hub: FakeHub) -> None:
    with pytest.raises(ConfigError) as refused:
        push_to_hub(closed_build, REPO, private=True, api=api(hub))
    lines = str(refused.value).splitlines()
    assert lines[0] == "not pushed: 2 of 3 datasets may not be passed on"
    assert lines[1].startswith("  gpqa: its authors ask that no example appear")
    assert lines[2].startswith("  harp: ")
    assert lines[3].endswith("evenhand build unified --out FOLDER --datasets bbq")
    assert hub.asked == []


def test_a_folder_without_a_finished_build_is_refused(open_build: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"holds no finished build \(no manifest\.json\)"):
        push_to_hub(tmp_path, REPO, private=True)
    copy_build(open_build, tmp_path)
    (tmp_path / "dropped.jsonl").unlink()
    with pytest.raises(ConfigError, match=r"lacks dropped\.jsonl; remove manifest\.json"):
        push_to_hub(tmp_path, REPO, private=True)


def copy_build(source: Path, folder: Path) -> None:
    for path in [*PAPERS, *read_manifest(source)["files"]]:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes((source / path).read_bytes())


def test_without_a_token_it_says_where_to_get_one(
    open_build: Path, hub: FakeHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("huggingface_hub.get_token", lambda: None)
    with pytest.raises(
        ConfigError, match=r"write permission at https://huggingface\.co/settings/tokens and set HF_TOKEN"
    ):
        push_to_hub(open_build, REPO, private=True)
    assert hub.asked == []


@pytest.mark.parametrize(
    ("where", "status", "kind", "says"),
    [
        ("/api/repos/create", 401, ConfigError, r"not pushed \(401\): the Hub does not know the token"),
        ("/api/repos/create", 403, ConfigError, "the token may not write to somebody/unified"),
        (f"/api/datasets/{REPO}/commit/main", 403, ConfigError, "the token may not write to somebody/unified"),
        (f"/api/datasets/{REPO}/commit/main", 413, DataError, r"not pushed \(HfHubHTTPError: .*413"),
        ("/api/validate-yaml", 400, DataError, "not pushed"),
    ],
)
def test_what_the_hub_refuses_is_told_with_the_way_out(
    where: str, status: int, kind: type[EvenhandError], says: str, open_build: Path, hub: FakeHub
) -> None:
    hub.refusals = {where: status, f"/api/datasets/{REPO}": 404} if "create" in where else {where: status}
    with pytest.raises(kind, match=says):
        push_to_hub(open_build, REPO, private=True, api=api(hub))
    assert hub.uploaded == {}
