"""The tables of replies that were read by hand: replies.yaml and hard_replies.yaml, which explain themselves."""

from typing import NamedTuple

import yaml

from tests.made.places import ROOT

FOLDER = ROOT / "tests" / "eval" / "narrator"


class ReadReply(NamedTuple):
    """One reply and what a human reads in it: an option, or the name of a state in angle brackets."""

    task: str
    options: tuple[str, ...]
    reply: str
    reading: str
    is_cut: bool

    @property
    def finish_reason(self) -> str:
        """Why the engine says that the reply ended."""
        return "length" if self.is_cut else "stop"


def read_by_hand() -> list[ReadReply]:
    """Every row of the table, in its order."""
    groups = yaml.safe_load((FOLDER / "replies.yaml").read_text(encoding="utf-8"))
    return [
        ReadReply(group["task"], tuple(group["options"]), reply, reading, group.get("cut", False))
        for group in groups
        for reply, reading in group["replies"]
    ]


def hard_replies() -> list[tuple[tuple[str, ...], str, tuple[str, ...]]]:
    """(options, reply, who may be named) of every row of the other table."""
    groups = yaml.safe_load((FOLDER / "hard_replies.yaml").read_text(encoding="utf-8"))
    return [(tuple(group["options"]), reply, tuple(names)) for group in groups for reply, names in group["replies"]]
