"""What a judge without a clue gets on a run's examples: the loss and the accuracy that learning is held against."""

from collections.abc import Sequence
from dataclasses import replace
from statistics import fmean

import torch

from training.batches import padded_logs
from training.config import AnyRun, OwnC1Run, SFTRun
from training.examples import Example
from training.objectives import Answers, Objective, chance_of_own_c1, objective_of, with_chance_among
from training.reference import Reference


def objective_for(config: AnyRun, examples: Sequence[Example], reference: Reference | None) -> Objective:
    """The config's objective, with its chance where that is a matter of the examples, or of what the base says of them.

    reference: as far as it was asked before training.
    """
    objective = objective_of(config)
    if reference and isinstance(config, OwnC1Run):
        return replace(objective, chance=base_chance(config, examples, reference))
    if isinstance(config, SFTRun) and any(len(example.choices) != 2 for example in examples):
        return with_chance_among(objective, [len(example.choices) for example in examples])
    return objective


def luck_of(examples: Sequence[Example]) -> float:
    """How often a guess among each example's answers is right."""
    return fmean(1 / len(example.choices) for example in examples)


def base_chance(config: OwnC1Run, examples: Sequence[Example], reference: Reference) -> float:
    """The loss that an own_c1 run is not to end above, from what the base says of its examples."""
    groups = {group: number for number, group in enumerate(dict.fromkeys(e.group for e in examples))}
    verdicts = padded_logs([reference.answers[example].verdicts for example in examples])
    base = Answers(
        verdicts=verdicts,
        ends=None,
        right=torch.tensor([example.right for example in examples]),
        groups=torch.tensor([groups[example.group] for example in examples]),
        anchors=torch.tensor([example.is_anchor for example in examples]),
        reference_verdicts=verdicts,
    )
    return chance_of_own_c1(base, hard=config.target == "hard")
