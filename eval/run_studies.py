"""Which study a run is of, as its config says: runs of several may be named together."""

from collections.abc import Sequence
from pathlib import Path

from evenhand.config import read_yaml
from evenhand.run_directory import CONFIG_FILE, PLAN_FILE, read_plan_lines
from studies.registry import STUDIES, study_in


def runs_by_study(paths: Sequence[Path]) -> dict[str, list[Path]]:
    """The runs of each study: studies as they are registered, runs in the order given.

    Raises DataError where a folder is no sampling run.
    """
    found: dict[str, list[Path]] = {}
    for path in paths:
        if not (path / PLAN_FILE).exists():
            read_plan_lines(path)  # says so, and what to do
        found.setdefault(study_of_run(path), []).append(path)
    return {study: found[study] for study in STUDIES if study in found}


def study_of_run(path: Path) -> str:
    """The study of a run, as its config says."""
    return study_in(read_yaml(path / CONFIG_FILE), str(path / CONFIG_FILE))
