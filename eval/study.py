"""Which study's part of eval reads what: a part is loaded when a run or a file of its study is named."""

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from eval.annotation.tasks import Task
from eval.results import Evaluation
from eval.verdict_files import column_names
from evenhand.errors import DataError
from studies.registry import STUDIES, load_part


def evaluation_of(study: str) -> Evaluation:
    """A study's part of eval."""
    evaluation: Evaluation = load_part(study, STUDIES[study].evaluation)
    return evaluation


def study_of_files(paths: Sequence[Path]) -> str:
    """The study that files of verdicts are of: the one of whose columns the first file has most; else the first."""
    there = column_names(paths[0])
    layouts = {study: layout for study in STUDIES if (layout := evaluation_of(study).layout) is not None}
    return max(layouts, key=lambda study: len(there.intersection(layouts[study].required)))


class StudyAnnotation(Protocol):
    """What people can be asked about a study's runs, so that its judge can be held against them."""

    def reads(self, path: Path) -> bool:
        """Whether a folder is of this study."""
        ...

    def tasks(self, paths: Sequence[Path]) -> Sequence[Task]:
        """Of one run, or of two side by side.

        Raises DataError for a run that is not complete, or whose stage has no judge.
        """
        ...


def annotation_of(study: str) -> StudyAnnotation:
    """A study's questions to people."""
    found: StudyAnnotation = load_part(study, STUDIES[study].annotation)
    return found


def annotated_study(paths: Sequence[Path]) -> str:
    """The study that folders are of, whose runs people can label. Raises DataError where there is none."""
    studies = [study for study, parts in STUDIES.items() if parts.annotation]
    for path in paths:
        studies = [study for study in studies if annotation_of(study).reads(path)]
        if not studies:
            known = ", ".join(study for study, parts in STUDIES.items() if parts.annotation)
            raise DataError(f"{path}: holds nothing for people to label; name a run or built folder of: {known}")
    return studies[0]
