"""PluralEval's option of `score`, `compare`, `report` and `scorecard`. Nothing heavy is imported."""

import argparse
from typing import Literal, get_args

Unread = Literal["excluded", "wrong"]
Lists = Literal["all", "whole"]


def add_options(parser: argparse.ArgumentParser, verb: str) -> None:
    """How what cannot be read counts, and which lists of responses do."""
    parser.add_argument(
        "--unread",
        choices=get_args(Unread),
        default="excluded",
        help="pluraleval: a list without a response, or a ranking or choice that cannot be read: excluded from the "
        "means (default), or wrong, which counts as 0",
    )
    parser.add_argument(
        "--lists",
        choices=get_args(Lists),
        default="all",
        help="pluraleval: all lists of responses count (default), or whole ones: any without ten responses is unread",
    )
