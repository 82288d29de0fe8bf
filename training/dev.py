"""A dev split to choose the checkpoint by: drawn from the training items, never trained on, and no test items."""

import random
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch

from evenhand.errors import ConfigError
from training.batches import Bundle
from training.data import TrainingData
from training.objectives import Answers, divergence_in_groups
from training.sections import DevConfig

if TYPE_CHECKING:
    from training.trainer import VerdictTrainer


def without_dev(data: TrainingData, dev: DevConfig | None) -> tuple[TrainingData, TrainingData]:
    """(what is trained on, what the checkpoint is chosen by). A family of units goes to one side.

    Raises ConfigError when the dev split would take half of the families or more.
    """
    if dev is None:
        return data, data.of([])
    families = data.study.families(data.units)
    held = drawn(families, dev, data.study.families_called)
    sides: tuple[list[Any], list[Any]] = ([], [])
    for unit, family in zip(data.units, families, strict=True):
        sides[family in held].append(unit)
    return data.of(sides[0]), data.of(sides[1])


def drawn(names: Sequence[str], dev: DevConfig, what: str) -> set[str]:
    """The families that make the dev split. Raises ConfigError when they are half of all or more."""
    families = list(dict.fromkeys(names))
    if 2 * dev.n_items >= len(families):
        raise ConfigError(
            f"dev.n_items is {dev.n_items}, but there are only {len(families)} {what}; leave more than half of them to "
            "train on"
        )
    return set(random.Random(f"dev {dev.seed}").sample(families, dev.n_items))


def dev_measures(model: Any, bundles: Sequence[Bundle], trainer: "VerdictTrainer") -> dict[str, float]:
    """eval_loss (the run's own), eval_accuracy, and eval_divergence in nats between prompts that should agree.

    model: as wrapped for training. Every process measures all of it.
    """
    found = []
    size = trainer.plan.n_bundles
    ordered = sorted(bundles, key=lambda bundle: sum(example.n_tokens for example in bundle))
    with torch.no_grad():
        for start in range(0, len(ordered), size):
            batch = trainer.data_collator(ordered[start : start + size])
            batch = {name: tensor.to(trainer.args.device) for name, tensor in batch.items()}
            batch = trainer.with_reference(model, batch)
            model.eval()  # asking the base has put it in train mode, where dropout draws random numbers
            found.append(rows_of(trainer.answers(model, batch), trainer))
    model.train()
    loss, accuracy, divergence = torch.cat(found, dim=1).mean(1).tolist()
    return {"eval_loss": loss, "eval_accuracy": accuracy, "eval_divergence": divergence}


def rows_of(answers: Answers, trainer: "VerdictTrainer") -> torch.Tensor:
    """(3, E) loss, whether the right answer is the likeliest, and divergence from the group, of each prompt."""
    right = (answers.verdicts.argmax(1) == answers.right).float()
    return torch.stack(
        [trainer.objective.total(answers), right, divergence_in_groups(answers.verdicts, answers.groups)]
    )
