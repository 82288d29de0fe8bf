"""PluralEval's own options of `score` and the like. Nothing heavy is imported for --help."""

from dataclasses import dataclass
from typing import Literal, get_args

from eval.options import Unparsed, study_option

Lists = Literal["all", "whole"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PluralEvalOptions:
    """How what cannot be read counts, and which lists of responses do."""

    unparsed: Unparsed = study_option(
        "excluded",
        "lists without a response, rankings and choices that cannot be read are excluded (default) or count as 0",
        choices=get_args(Unparsed),
    )
    lists: Lists = study_option(
        "all",
        "all lists of responses count (default), or whole ones: any without ten responses is unparsed",
        choices=get_args(Lists),
    )
