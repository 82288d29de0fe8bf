"""Completions of no prompt in particular."""

from evenhand.records import Completion


def completion(text="", finish_reason="stop", prompt_hash="h", **fields):
    """A first sample with this text; fields: others of Completion."""
    return Completion(prompt_hash=prompt_hash, sample_index=0, text=text, finish_reason=finish_reason, **fields)
