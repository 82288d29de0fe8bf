"""Framing's own options of `score` and `report`, for files of verdicts. Nothing heavy is imported for --help."""

from dataclasses import dataclass

from eval.options import Verb, study_option

OF_FILES: tuple[Verb, ...] = ("score", "report")


@dataclass(frozen=True, slots=True, kw_only=True)
class FramingOptions:
    """What files of verdicts may leave open."""

    baseline: str | None = study_option(
        None, "of files of verdicts, the framing that the others are held against (default: the first row's)", OF_FILES
    )
