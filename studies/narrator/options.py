"""The narrator study's options of `score`, `compare`, `report` and `scorecard`. Nothing heavy is imported."""

import argparse
from typing import Literal, get_args

Denominator = Literal["answered", "all"]
Detection = Literal["reply", "share", "majority"]


def add_options(parser: argparse.ArgumentParser, verb: str) -> None:
    """What the paper leaves open; and --conversations, for files of verdicts."""
    parser.add_argument(
        "--narrator-denominator",
        choices=get_args(Denominator),
        default="answered",
        help="narrator: shares are of the replies that name an option (answered, the default), or of all",
    )
    parser.add_argument(
        "--detection",
        choices=get_args(Detection),
        default="reply",
        help="narrator: what Table 4 conditions on: whether any reply says Yes, and any No (reply, the default), "
        "the share of Yes, or the one answer of a prompt",
    )
    if verb in ("score", "report"):
        parser.add_argument(
            "--conversations",
            metavar="FOLDER|pocket-conflicts",
            help="narrator: the corpus of the conversations in files of verdicts, as `evenhand build narrator` "
            "made it; without it the files say who the attacker is",
        )
