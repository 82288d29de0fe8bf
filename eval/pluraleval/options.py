"""PluralEval's option of `score`, `compare`, `report` and `scorecard`. Nothing heavy is imported."""

import argparse
from typing import Literal, get_args

Unread = Literal["excluded", "wrong"]


def add_options(parser: argparse.ArgumentParser, verb: str) -> None:
    """How what cannot be read counts."""
    parser.add_argument(
        "--unread",
        choices=get_args(Unread),
        default="excluded",
        help="pluraleval: a list without a response, or a ranking or choice that cannot be read: excluded from the "
        "means (default), or wrong, which counts as 0",
    )
