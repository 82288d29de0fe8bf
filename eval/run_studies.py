"""Which study a run is of, as its plan says: runs of several may be named together."""

from collections.abc import Sequence
from pathlib import Path

from evenhand.jsonl import read_jsonl
from evenhand.run_directory import PLAN_FILE, read_plan_lines
from studies.narrator.records import BENCHMARK as NARRATOR


def split_by_study(paths: Sequence[Path]) -> tuple[list[Path], list[Path]]:
    """(the runs of DialDefer's framing, the runs of the narrator study), each in the order given."""
    are_narrators = [is_narrator_run(path) for path in paths]
    both = list(zip(paths, are_narrators, strict=True))
    return [path for path, is_one in both if not is_one], [path for path, is_one in both if is_one]


def is_narrator_run(path: Path) -> bool:
    """Whether a folder is a run of the narrator study. Raises DataError when it is no run at all."""
    plan = path / PLAN_FILE
    if not plan.exists():
        read_plan_lines(path)  # says so, and what to do
    first = next(read_jsonl(plan), None)
    return first is not None and first[1].get("benchmark") == NARRATOR
