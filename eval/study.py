"""What the verbs of eval know of a study: how its runs are scored, compared and reported. The registry names each."""

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, NoReturn, Protocol

from eval.annotation.tasks import Task
from eval.estimates.changes import Change
from eval.estimates.comparability import Difference
from eval.estimates.scores import Score
from eval.report.report_part import StudyPart
from eval.report.table import Table
from eval.results import Evaluation
from eval.sampling_runs import Verdicts
from eval.scorecard.arms import CardArm
from eval.scorecard.seeds import Headline, Ranking
from eval.study_definitions import add_definitions
from eval.verdict_files import Layout, column_names
from evenhand.errors import DataError
from studies.registry import STUDIES, load_part


class Scored(Protocol):
    """The scores of some runs of one study, computed once."""

    def say_scores(self) -> None:
        """Print the scores, and what to doubt."""
        ...

    def scores(self) -> Sequence[Score]:
        """All of them, for files."""
        ...

    def views(self) -> Mapping[str, Sequence[Mapping[str, Any]]]:
        """Name of a file → the same scores as rows of another form, if the study has one of its own."""
        ...


class Found(Scored, Protocol):
    """Everything that there is to say of some runs of one study, computed once; the first run is the base."""

    def say_changes(self) -> None:
        """Print what changed from the base, in what each run differs from it, and what to doubt."""
        ...

    def changes(self) -> Sequence[Change]:
        """Of each run from the base, for files; none where they stand side by side."""
        ...

    def part(self, *, is_alone: bool) -> StudyPart:
        """Its part of a report. is_alone: no other study's part opens the report."""
        ...


class StudyEval(Protocol):
    """What a study's runs mean."""

    files: ClassVar[Layout | None]  # what files of its verdicts hold; None: it reads none
    columns_help: ClassVar[str]  # what such files hold, for the verbs' help
    definitions: ClassVar[Any]  # what its paper leaves open, at its defaults, for eval.study_definitions; None: nothing

    def add_options(self, parser: argparse.ArgumentParser, verb: str) -> None:
        """The options of `score`, `compare`, `report` that are its own."""
        ...

    def score(self, path: Path, options: argparse.Namespace) -> Scored:
        """One run by itself."""
        ...

    def score_files(self, options: argparse.Namespace) -> Scored:
        """The same of files of verdicts, all of them together."""
        ...

    def find(self, paths: Sequence[Path], options: argparse.Namespace, *, is_before_after: bool) -> Found:
        """What there is to say of some runs. Raises DataError when they are no like for like."""
        ...

    def find_files(self, options: argparse.Namespace) -> Found:
        """The same of files of verdicts."""
        ...

    def verdicts(self, path: Path) -> Verdicts:
        """What each reply of a complete run was read as, by the study's defaults."""
        ...

    def tested_run(self, path: Path) -> Path:
        """The sampling run of the model under test: the run itself, unless it is a judge's about another run."""
        ...

    def made_arms(self, base: CardArm, options: argparse.Namespace) -> Sequence[CardArm]:
        """Further rows of a scorecard that its options ask for, made of the base's run."""
        ...

    def card(self, arms: Sequence[CardArm], runs: Mapping[str, Path], options: argparse.Namespace) -> "StudyCard":
        """Its part of a scorecard of some rows, the base first; runs: row → its run of this study, where it has one.

        Raises DataError as `find`.
        """
        ...


class RunsOnly:
    """The base of an evaluation that reads no files of verdicts, and makes no further rows of a scorecard's base."""

    files: ClassVar[Layout | None] = None
    columns_help: ClassVar[str] = ""
    definitions: ClassVar[Any] = None

    def add_options(self, parser: argparse.ArgumentParser, verb: str) -> None:
        """None."""

    def score_files(self, options: argparse.Namespace) -> NoReturn:
        """Raises DataError."""
        raise DataError(f"{options.sources[0]}: verdicts of this study are not read from files")

    def find_files(self, options: argparse.Namespace) -> NoReturn:
        """Raises DataError."""
        self.score_files(options)

    def tested_run(self, path: Path) -> Path:
        """The run itself."""
        return path

    def made_arms(self, base: CardArm, options: argparse.Namespace) -> list[CardArm]:
        """None."""
        return []


class StudyCard(Protocol):
    """One study's part of a scorecard."""

    def fields(self) -> list[dict[str, Any]]:
        """What each row has of this study."""
        ...

    def changes(self) -> Sequence[Change]:
        """Of each row from the base."""
        ...

    def tables(self) -> Sequence[Table]:
        """As tables for files."""
        ...

    def text(self, *, has_rows: bool) -> str:
        """As plain text for the console; without rows only what is to know of them, where arms have seeds."""
        ...

    def headlines(self) -> Sequence[Headline]:
        """The figures that arms are shown by where they have several seeds."""
        ...

    def ranking(self) -> Ranking | None:
        """How arms are ranked over their seeds; None where they are not."""
        ...

    def differences(self) -> Mapping[str, Sequence[Difference]]:
        """Which run differs from the base's, in what."""
        ...

    def doubts(self) -> Sequence[str]:
        """What to know of the runs' answers before believing a figure, where the text does not say it."""
        ...


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


def evaluation_of(study: str) -> Any:
    """A study's part of eval."""
    evaluation = load_part(study, STUDIES[study].evaluation)
    return evaluation if isinstance(evaluation, Evaluation) else OldEvaluation(study, evaluation)


class OldResults:
    """The results of an evaluation that is not yet on eval.results, by the names of Results."""

    def __init__(self, study: str, found: Any) -> None:
        self.study, self.found = study, found

    def print_scores(self) -> None:
        self.found.say_scores()

    def print_changes(self) -> None:
        self.found.say_changes()

    @property
    def score_rows(self) -> Sequence[Score]:
        return list(self.found.scores())

    @property
    def change_rows(self) -> Sequence[Change]:
        return list(self.found.changes())

    def part(self, *, is_alone: bool) -> StudyPart:
        part: StudyPart = self.found.part(is_alone=is_alone)
        return part


class OldEvaluation:
    """A StudyEval that is not yet on eval.results."""

    def __init__(self, study: str, evaluation: Any) -> None:
        self.study, self.evaluation = study, evaluation
        self.layout, self.columns_help = evaluation.files, evaluation.columns_help
        self.verdicts, self.tested_run, self.made_arms = (
            evaluation.verdicts,
            evaluation.tested_run,
            evaluation.made_arms,
        )
        self.card = evaluation.card

    def add_options(self, parser: argparse.ArgumentParser, verb: str) -> None:
        self.evaluation.add_options(parser, verb)
        if self.evaluation.definitions is not None:
            add_definitions(parser, self.study, self.evaluation.definitions)

    def results(
        self, paths: Sequence[Path], options: argparse.Namespace, *, is_before_after: bool = False
    ) -> OldResults:
        if not hasattr(options, "side_by_side") and len(paths) == 1:
            return OldResults(self.study, self.evaluation.score(paths[0], options))
        return OldResults(self.study, self.evaluation.find(paths, options, is_before_after=is_before_after))

    def results_of_files(self, options: argparse.Namespace) -> OldResults:
        is_report = hasattr(options, "side_by_side")
        return OldResults(
            self.study, self.evaluation.find_files(options) if is_report else self.evaluation.score_files(options)
        )


def study_of_files(paths: Sequence[Path]) -> str:
    """The study that files of verdicts are of: the one of whose columns the first file has most; else the first."""
    there = column_names(paths[0])
    layouts = {study: layout for study in STUDIES if (layout := evaluation_of(study).layout) is not None}
    return max(layouts, key=lambda study: len(there.intersection(layouts[study].required)))
