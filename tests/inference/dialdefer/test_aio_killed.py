"""SIGKILL in each stage: the same command goes on, and asks again for no more than what was under way."""

import json
import shutil
import signal
from pathlib import Path

import pytest

from tests.made.kill_campaign import Command, Host, Kill
from tests.made.made_aio import Workshop, use_environment, workshop

STAGES = ("discover", "harvest", "transcribe", "label", "check", "items")
CONCURRENCY = 8
N_KILLS = 8  # of a stage


@pytest.mark.parametrize(
    ("stage", "where", "n", "kept"),
    [
        ("discover", "/r/AmIOverreacting", 12, "discovery.json"),
        ("harvest", "/comments/", 18, "posts"),
        ("transcribe", "/image/", 6, "transcripts"),
    ],
)
def test_a_stage_that_asks_reddit_goes_on(tmp_path: Path, monkeypatch, stage, where, n, kept):
    with workshop(tmp_path) as made:
        use_environment(monkeypatch, made.environment)
        made.stages(*STAGES[: STAGES.index(stage)])
        before = made.reddit.n_asked(where)
        process = made.start(stage)
        made.reddit.kill = (where, before + n, process.pid)
        assert process.wait(60) == -signal.SIGKILL
        made.reddit.kill = None
        first = made.reddit.n_asked(where) - before
        made.run(stage)
        again = made.reddit.n_asked(where) - before - first
        whole = {"discover": 36, "harvest": 4 * 11, "transcribe": 12}[stage]
        under_way = {"discover": 1, "harvest": 4, "transcribe": CONCURRENCY + 1}[stage]
        assert whole <= first + again <= whole + under_way
        assert (made.raw / kept).exists()
        finish_and_compare(made, tmp_path, STAGES[STAGES.index(stage) + 1 :])


def test_a_stage_that_asks_a_model_goes_on(tmp_path: Path, monkeypatch):
    with workshop(tmp_path) as made:
        use_environment(monkeypatch, made.environment)
        made.stages("discover", "harvest", "transcribe")
        process, script = made.start("label", "--concurrency", "1"), made.text.script

        def killing(body, n_before):
            if len(made.text.asked) == 6:
                process.send_signal(signal.SIGKILL)
            return script(body, n_before)

        made.text.script = killing
        assert process.wait(60) == -signal.SIGKILL
        done = set(made.kept("readings"))
        assert 0 < len(done) < 6
        made.text.script = script
        asked = len(made.text.asked)
        made.run("label")
        texts = "\n".join(made.text.texts()[asked:])
        assert "because of these messages" in texts
        assert len(made.kept("readings")) == 6
        finish_and_compare(made, tmp_path, ("check", "items"))


def finish_and_compare(made: Workshop, tmp_path: Path, stages: tuple[str, ...]) -> None:
    """The set is that of stages which nobody killed."""
    made.stages(*stages)
    made.run("items", "--unchecked")
    (tmp_path / "whole").mkdir()
    whole = Workshop(tmp_path / "whole", made.reddit, made.vision, made.text)
    whole.stages("discover", "harvest", "transcribe", "label")
    whole.run("items", "--unchecked")
    assert made.items() == whole.items() != {}
    assert made.missing() == whole.missing()


@pytest.mark.parametrize("stage", ["harvest", "check", "items", "release"])
def test_before_any_file_operation(tmp_path: Path, monkeypatch, stage):
    """Killed before each of some of its operations on files, with the last file torn or whole, a stage goes on."""
    with workshop(tmp_path) as made:
        use_environment(monkeypatch, made.environment)
        made.stages("discover", "harvest", "transcribe", "label")
        made.run("items", "--unchecked")
        if stage == "harvest":
            made.reddit.posts["trip1"].gone = True  # so it deletes
        words = {"items": ["--unchecked"], "release": ["--out", "bundle"]}.get(stage, [])
        command = Command(entry="inference.dialdefer.build_aio:main", words=[stage, "--raw", "raw-reddit", *words])
        host = Host()
        host.ask(["inference.dialdefer.build_aio", "praw"])
        calm = copied(made.raw, tmp_path / "calm")
        assert host.run(command, calm) == 0
        n_operations = len(json.loads((tmp_path / "calm.operations").read_text())["operations"])
        expected = files_in(calm)
        killed = range(0, n_operations, -(-n_operations // N_KILLS))
        assert len(killed) >= 5
        for at in killed:
            folder = copied(made.raw, tmp_path / f"killed-{at}")
            assert host.run(command, folder, Kill(at=at, tear=at % 2 == 1, what="")) == -signal.SIGKILL
            assert host.run(command, folder) == 0
            assert files_in(folder) == expected
        host.process.stdin.close()
        host.process.wait(60)


def copied(raw: Path, folder: Path) -> Path:
    """A folder with a copy of the raw folder in it."""
    shutil.copytree(raw, folder / raw.name)
    return folder


def files_in(folder: Path) -> dict[str, bytes]:
    """What is kept: relative path → content. A leftover of a dead process goes with the next write in its folder."""
    found = {str(path.relative_to(folder)): path for path in folder.rglob("*") if path.suffix != ".partial"}
    return {name: path.read_bytes() for name, path in found.items() if path.is_file()}
