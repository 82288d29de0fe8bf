"""PluralEval's own options of `score` and the like. Nothing heavy is imported for --help."""

from dataclasses import dataclass, field
from typing import Literal, get_args

from eval.options import Unparsed, word

Lists = Literal["all", "whole"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PluralEvalOptions:
    """How what cannot be read counts, and which lists of responses do."""

    unparsed: Unparsed = field(
        default="excluded",
        metadata=word(
            "lists without a response, rankings and choices that cannot be read are excluded (default) or count as 0",
            choices=get_args(Unparsed),
        ),
    )
    lists: Lists = field(
        default="all",
        metadata=word(
            "all lists of responses count (default), or whole ones: any without ten responses is unparsed",
            choices=get_args(Lists),
        ),
    )
