"""PluralEval's own options of `score` and the like; options.yaml has their words."""

from dataclasses import dataclass
from typing import Literal

from eval.options import Unparsed

Lists = Literal["all", "whole"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PluralEvalOptions:
    """How what cannot be read counts, and which lists of responses do."""

    unparsed: Unparsed = "excluded"
    lists: Lists = "all"
