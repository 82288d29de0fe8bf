"""Answers of a made judge to four prompts, for losses."""

from collections.abc import Sequence
from typing import Any

import torch

from training.objectives import Answers

Rows = Sequence[Sequence[float]]


BETA = 0.3


# Four prompts with two answers: log-probabilities over the vocabulary, of the verdict and of EOS behind it.
VERDICTS = [[-0.4, -1.3], [-2.0, -0.2], [-0.9, -0.7], [-3.1, -0.05]]


ENDS = [[-0.1, -0.6], [-0.3, -0.02], [-1.5, -0.4], [-0.2, -0.9]]


REFERENCE_VERDICTS = [[-0.5, -1.0], [-1.1, -0.5], [-0.3, -1.6], [-0.6, -1.0]]


REFERENCE_ENDS = [[-0.2, -0.3], [-0.7, -0.1], [-0.4, -0.8], [-0.05, -0.3]]


RIGHT = [0, 1, 1, 0]


GROUPS = [0, 1, 0, 1]


ANCHORS = [True, False, False, True]


def answers(verdicts: Rows | torch.Tensor, ends: Rows | None = None, **others: Any) -> Answers:
    """Answers in float64, of the prompts above where nothing else is said."""
    eos = ends is not None
    reference = [
        [v + e if eos else v for v, e in zip(vs, es, strict=True)]
        for vs, es in zip(REFERENCE_VERDICTS, REFERENCE_ENDS, strict=True)
    ]
    given_ones: dict[str, Any] = {
        "right": RIGHT,
        "groups": GROUPS,
        "anchors": ANCHORS,
        "reference": reference,
        "reference_verdicts": REFERENCE_VERDICTS,
        **others,
    }
    whole = ("right", "groups", "anchors")
    tensors = {
        name: torch.as_tensor(value) if name in whole else torch.as_tensor(value, dtype=torch.float64)
        for name, value in given_ones.items()
    }
    return Answers(
        verdicts=torch.as_tensor(verdicts, dtype=torch.float64),
        eos=None if ends is None else torch.as_tensor(ends, dtype=torch.float64),
        **tensors,
    )


ZEROS = [[0.0, 0.0]] * 4


PERSONS = [[-1.0, -2.0, -0.7, -3.0], [-0.2, -4.0, -2.5, -2.2], [-1.4, -1.4, -1.3, -1.5], [-3.0, -0.1, -4.0, -5.0]]


def conversation() -> Answers:
    keys: dict[str, Any] = {"right": [2] * 4, "groups": [0] * 4, "anchors": [False, False, True, False]}
    return answers(PERSONS, reference=PERSONS, reference_verdicts=PERSONS, **keys)
