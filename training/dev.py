"""A dev split to choose the checkpoint by: drawn from the training items, never trained on, and no test items."""

import random
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch

from benchmarks.errors import ConfigError
from benchmarks.leaks import family
from benchmarks.records import Item
from training.batches import Bundle
from training.forward import answers_of
from training.objectives import Answers, divergence_in_groups
from training.sections import DevConfig

if TYPE_CHECKING:
    from training.trainer import VerdictTrainer


def without_dev(items: Sequence[Item], dev: DevConfig | None) -> tuple[list[Item], list[Item]]:
    """(training items, dev items). Rewordings of one question go to the same side.

    Raises ConfigError when the dev split would take half of the items or more.
    """
    if dev is None:
        return list(items), []
    families = list(dict.fromkeys(map(family, items)))
    if 2 * dev.n_items >= len(families):
        raise ConfigError(
            f"dev.n_items is {dev.n_items}, but there are only {len(families)} training items; leave more than half "
            "of them to train on"
        )
    held = set(random.Random(f"dev {dev.seed}").sample(families, dev.n_items))
    return [i for i in items if family(i) not in held], [i for i in items if family(i) in held]


def dev_measures(model: Any, inner: Any, bundles: Sequence[Bundle], trainer: "VerdictTrainer") -> dict[str, float]:
    """eval_loss (the run's own), eval_accuracy, and eval_divergence in nats between prompts that should agree.

    model: as wrapped for training; inner: the PEFT model inside. Every process measures all of it.
    """
    model.eval()
    found = []
    size = max(1, trainer.args.per_device_train_batch_size // max(len(bundle) for bundle in bundles))
    ordered = sorted(bundles, key=lambda bundle: sum(example.n_tokens for example in bundle))
    with torch.no_grad():
        for start in range(0, len(ordered), size):
            batch = trainer.data_collator(ordered[start : start + size])
            batch = {name: tensor.to(trainer.args.device) for name, tensor in batch.items()}
            answers = answers_of(model, trainer.with_reference(model, batch), inner)
            found.append(rows_of(answers, trainer))
            model.eval()
    model.train()
    loss, accuracy, divergence = torch.cat(found, dim=1).mean(1).tolist()
    return {"eval_loss": loss, "eval_accuracy": accuracy, "eval_divergence": divergence}


def rows_of(answers: Answers, trainer: "VerdictTrainer") -> torch.Tensor:
    """(3, E) loss, whether the right answer is the likeliest, and divergence from the group, of each prompt."""
    right = (answers.verdicts.argmax(1) == answers.right).float()
    return torch.stack(
        [trainer.objective.total(answers), right, divergence_in_groups(answers.verdicts, answers.groups)]
    )
