"""Training examples of few tokens."""

from collections.abc import Sequence
from typing import Any

from training.examples import Example

PAD, EOS, ACCEPT, REJECT = 0, 1, 2, 3


def example(prompt: Sequence[int], **others: Any) -> Example:
    keys: dict[str, Any] = {"item_id": "i", "condition": "c2_correct", "choices": (ACCEPT, REJECT), "right": 0}
    return Example(prompt_ids=tuple(prompt), **{**keys, **others})
