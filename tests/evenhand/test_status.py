"""`evenhand status`: a line for every run below a folder, in words or JSON, once or again and again."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from evenhand.command import run_main
from evenhand.errors import DataError
from evenhand.status import command
from evenhand.status.command import main
from evenhand.status.printed import printed
from evenhand.status.progress import Progress
from tests.made.made_runs import made_items, make_run, say
from tests.made.places import ROOT

ITEMS = made_items("pocket", 3)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A folder with a complete run and an unfinished one."""
    make_run(tmp_path / "runs" / "inference", lambda prompt: say(1), items=ITEMS, name="whole")
    make_run(tmp_path / "runs" / "inference", lambda prompt: say(1), items=ITEMS, name="part", leave_out=5)
    return tmp_path / "runs"


def test_every_run_below_a_folder_has_its_line(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main([str(root)])
    head, part, whole, count = capsys.readouterr().out.splitlines()
    assert head.split() == ["run", "done", "rate", "time", "left", "last", "write", "held", "by"]
    assert part.split()[:7] == ["sampling", f"{root}/inference/part-0000", "7", "of", "12", "answers", "(58%)"]
    assert whole.split()[:9] == [
        *("sampling", f"{root}/inference/whole-0000", "12", "of", "12", "answers", "(100%)", "–", "complete"),
    ]  # fmt: skip
    assert count == "1 of 2 complete"


def test_a_run_is_named_by_itself_and_twice_is_once(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    part, whole = (root / "inference" / name for name in ("part-0000", "whole-0000"))
    shutil.copytree(part, part / "backup")  # what lies in a run is no run
    main([str(part), str(whole), str(part), "--json"])
    stages = json.loads(capsys.readouterr().out)
    assert [(Path(stage["path"]).name, stage["done"], stage["planned"], stage["state"]) for stage in stages] == [
        ("part-0000", 7, 12, "unfinished"),
        ("whole-0000", 12, 12, "complete"),
    ]


def test_what_is_unknown_is_a_dash_and_what_is_wrong_has_its_own_line() -> None:
    unknown = Progress(kind="training", path=Path("run"), state="unfinished", counts="steps")
    known = Progress(
        kind="training",
        path=Path("other"),
        state="unfinished",
        counts="steps",
        done=0,
        planned=8,
        per_second=0.5,
        seconds_left=7300.0,
        written_s_ago=3.0,
        holder="process 1 on node07",
        silent_s=240.0,
        note="the last error",
    )
    _, first, second, note, _ = printed([unknown, known]).splitlines()
    assert first.split() == ["training", "run", "–", "–", "–", "–", "nobody"]
    assert " ".join(second.split()) == (
        "training other 0 of 8 steps (0%) 1800/h 2.0 h 3 s ago process 1 on node07, silent for 4 min"
    )
    assert note == "  the last error"


def test_watching_looks_again_and_sees_runs_that_begin_meanwhile(
    root: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    waited: list[float] = []

    def sleep(seconds: float) -> None:
        waited.append(seconds)
        if len(waited) == 2:
            raise KeyboardInterrupt
        make_run(root / "inference", lambda prompt: say(1), items=ITEMS, name="new")

    monkeypatch.setattr(command, "time", SimpleNamespace(sleep=sleep))
    main([str(root), "--watch", "7", "--json"])
    looks = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert waited == [7.0, 7.0]
    assert [[Path(stage["path"]).name for stage in stages] for stages in looks] == [
        ["part-0000", "whole-0000"],
        ["new-0000", "part-0000", "whole-0000"],
    ]


@pytest.mark.parametrize("seconds", ["0", "-3", "inf"])
def test_a_time_that_is_none_is_refused(seconds: str, root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main([str(root), f"--watch={seconds}"])
    assert "no time to wait" in capsys.readouterr().err


def test_a_folder_without_runs_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_main(main, [str(tmp_path)]) == 2
    assert "there is no run in it" in capsys.readouterr().err
    with pytest.raises(DataError, match="no such folder"):
        main([str(tmp_path / "absent")])


def test_it_loads_no_library_that_takes_seconds(root: Path) -> None:
    code = (
        "import sys; from evenhand.status.command import main; main(sys.argv[1:]); "
        "print({'torch', 'transformers', 'numpy'} & sys.modules.keys())"
    )
    done = subprocess.run([sys.executable, "-c", code, root], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "set()"
