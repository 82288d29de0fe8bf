"""A run's completions one by one."""

from pathlib import Path

from evenhand.completions import read_answers
from evenhand.records import Completion


def completions_of(path: Path) -> dict[tuple[str, int], Completion]:
    """(prompt hash, sample index) → the completion that counts."""
    return {(hash_, one.sample_index): one for hash_, of in read_answers(path).replies.items() for one in of}
