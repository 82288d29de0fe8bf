"""A fetch that is killed continues where it was, and two at once do not get in each other's way."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from evenhand.sources.fetching import Origin, fetch
from tests.made.places import ROOT
from tests.made.publishers_server import BIG, NEWER, SMALL, Fault, PublishersServer

PART = 3_000  # bytes: fewer than a buffer holds, so that they are on disk only if each piece is written at once
ORIGIN = Origin(place="github:nyu-mll/BBQ", files=("data/big.bin", "data/small.jsonl"))
PROGRAM = """
import sys
from pathlib import Path
from evenhand.sources.fetching import Origin
from evenhand.sources.fetching import fetch
from evenhand.sources.fetching import Hosts
base, folder = sys.argv[1:]
hosts = Hosts(github_api=f"{base}/github", github_raw=f"{base}/raw", hub=f"{base}/hub")
origin = Origin(place="github:nyu-mll/BBQ", files=("data/big.bin", "data/small.jsonl"))
fetch(origin, Path(folder), name="bbq", hosts=hosts, wait=[].append)
"""


def start(server: PublishersServer, folder: Path) -> "subprocess.Popen[str]":
    command = [sys.executable, "-c", PROGRAM, server.base, str(folder)]
    return subprocess.Popen(command, cwd=ROOT, env=dict(os.environ), stderr=subprocess.PIPE, text=True)


def wait_for_part(process: "subprocess.Popen[str]", folder: Path) -> None:
    while not any(partial.stat().st_size >= PART for partial in folder.glob("big.bin.*.partial")):
        assert process.poll() is None, process.communicate()[1]
        time.sleep(0.002)


def check(server: PublishersServer, folder: Path) -> None:
    """Every byte was sent once, and all of them are here."""
    assert server.n_sent == len(BIG) + len(SMALL)
    assert (folder / "big.bin").read_bytes() == BIG
    assert (folder / "small.jsonl").read_bytes() == SMALL
    assert {path.name for path in folder.iterdir()} == {"big.bin", "small.jsonl", "sources.json", ".lock"}


def test_a_fetch_killed_in_the_middle_of_a_file_continues_there(server: PublishersServer, tmp_path: Path) -> None:
    hold = threading.Event()
    server.faults["big.bin"] = [Fault(cut=PART, hold=hold)]
    process = start(server, tmp_path)
    wait_for_part(process, tmp_path)
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=60)
    hold.set()
    assert not (tmp_path / "big.bin").exists()
    fetch(ORIGIN, tmp_path, name="bbq", hosts=server.hosts)
    assert server.requests("big.bin")[1].headers["Range"] == f"bytes={PART}-"
    check(server, tmp_path)


class Killed(BaseException):
    """The process ends here."""


def fetch_until_named(server: PublishersServer, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fetch up to the moment when the first file is whole and has not got its name."""
    replace = Path.replace

    def kill(self: Path, target: Path) -> Path:
        if target.name == "big.bin":
            raise Killed
        return replace(self, target)

    with monkeypatch.context() as patched:
        patched.setattr(Path, "replace", kill)
        with pytest.raises(Killed):
            fetch(ORIGIN, folder, name="bbq", hosts=server.hosts)


def test_a_fetch_killed_before_a_whole_file_got_its_name_begins_it_anew(
    server: PublishersServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fetch_until_named(server, tmp_path, monkeypatch)
    fetch(ORIGIN, tmp_path, name="bbq", hosts=server.hosts, wait=[].append)
    assert (tmp_path / "big.bin").read_bytes() == BIG
    assert {path.name for path in tmp_path.iterdir()} == {"big.bin", "small.jsonl", "sources.json", ".lock"}


def test_what_is_left_of_another_revision_is_not_taken(
    server: PublishersServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fetch_until_named(server, tmp_path, monkeypatch)
    (tmp_path / "sources.json").unlink()  # by a user who wants the newest
    server.commit, server.files["data/big.bin"] = NEWER, BIG[::-1]
    fetch(ORIGIN, tmp_path, name="bbq", hosts=server.hosts)
    assert (tmp_path / "big.bin").read_bytes() == BIG[::-1]
    assert not list(tmp_path.glob("*.partial"))


def test_of_two_processes_one_waits_and_nothing_is_fetched_twice(server: PublishersServer, tmp_path: Path) -> None:
    hold = threading.Event()
    server.faults["big.bin"] = [Fault(cut=PART, hold=hold)]
    first = start(server, tmp_path)
    wait_for_part(first, tmp_path)
    second = start(server, tmp_path)
    assert second.stderr is not None
    line = second.stderr.readline()
    hold.set()
    assert "another process is at work in" in line
    for process in (first, second):
        assert process.communicate(timeout=60)[1].count("SHA-256") in (0, 2)
        assert process.returncode == 0
    check(server, tmp_path)
