"""A run's completions one by one."""

from evenhand.completions import read_answers


def completions_of(path):
    """(prompt hash, sample index) → the completion that counts."""
    return {(hash_, one.sample_index): one for hash_, of in read_answers(path).replies.items() for one in of}
