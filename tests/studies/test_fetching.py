"""Files come whole from each kind of publisher, at one revision, over any broken connection, killed or not.

Else one error says the way out, and nothing of another publisher, revision or user is mixed in or lost.
"""

import hashlib
import json
from dataclasses import replace
from pathlib import Path

import pytest

from evenhand.errors import DataError
from evenhand.lease import locked
from studies.fetching import Origin, SourceFile, fetch, source_files
from tests.made.publishers_server import COMMIT, NEWER, Fault, PublishersServer

AGE = b"".join(b'{"line": %d}\n' % k for k in range(30_000))  # 400 kB: more than sockets hold in one piece
SES = b'{"line": 0}\n'
FILES = {"data/Age.jsonl": AGE, "data/SES.jsonl": SES, "README.md": b"about\n"}
BBQ = Origin(place="github:nyu-mll/BBQ", files=("data/Age.jsonl",))
BOTH = replace(BBQ, files=("data/Age.jsonl", "data/SES.jsonl"))
HUB = Origin(place="hf:mbkim/AdvisorQA", files=("data/Age.jsonl",))
HALF = len(AGE) // 2
TOKENS = ("hub-secret", "github-secret")


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setenv("HF_TOKEN", TOKENS[0])
    monkeypatch.setenv("GITHUB_TOKEN", TOKENS[1])
    with PublishersServer(FILES) as running:
        running.stand_in(monkeypatch)
        yield running


def bring(folder, origin=BBQ):
    return fetch(origin, folder, name="bbq")


def web_folder(server):
    return Origin(place=f"{server.base}/folder/data/", files=("Age.jsonl", "SES.jsonl"))


def names(folder):
    return {path.name for path in folder.iterdir()}


@pytest.mark.parametrize("place", ["github:nyu-mll/BBQ", "hf:nyu-mll/BBQ"])
def test_patterns_and_paths_are_fetched_at_the_commit_that_a_revision_stands_for(place, server, tmp_path):
    pin = {"SES.jsonl": hashlib.sha256(SES).hexdigest()}
    origin = Origin(place=place, files=("README.md", "*.jsonl"), revision="a1a1a1a", sha256=pin)
    files = bring(tmp_path / "bbq", origin)
    assert [(file.path, file.revision, file.checksum) for file in files] == [
        ("README.md", COMMIT, "recorded"),
        ("data/Age.jsonl", COMMIT, "recorded"),
        ("data/SES.jsonl", COMMIT, "pinned"),
    ]
    assert all(COMMIT in str(file.url) for file in files)
    assert names(tmp_path / "bbq") == {"Age.jsonl", "SES.jsonl", "README.md", "sources.json"}
    assert server.n_sent == sum(map(len, FILES.values()))
    record = json.loads((tmp_path / "bbq" / "sources.json").read_text())
    assert (record["place"], record["revision"], record["files"][2]["sha256"]) == (place, COMMIT, pin["SES.jsonl"])


@pytest.mark.parametrize("is_folder", [True, False])
def test_a_broken_connection_is_continued_where_it_broke(is_folder, server, tmp_path, monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.DOWNLOAD_CHUNK_SIZE", 1_000)  # what is lost of a broken one
    server.faults["Age.jsonl"] = [Fault(cut=HALF), *[Fault(cut=9_000)] * 7]  # each brings new bytes
    bring(tmp_path, web_folder(server) if is_folder else BOTH)
    assert server.requests("Age.jsonl")[-1].headers["range"] == f"bytes={HALF // 1_000 * 1_000 + 7 * 9_000}-"
    assert (tmp_path / "Age.jsonl").read_bytes() == AGE


def test_a_busy_server_is_asked_again(server, tmp_path):
    server.faults["/commits/HEAD"] = [Fault(status=503)]
    server.faults["Age.jsonl"] = [Fault(status=429, headers={"Retry-After": "7"})]
    bring(tmp_path)
    assert (tmp_path / "Age.jsonl").read_bytes() == AGE


REFUSALS = {  # end of the path → what the server answers, and what is said of it
    "Age.jsonl": [
        (Fault(status=404), r"is not there \(404\).*--raw"),
        (Fault(body=b"<!doctype html>"), "is a proxy between"),
    ],
    "/commits/HEAD": [
        (Fault(status=403), "60 times an hour: wait, or set GITHUB_TOKEN"),
        (Fault(body=b"<!doctype html>"), "is a proxy between"),
        (Fault(body=b"[]"), "is a proxy between"),
    ],
}


@pytest.mark.parametrize(("end", "fault", "says"), [(end, *row) for end, rows in REFUSALS.items() for row in rows])
def test_an_answer_that_will_not_pass_is_named_with_the_way_out(end, fault, says, server, tmp_path):
    server.faults[end] = [fault]
    with pytest.raises(DataError, match=says):
        bring(tmp_path)
    assert not (tmp_path / "Age.jsonl").exists()


def test_no_secret_goes_to_another_host_or_into_records_and_errors(server, tmp_path):
    with PublishersServer(FILES) as store:
        signed = f"{store.base}/folder/data/Age.jsonl?signature=signed-secret"
        server.faults["Age.jsonl"] = [Fault(status=302, headers={"Location": signed}, body=b"")] * 2
        store.faults["Age.jsonl"] = [Fault(status=403)]
        with pytest.raises(DataError, match="access is refused") as refused:
            bring(tmp_path, HUB)
        bring(tmp_path, HUB)
        assert all("authorization" not in seen.headers for seen in store.seen)
    assert all(seen.headers["authorization"] == f"Bearer {TOKENS[0]}" for seen in server.seen)
    written = [path.read_text() for path in tmp_path.rglob("*") if path.is_file()]
    for secret in (*TOKENS, "signed-secret"):
        assert not any(secret in text for text in [*written, str(refused.value)])


def test_the_password_of_a_mirror_is_in_no_record(server, tmp_path, monkeypatch):
    mirror = f"{server.base}/hub".replace("//", "//user:mirror-secret@")
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", mirror)
    bring(tmp_path, HUB)
    assert not any("mirror-secret" in path.read_text() for path in tmp_path.rglob("*") if path.is_file())


def test_a_whole_folder_asks_nothing_of_the_network(server, tmp_path, monkeypatch):
    fetched, n_requests = bring(tmp_path, BOTH), len(server.seen)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    server.commit = NEWER
    assert bring(tmp_path, BOTH) == fetched
    assert len(server.seen) == n_requests


def test_a_continued_fetch_stays_at_the_revision_it_began_with(server, tmp_path):
    origin = replace(BBQ, files=("data/*",))
    server.faults["SES.jsonl"] = [Fault(status=404)]
    with pytest.raises(DataError, match="is not there"):
        bring(tmp_path, origin)
    server.commit = NEWER  # the publisher goes on meanwhile
    assert {file.revision for file in bring(tmp_path, origin)} == {COMMIT}
    assert not any(NEWER in seen.path for seen in server.seen)
    assert len(server.requests("Age.jsonl")) == len(server.requests(COMMIT)) == 1  # the file and the listing


@pytest.mark.parametrize("damage", [b"", AGE[:-1] + b"x"])
def test_a_damaged_file_is_fetched_again_and_no_other(damage, server, tmp_path):
    fetched = bring(tmp_path, BOTH)
    (tmp_path / "Age.jsonl").write_bytes(damage)
    assert [file.sha256 for file in bring(tmp_path, BOTH)] == [file.sha256 for file in fetched]
    assert (tmp_path / "Age.jsonl").read_bytes() == AGE
    assert len(server.requests("SES.jsonl")) == 1


def test_a_file_that_differs_from_its_pin_or_from_before_is_not_mixed_in(server, tmp_path):
    pinned = replace(BOTH, files=BOTH.files[::-1], sha256={"Age.jsonl": "00" * 32})
    with pytest.raises(DataError, match=r"Age\.jsonl: has the SHA-256 [0-9a-f]{64}, expected (00){32}: .*again"):
        bring(tmp_path / "pinned", pinned)
    assert names(tmp_path / "pinned") == {"SES.jsonl", "sources.json"}
    bring(tmp_path / "web", web_folder(server))
    (tmp_path / "web" / "SES.jsonl").unlink()
    server.files["data/SES.jsonl"] = b"{}\n"
    with pytest.raises(DataError, match=r"SES\.jsonl: has the SHA-256 .*the publisher has changed it"):
        bring(tmp_path / "web", web_folder(server))
    assert names(tmp_path / "web") == {"Age.jsonl", "sources.json"}


@pytest.mark.parametrize(
    "other", [{"place": "github:nyu-mll/other"}, {"revision": "cccc"}, {"files": ("data/SES.jsonl",)}]
)
def test_a_folder_of_another_place_or_revision_is_refused(other, server, tmp_path):
    bring(tmp_path)
    with pytest.raises(DataError, match=f"holds data/Age.jsonl of github:nyu-mll/BBQ at revision {COMMIT}, and"):
        bring(tmp_path, replace(BBQ, **other))
    (tmp_path / "sources.json").write_text('{"name": "bbq"}')
    with pytest.raises(DataError, match=r"sources\.json: is damaged or not Evenhand's"):
        bring(tmp_path)


def test_a_file_that_somebody_put_there_is_never_overwritten(server, tmp_path):
    (tmp_path / "SES.jsonl").write_bytes(b"mine")
    with pytest.raises(DataError, match=r"SES\.jsonl: was not fetched by Evenhand; move it away"):
        bring(tmp_path, BOTH)
    assert (tmp_path / "SES.jsonl").read_bytes() == b"mine"


def test_files_put_there_by_hand_are_hashed_checked_and_of_no_known_revision(tmp_path):
    for place in ("Age.jsonl", "BBQ/data/Age.jsonl", "notes.txt", ".git/config", "Age.jsonl.0.partial"):
        (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / place).write_bytes(b"{}\n")
    age, more = source_files(BBQ, tmp_path, name="bbq")
    sha256 = "ca3d163bab055381827226140568f3bef7eaac187cebd76878e0b63e9e442356"  # of "{}" and a newline
    assert age == SourceFile(name="Age.jsonl", path="Age.jsonl", n_bytes=3, sha256=sha256, checksum="recorded")
    assert (more.name, more.revision, more.url) == ("BBQ/data/Age.jsonl", None, None)
    assert source_files(replace(BBQ, sha256={"Age.jsonl": sha256}), tmp_path, name="bbq")[0].checksum == "pinned"
    with pytest.raises(DataError, match=rf"Age\.jsonl: has the SHA-256 {sha256}, expected 00: .*publisher has changed"):
        source_files(replace(BBQ, sha256={"Age.jsonl": "00"}), tmp_path, name="bbq")
    for folder in (tmp_path / ".git", tmp_path / "absent"):
        with pytest.raises(DataError, match=r"holds no file; put those of bbq there \(from github:nyu-mll/BBQ: data/A"):
            source_files(BBQ, folder, name="bbq")


def test_a_fetch_killed_before_a_whole_file_got_its_name_begins_it_anew(server, tmp_path, monkeypatch):
    class Killed(BaseException):
        """The process ends here."""

    def kill(self, target):
        if target.name == "Age.jsonl":
            raise Killed
        return rename(self, target)

    rename = Path.replace
    with monkeypatch.context() as patched:
        patched.setattr(Path, "replace", kill)
        with pytest.raises(Killed):
            bring(tmp_path, BOTH)
    bring(tmp_path, BOTH)
    assert (tmp_path / "Age.jsonl").read_bytes() == AGE
    assert names(tmp_path) == {"Age.jsonl", "SES.jsonl", "sources.json"}


def test_a_second_process_is_refused_while_the_first_is_at_work(tmp_path):
    with locked(tmp_path, "build x"), pytest.raises(DataError, match=r"is being worked on \(build x\) by process"):
        locked(tmp_path, "build x").__enter__()
    assert names(tmp_path) == set()
