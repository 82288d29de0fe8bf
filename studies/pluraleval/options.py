"""PluralEval's own options of `score` and the like. Nothing heavy is imported for --help."""

from dataclasses import dataclass
from typing import get_args

from eval.options import Unparsed, study_option


@dataclass(frozen=True, slots=True, kw_only=True)
class PluralEvalOptions:
    """How what cannot be read counts."""

    unparsed: Unparsed = study_option(
        "excluded",
        "lists without a response, rankings and choices that cannot be read are excluded (default) or count as 0",
        choices=get_args(Unparsed),
    )
