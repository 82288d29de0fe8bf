"""The narrator study's own options of `score` and the like. Nothing heavy is imported for --help."""

from dataclasses import dataclass
from typing import Literal, get_args

from eval.options import Unparsed, study_option

Denominator = Literal["answered", "all"]
Detection = Literal["reply", "share", "majority"]
DENOMINATORS: dict[Unparsed, Denominator] = {"wrong": "all", "excluded": "answered"}


@dataclass(frozen=True, slots=True, kw_only=True)
class NarratorOptions:
    """What the paper leaves open; and the corpus of files of verdicts."""

    unparsed: Unparsed = study_option(
        "excluded", "replies that name no option are excluded (default) or count as wrong", choices=[*DENOMINATORS]
    )
    detection: Detection = study_option(
        "reply",
        "what Table 4 conditions on: whether any reply says Yes, and any No (reply, the default), the share of "
        "Yes, or the one answer of a prompt",
        choices=get_args(Detection),
    )
    conversations: str | None = study_option(
        None,
        "the corpus of the conversations in files of verdicts, as `evenhand build narrator` made it; without it "
        "the files say who the attacker is",
        ["score", "report"],
        metavar="FOLDER|pocket-conflicts",
    )
