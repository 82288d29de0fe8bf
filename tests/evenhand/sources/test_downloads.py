"""Files come whole from each kind of publisher, over any broken connection, or one error says the way out."""

import json
import resource
import socket
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from evenhand.errors import DataError
from evenhand.sources.fetching import Origin, SourceFile, fetch
from tests.made.publishers_server import COMMIT, Fault, PublishersServer

AGE = b"".join(b'{"line": %d}\n' % k for k in range(30_000))  # 400 kB: more than sockets hold in one piece
SES = b'{"line": 0}\n'
FILES = {"data/Age.jsonl": AGE, "data/SES.jsonl": SES, "README.md": b"about\n"}
BBQ = Origin(place="github:nyu-mll/BBQ", files=("data/Age.jsonl",))
HUB = Origin(place="hf:mbkim/AdvisorQA", files=("data/Age.jsonl",))
HALF = len(AGE) // 2
TOKENS = ("hub-secret", "github-secret")


@pytest.fixture(autouse=True)
def tokens(environment: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", TOKENS[0])
    monkeypatch.setenv("GITHUB_TOKEN", TOKENS[1])


@pytest.fixture
def server() -> Iterator[PublishersServer]:
    with PublishersServer(FILES) as running:
        yield running


def bring(
    server: PublishersServer, folder: Path, origin: Origin = BBQ, waits: list[float] | None = None
) -> list[SourceFile]:
    """Fetch without waiting; the pauses that would have been are added to `waits`."""
    return fetch(origin, folder, name="bbq", hosts=server.hosts, wait=[].append if waits is None else waits.append)


def folder_origin(server: PublishersServer) -> Origin:
    return Origin(place=f"{server.base}/folder/data/", files=("Age.jsonl", "SES.jsonl"))


@pytest.mark.parametrize("place", ["github:nyu-mll/BBQ", "hf:nyu-mll/BBQ"])
def test_patterns_and_paths_are_fetched_at_the_commit_that_a_revision_stands_for(
    place: str, server: PublishersServer, tmp_path: Path
) -> None:
    origin = Origin(place=place, files=("README.md", "*.jsonl"), revision="a1a1a1a")
    files = bring(server, tmp_path, origin)
    assert [(file.path, file.revision, file.checksum) for file in files] == [
        ("README.md", COMMIT, "recorded"),
        ("data/Age.jsonl", COMMIT, "recorded"),
        ("data/SES.jsonl", COMMIT, "recorded"),
    ]
    assert all(COMMIT in str(file.url) for file in files)
    assert {path.name for path in tmp_path.iterdir()} == {
        "Age.jsonl",
        "SES.jsonl",
        "README.md",
        "sources.json",
        ".lock",
    }
    assert (tmp_path / "Age.jsonl").read_bytes() == AGE
    assert server.n_sent == sum(map(len, FILES.values()))
    assert any("a1a1a1a" in seen.path for seen in server.seen)


def test_a_folder_on_the_web_gives_each_file_its_version(server: PublishersServer, tmp_path: Path) -> None:
    files = bring(server, tmp_path, folder_origin(server))
    assert [(file.name, file.n_bytes) for file in files] == [("Age.jsonl", len(AGE)), ("SES.jsonl", len(SES))]
    assert len({file.revision for file in files if file.revision}) == 2  # their ETags
    assert json.loads((tmp_path / "sources.json").read_text())["revision"] is None


def test_a_path_at_a_full_commit_needs_no_listing(server: PublishersServer, tmp_path: Path) -> None:
    bring(server, tmp_path, Origin(place="github:nyu-mll/BBQ", files=("data/SES.jsonl",), revision=COMMIT))
    assert [seen.path for seen in server.seen] == [f"/raw/nyu-mll/BBQ/{COMMIT}/data/SES.jsonl"]


def test_a_connection_broken_half_way_is_continued_from_there(server: PublishersServer, tmp_path: Path) -> None:
    server.faults["Age.jsonl"] = [Fault(cut=HALF)]
    waits: list[float] = []
    bring(server, tmp_path, waits=waits)
    first, second = server.requests("Age.jsonl")
    assert "Range" not in first.headers
    assert second.headers["Range"] == f"bytes={HALF}-"
    assert (tmp_path / "Age.jsonl").read_bytes() == AGE
    assert server.n_sent == len(AGE)
    assert waits == [1.0]


def test_a_file_that_breaks_off_again_and_again_is_continued_while_it_grows(
    server: PublishersServer, tmp_path: Path
) -> None:
    server.faults["Age.jsonl"] = [Fault(cut=20_000)] * 12
    bring(server, tmp_path)
    assert (tmp_path / "Age.jsonl").read_bytes() == AGE
    assert server.n_sent == len(AGE)


def test_a_file_of_a_web_folder_may_change_so_a_broken_one_is_fetched_anew(
    server: PublishersServer, tmp_path: Path
) -> None:
    server.faults["Age.jsonl"] = [Fault(cut=HALF)]
    bring(server, tmp_path, folder_origin(server))
    assert all("Range" not in seen.headers for seen in server.seen)
    assert (tmp_path / "Age.jsonl").read_bytes() == AGE
    assert server.n_sent == HALF + len(AGE) + len(SES)


def test_a_server_that_ignores_the_range_is_read_from_the_start(server: PublishersServer, tmp_path: Path) -> None:
    server.faults["Age.jsonl"] = [Fault(cut=HALF), Fault(whole=True)]
    bring(server, tmp_path)
    assert (tmp_path / "Age.jsonl").read_bytes() == AGE
    assert server.n_sent == HALF + len(AGE)


@pytest.mark.parametrize("answer", [Fault(shift=5), Fault(status=416)])
def test_another_range_than_asked_for_is_not_appended(answer: Fault, server: PublishersServer, tmp_path: Path) -> None:
    server.faults["Age.jsonl"] = [Fault(cut=HALF), answer]
    bring(server, tmp_path)
    assert (tmp_path / "Age.jsonl").read_bytes() == AGE


def test_a_wrong_checksum_names_both_and_leaves_no_file(server: PublishersServer, tmp_path: Path) -> None:
    origin = Origin(place=BBQ.place, files=("data/SES.jsonl", "data/Age.jsonl"), sha256={"Age.jsonl": "00" * 32})
    with pytest.raises(
        DataError, match=r"Age\.jsonl: has the SHA-256 [0-9a-f]{64}, expected (00){32}: .*[Ff]etch it again"
    ):
        bring(server, tmp_path, origin)
    assert {path.name for path in tmp_path.iterdir()} == {"SES.jsonl", "sources.json", ".lock"}


def test_a_file_that_is_not_there_is_named_with_the_way_out(server: PublishersServer, tmp_path: Path) -> None:
    origin = Origin(place=BBQ.place, files=("data/Old.jsonl",))
    with pytest.raises(DataError, match=rf"/raw/nyu-mll/BBQ/{COMMIT}/data/Old\.jsonl: is not there \(404 .*--raw"):
        bring(server, tmp_path, origin)


@pytest.mark.parametrize("status", [401, 403])
def test_a_gated_file_says_what_to_accept_and_which_token_to_set(
    status: int, server: PublishersServer, tmp_path: Path
) -> None:
    server.faults["Age.jsonl"] = [Fault(status=status, headers={"X-Error-Code": "GatedRepo"})]
    origin = Origin(place=HUB.place, files=HUB.files, terms="https://example.org/terms")
    message = r"accept the terms at https://example\.org/terms .*https://huggingface\.co/settings/tokens, set HF_TOKEN"
    with pytest.raises(DataError, match=message):
        bring(server, tmp_path, origin)
    assert server.requests("Age.jsonl")[0].headers["Authorization"] == f"Bearer {TOKENS[0]}"
    bring(server, tmp_path, origin)  # accepted meanwhile: the same call goes on


def test_a_dataset_that_the_hub_does_not_know_is_not_called_gated(server: PublishersServer, tmp_path: Path) -> None:
    server.faults["/revision/main"] = [Fault(status=401, headers={"X-Error-Code": "RepoNotFound"})]
    with pytest.raises(DataError, match="is not there"):
        bring(server, tmp_path, HUB)


def test_githubs_limit_for_strangers_is_told_with_the_token_to_set(server: PublishersServer, tmp_path: Path) -> None:
    server.faults["/commits/HEAD"] = [Fault(status=403)]
    with pytest.raises(DataError, match="60 times an hour: wait, or set GITHUB_TOKEN"):
        bring(server, tmp_path)


def test_a_busy_server_is_asked_again_when_it_says(server: PublishersServer, tmp_path: Path) -> None:
    server.faults["/commits/HEAD"] = [Fault(status=503)]
    server.faults["Age.jsonl"] = [Fault(status=429, headers={"Retry-After": "7"}), Fault(status=500)]
    waits: list[float] = []
    bring(server, tmp_path, waits=waits)
    assert waits == [1.0, 7.0, 2.0]
    assert (tmp_path / "Age.jsonl").read_bytes() == AGE


def test_a_server_that_asks_for_a_long_wait_is_left_alone(server: PublishersServer, tmp_path: Path) -> None:
    server.faults["Age.jsonl"] = [Fault(status=429, headers={"Retry-After": "3600"})]
    with pytest.raises(DataError, match=r"answered 429 and asks to wait 3,600 s \(attempt 1\); try later"):
        bring(server, tmp_path)


def test_what_is_kept_after_the_last_attempt_is_continued_by_the_next_call(
    server: PublishersServer, tmp_path: Path
) -> None:
    server.faults["Age.jsonl"] = [Fault(cut=HALF), *[Fault(status=502)] * 5]
    waits: list[float] = []
    with pytest.raises(DataError, match=f"answered 502 .attempt 5.; {HALF:,} bytes of it are kept"):
        bring(server, tmp_path, waits=waits)
    assert waits == [1.0, 2.0, 4.0, 8.0]
    bring(server, tmp_path)
    assert server.n_sent == len(AGE)


def test_a_web_page_in_the_place_of_a_file_is_no_file(server: PublishersServer, tmp_path: Path) -> None:
    server.faults["Age.jsonl"] = [Fault(headers={"Content-Type": "text/html; charset=utf-8"}, body=b"<html>Log in")]
    with pytest.raises(DataError, match="a web page came in its place: a login page"):
        bring(server, tmp_path)
    assert not (tmp_path / "Age.jsonl").exists()


@pytest.mark.parametrize("body", [b"<!doctype html>", b"[]", b'{"sha": "main"}'])
def test_an_api_that_answers_something_else_is_told(body: bytes, server: PublishersServer, tmp_path: Path) -> None:
    server.faults["/commits/HEAD"] = [Fault(body=body)]
    with pytest.raises(DataError, match=r"commits/HEAD: .*is a proxy between"):
        bring(server, tmp_path)


def test_offline_says_so_and_names_the_way_out(tmp_path: Path) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{closed.getsockname()[1]}/data"
    origin = Origin(place=address, files=("Age.jsonl",))
    with pytest.raises(
        DataError, match=r"cannot be reached \(.*refused.*is this machine offline\? \(attempt 5\).*--raw"
    ):
        fetch(origin, tmp_path, name="bbq", wait=[].append)


def test_a_full_disk_is_told_and_what_came_is_continued(server: PublishersServer, tmp_path: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, hard))
    try:
        with pytest.raises(DataError, match=r"Age\.jsonl\..*: cannot be written .*100,000 bytes are kept: free"):
            bring(server, tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    bring(server, tmp_path)
    assert server.requests("Age.jsonl")[1].headers["Range"] == "bytes=100000-"
    assert (tmp_path / "Age.jsonl").read_bytes() == AGE


def test_no_secret_goes_to_another_host_or_into_records_and_errors(server: PublishersServer, tmp_path: Path) -> None:
    with PublishersServer(FILES) as store:
        signed = f"{store.base}/folder/data/Age.jsonl?signature=signed-secret"
        server.faults["Age.jsonl"] = [Fault(status=302, headers={"Location": signed}, body=b"")] * 6
        store.faults["Age.jsonl"] = [Fault(cut=HALF), *[Fault(status=500)] * 5]
        with pytest.raises(DataError) as caught:
            bring(server, tmp_path, HUB)
        server.faults["Age.jsonl"] = [Fault(status=302, headers={"Location": signed}, body=b"")]
        bring(server, tmp_path, HUB)
        assert store.requests("Age.jsonl")[-1].headers["Range"] == f"bytes={HALF}-"
        assert all("Authorization" not in seen.headers for seen in store.seen)
    assert all(seen.headers["Authorization"] == f"Bearer {TOKENS[0]}" for seen in server.seen)
    written = [path.read_text() for path in tmp_path.iterdir()]
    assert not any(secret in text for secret in (*TOKENS, "signed-secret") for text in [*written, str(caught.value)])
    assert (tmp_path / "Age.jsonl").read_bytes() == AGE


def test_the_password_of_a_mirror_is_not_written_or_shown(server: PublishersServer, tmp_path: Path) -> None:
    hosts = replace(server.hosts, hub=server.hosts.hub.replace("//", "//user:mirror-secret@"))
    server.faults["Age.jsonl"] = [Fault(status=403)]
    with pytest.raises(DataError, match="access is refused") as caught:
        fetch(HUB, tmp_path, name="bbq", hosts=hosts)
    fetch(HUB, tmp_path, name="bbq", hosts=hosts)
    written = [path.read_text() for path in tmp_path.iterdir()]
    assert not any("mirror-secret" in text for text in [*written, str(caught.value)])


def test_githubs_token_goes_to_its_api_only(server: PublishersServer, tmp_path: Path) -> None:
    bring(server, tmp_path)
    sent = {seen.path.split("/")[1]: seen.headers.get("Authorization") for seen in server.seen}
    assert sent == {"github": f"Bearer {TOKENS[1]}", "raw": None}


def test_a_pattern_without_match_names_what_is_there(server: PublishersServer, tmp_path: Path) -> None:
    origin = Origin(place="hf:mbkim/AdvisorQA", files=("*.csv",))
    with pytest.raises(
        DataError, match=r"holds no file '\*\.csv'; there are README\.md, data/Age\.jsonl, data/SES\.jsonl"
    ):
        bring(server, tmp_path, origin)
