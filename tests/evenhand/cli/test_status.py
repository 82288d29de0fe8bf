"""`evenhand status`: a line for every run below a folder, in words or JSON, once or again and again."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from evenhand.cli.status.command import main
from evenhand.errors import DataError
from evenhand.terminal import run_main
from studies.dialdefer.panels import load_run
from tests.made.made_runs import made_items, make_run, say

ITEMS = made_items("pocket", 3)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A folder with a complete run and an unfinished one."""
    make_run(tmp_path / "runs" / "inference", lambda prompt: say(1), items=ITEMS, name="whole")
    make_run(tmp_path / "runs" / "inference", lambda prompt: say(1), items=ITEMS, name="part", leave_out=5)
    return tmp_path / "runs"


def test_every_run_below_a_folder_has_its_line(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main([str(root)])
    _, part, whole, count = capsys.readouterr().out.splitlines()
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


def test_a_folder_without_runs_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_main(main, [str(tmp_path)]) == 2
    assert "there is no run in it" in capsys.readouterr().err


def changed(file: Path, change: Callable[[str], str]) -> None:
    file.write_text(change(file.read_text()))


def with_another_plan(run: Path) -> None:
    """The plan and DONE.json of a smaller run, whose every prompt this one has answered."""
    other = make_run(run.parents[2] / "other", lambda prompt: say(1), items=ITEMS[:2])
    for name in ("plan.jsonl", "DONE.json"):
        shutil.copy(other / name, run / name)


def leaving_out_a_list(run: Path) -> None:
    (run / "excluded").mkdir()
    (run / "excluded" / "0.jsonl").write_text('{"item_id": [], "reason": "too long"}\n')


DAMAGES: dict[str, tuple[Callable[[Path], object], str]] = {  # what was done → the file that is named
    "no DONE.json": (lambda run: (run / "DONE.json").unlink(), "damaged-0000"),
    "half a plan": (lambda run: changed(run / "plan.jsonl", lambda text: text[: len(text) // 2]), "plan.jsonl"),
    "another run's plan": (with_another_plan, "provenance.json"),
    "other items": (
        lambda run: changed(run / "provenance.json", lambda text: text.replace('set_hash": "', 'set_hash": "0')),
        "provenance.json",
    ),
    "a list left out": (leaving_out_a_list, "excluded/0.jsonl:1"),
    "an edited shard": (
        lambda run: [changed(shard, lambda text: text.replace("because", "since")) for shard in run.glob("c*/*.jsonl")],
        "completions",
    ),
    "a shard less": (lambda run: [shard.unlink() for shard in run.glob("completions/*.jsonl")], "damaged-0000"),
}  # fmt: skip


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_run_was_scored_or_called_complete_or_hid_the_others(
    damage: str, root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = make_run(root / "inference", lambda prompt: say(1), items=ITEMS, name="damaged")
    change, names = DAMAGES[damage]
    change(run)
    with pytest.raises(DataError, match=names):
        load_run(run)
    main([str(root), "--json"])
    states = {Path(stage["path"]).name: stage for stage in json.loads(capsys.readouterr().out)}
    assert {name: stage["state"] for name, stage in states.items()} == {
        "damaged-0000": "unfinished",
        "part-0000": "unfinished",
        "whole-0000": "complete",
    }
    assert names in f"{run} {states['damaged-0000']['note']}"
