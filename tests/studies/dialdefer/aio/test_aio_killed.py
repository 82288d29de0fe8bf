"""SIGKILL in a stage of `evenhand build aio`: the same command goes on, to the files of an undisturbed one."""

import shutil
import signal
from pathlib import Path

import pytest

from tests.made.kill_campaign import Command, Kill, operations_of, run
from tests.made.made_aio import workshop_here
from tests.made.process_runs import PROCESSES

STAGES = ("harvest", "transcribe", "check", "items")
N_KILLS = 2  # of a stage


@pytest.mark.parametrize("stage", STAGES)
def test_before_any_file_operation(tmp_path, stage):
    """Killed before each of some of its operations on files, with the last file torn or whole, a stage goes on."""
    PROCESSES.set_forkserver_preload(["studies.dialdefer.aio.command", "praw", "tests.made.kill_host"])
    with workshop_here(tmp_path) as made:
        made.stages(*(STAGES[:1] if stage == "transcribe" else STAGES[:3]))
        if stage == "check":
            made.stages("items")
            made.fill("trip1", keep=True, poster="Speaker B")
            (made.raw / "check" / "money1.yaml").unlink()
        if stage == "harvest":
            made.stages("items")
            made.reddit.posts["trip1"].gone = True  # so it deletes
        more = ["--concurrency", "1"] if stage == "transcribe" else []  # so that its operations have one order
        made.raw, raw = Path("raw-reddit"), made.raw
        command = Command(entry="studies.dialdefer.aio.command:main", words=made.words(stage, *more))
        calm = copied(raw, tmp_path / "calm")
        assert run(command, calm) == 0
        n_operations = len(operations_of(calm))
        expected = files_in(calm)
        killed = range(0, n_operations, -(-n_operations // N_KILLS))
        assert len(killed) >= 2
        for at in killed:
            folder = copied(raw, tmp_path / f"killed-{at}")
            assert run(command, folder, Kill(at=at, tear=at % 2 == 1)) == -signal.SIGKILL
            assert run(command, folder) == 0
            assert files_in(folder) == expected


def copied(raw, folder):
    """A folder with a copy of the raw folder in it."""
    shutil.copytree(raw, folder / raw.name)
    return folder


def files_in(folder):
    """What is kept: relative path → content. A leftover of a dead process goes with the next write in its folder."""
    paths = {str(path.relative_to(folder)): path for path in folder.rglob("*") if path.suffix != ".partial"}
    return {name: path.read_bytes() for name, path in paths.items() if path.is_file()}
