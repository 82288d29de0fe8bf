"""Completions of no prompt in particular."""

from typing import Any

from evenhand.records import Completion


def completion(text: str = "", finish_reason: str = "stop", prompt_hash: str = "h", **fields: Any) -> Completion:
    """A first sample with this text; fields: others of Completion."""
    return Completion(prompt_hash=prompt_hash, sample_index=0, text=text, finish_reason=finish_reason, **fields)
