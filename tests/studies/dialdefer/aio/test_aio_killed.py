"""SIGKILL in each stage: the same command goes on, and asks again for no more than what was under way."""

import shutil
import signal
from pathlib import Path

import pytest

from tests.made.kill_campaign import Command, Kill, operations_of, run
from tests.made.made_aio import Workshop, workshop_here

STAGES = ("discover", "harvest", "transcribe", "label")
N_KILLS = 8  # of a stage


@pytest.mark.parametrize(
    ("stage", "where", "n", "whole", "under_way"),
    [
        ("discover", "/r/AmIOverreacting", 12, 36, 1),
        ("harvest", "/comments/", 6, 10, 1),
        ("transcribe", "/image/", 6, 11, 9),  # 8 posts at a time, one of two images
    ],
)
def test_a_stage_that_asks_reddit_goes_on(tmp_path: Path, stage, where, n, whole, under_way):
    with workshop_here(tmp_path) as made:
        made.stages(*STAGES[: STAGES.index(stage)])
        before = made.reddit.n_asked(where)
        process = made.start(stage)
        made.reddit.kill = (where, before + n, process.pid)
        assert process.wait(60) == -signal.SIGKILL
        made.reddit.kill = None
        made.run(stage)
        assert whole <= made.reddit.n_asked(where) - before <= whole + under_way
        made.stages(*STAGES[STAGES.index(stage) + 1 :])
        made.run("items", "--unchecked")
        (tmp_path / "whole").mkdir()
        calm = Workshop(tmp_path / "whole", made.reddit, made.vision, made.text)
        calm.stages(*STAGES)
        calm.run("items", "--unchecked")
        assert made.items() == calm.items() != {}
        assert made.missing() == calm.missing()


@pytest.mark.parametrize("stage", ["harvest", "check", "items", "release"])
def test_before_any_file_operation(tmp_path: Path, stage):
    """Killed before each of some of its operations on files, with the last file torn or whole, a stage goes on."""
    with workshop_here(tmp_path) as made:
        made.stages(*STAGES)
        made.run("items", "--unchecked")
        if stage == "harvest":
            made.reddit.posts["trip1"].gone = True  # so it deletes
        if stage == "release":
            made.run("check")
            made.fill("trip1", keep=True, poster="Speaker B")
        words = {"items": ["--unchecked"], "release": ["--out", "bundle"]}.get(stage, [])
        command = Command(entry="studies.dialdefer.aio.command:main", words=[stage, "--raw", "raw-reddit", *words])
        calm = copied(made.raw, tmp_path / "calm")
        assert run(command, calm) == 0
        n_operations = len(operations_of(calm))
        expected = files_in(calm)
        killed = range(0, n_operations, -(-n_operations // N_KILLS))
        assert len(killed) >= 5
        for at in killed:
            folder = copied(made.raw, tmp_path / f"killed-{at}")
            assert run(command, folder, Kill(at=at, tear=at % 2 == 1)) == -signal.SIGKILL
            assert run(command, folder) == 0
            assert files_in(folder) == expected


def copied(raw: Path, folder: Path) -> Path:
    """A folder with a copy of the raw folder in it."""
    shutil.copytree(raw, folder / raw.name)
    return folder


def files_in(folder: Path) -> dict[str, bytes]:
    """What is kept: relative path → content. A leftover of a dead process goes with the next write in its folder."""
    paths = {str(path.relative_to(folder)): path for path in folder.rglob("*") if path.suffix != ".partial"}
    return {name: path.read_bytes() for name, path in paths.items() if path.is_file()}
