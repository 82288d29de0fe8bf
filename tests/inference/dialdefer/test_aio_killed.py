"""SIGKILL in each stage: the same command goes on, and asks again for no more than what was under way."""

import signal
from pathlib import Path

import pytest

from tests.made.made_aio import Workshop, use_environment, workshop

STAGES = ("discover", "harvest", "transcribe", "label", "check", "items")
CONCURRENCY = 8


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
def test_before_any_file_operation_of_a_stage_that_only_writes(tmp_path: Path, monkeypatch, stage):
    """Every write is atomic: a process that dies before its n-th rename leaves what the same command completes."""
    with workshop(tmp_path) as made:
        use_environment(monkeypatch, made.environment)
        made.stages("discover", "harvest", "transcribe", "label")
        made.run("items", "--unchecked")
        more = {"items": ["--unchecked"], "release": ["--out", str(tmp_path / "bundle")]}.get(stage, [])
        if stage == "harvest":
            made.reddit.posts["trip1"].gone = True  # so it deletes
        for n in range(1, 9):
            with monkeypatch.context() as patch:
                die_before_rename(patch, n)
                try:
                    made.run(stage, *more)
                except KeyboardInterrupt:
                    continue
                break
        made.run(stage, *more)
        made.run("items", "--unchecked")
        made.run("release", "--out", str(tmp_path / "bundle"))
        kept = ["money1", "two001"] if stage == "harvest" else ["trip1", "money1", "two001"]
        assert list(made.items()) == (tmp_path / "bundle" / "ids.txt").read_text().split() == kept


def die_before_rename(patch: pytest.MonkeyPatch, n: int) -> None:
    """From now on the n-th renaming of a file stops everything, as if the process had died."""
    replace, seen = Path.replace, []

    def dying(self: Path, target: Path) -> Path:
        seen.append(target)
        if len(seen) == n:
            raise KeyboardInterrupt
        return replace(self, target)

    patch.setattr(Path, "replace", dying)
