"""The narrator study's own options of `score` and the like; options.yaml has their words."""

from dataclasses import dataclass
from typing import Literal

from eval.options import Unparsed

Denominator = Literal["answered", "all"]
Detection = Literal["reply", "share", "majority"]
DENOMINATORS: dict[Unparsed, Denominator] = {"wrong": "all", "excluded": "answered"}


@dataclass(frozen=True, slots=True, kw_only=True)
class NarratorOptions:
    """What the paper leaves open; and the corpus of files of verdicts."""

    unparsed: Unparsed = "excluded"
    detection: Detection = "reply"
    conversations: str | None = None
