"""A dev split to choose the checkpoint by: drawn from the training items, never trained on, and no test items."""

import random
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import torch

from evenhand.errors import ConfigError
from evenhand.same_text import normalised
from studies.dialdefer.leaks import family
from studies.dialdefer.records import Item
from studies.narrator.records import Conversation
from studies.narrator.splits import groups_of_pages
from training.batches import Bundle
from training.objectives import Answers, divergence_in_groups
from training.sections import DevConfig

if TYPE_CHECKING:
    from training.trainer import VerdictTrainer


def without_dev(items: Sequence[Item], dev: DevConfig | None) -> tuple[list[Item], list[Item]]:
    """(training items, dev items). Rewordings of one question, and equal ones, go to the same side.

    Raises ConfigError when the dev split would take half of the items or more.
    """
    if dev is None:
        return list(items), []
    family_of = families_of(items)
    held = drawn([family_of[item.item_id] for item in items], dev, "training items")
    kept = [item for item in items if family_of[item.item_id] not in held]
    return kept, [item for item in items if family_of[item.item_id] in held]


def conversations_without_dev(
    conversations: Sequence[Conversation], dev: DevConfig | None
) -> tuple[list[Conversation], list[Conversation]]:
    """(training conversations, dev conversations). A page, and what shares its text, goes to one side.

    Raises ConfigError when the dev split would take half of the pages or more.
    """
    if dev is None:
        return list(conversations), []
    pages = groups_of_pages(conversations)
    held = drawn(pages, dev, "pages of training conversations")
    kept = [one for one, page in zip(conversations, pages, strict=True) if page not in held]
    return kept, [one for one, page in zip(conversations, pages, strict=True) if page in held]


def drawn(names: Sequence[str], dev: DevConfig, what: str) -> set[str]:
    """The families that make the dev split. Raises ConfigError when they are half of all or more."""
    families = list(dict.fromkeys(names))
    if 2 * dev.n_items >= len(families):
        raise ConfigError(
            f"dev.n_items is {dev.n_items}, but there are only {len(families)} {what}; leave more than half of them to "
            "train on"
        )
    return set(random.Random(f"dev {dev.seed}").sample(families, dev.n_items))


def families_of(items: Iterable[Item]) -> dict[str, str]:
    """item_id → its family: rewordings of one item, and items that ask the same question, as leaks are looked for."""
    found: dict[str, str] = {}
    of_text: dict[str, str] = {}
    joined: dict[str, str] = {}  # a family → an earlier one that asks the same

    def first(name: str) -> str:
        while name in joined:
            name = joined[name]
        return name

    for item in items:
        found[item.item_id] = name = family(item)
        if text := normalised(item.question):
            one, other = first(of_text.setdefault(text, name)), first(name)
            if one != other:
                joined[other] = one
    return {item_id: first(name) for item_id, name in found.items()}


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
