"""One forward pass of a judge over a microbatch → the log-probabilities of its answers."""

from typing import Any

import torch
from torch import Tensor

from evenhand.token_trees import logits_at
from training.objectives import NEVER, Answers, picked


def answers_of(model: Any, batch: dict[str, Tensor], unwrapped: Any | None = None) -> Answers:
    """What a model says of a microbatch made by batches.Collator, with gradient where gradients are on.

    model: as wrapped for training. unwrapped: the causal language model inside it, if it is wrapped.
    """
    places = batch["at"]
    n_prompts, n_choices = batch["choices"].shape
    if "ends_at" in batch:
        asked = batch["ends_at"][..., 0] >= 0  # (E, K)
        places = torch.cat([places, batch["ends_at"][asked]])
    if "rest" in batch:
        places = torch.cat([places, batch["rest_at"]])
    logs = logits_at(model, batch, places, unwrapped).log_softmax(-1)
    verdicts = logs[:n_prompts].gather(1, batch["choices"])
    if "padded" in batch:
        verdicts = verdicts.masked_fill(batch["padded"], NEVER)
    ends = None
    if "ends_at" in batch:
        owners = torch.arange(n_prompts, device=logs.device)[:, None].expand(-1, n_choices)[asked]
        of_end = picked(logs[n_prompts : n_prompts + len(owners)], batch["end"][owners])
        ends = torch.zeros_like(verdicts).masked_scatter(asked, of_end)
    rest = None
    if "rest" in batch:
        of_rest = picked(logs[-len(batch["rest"]) :], batch["rest"])
        rest = logs.new_zeros(n_prompts).index_add(0, batch["rest_of"], of_rest)
    return Answers(
        verdicts=verdicts,
        ends=ends,
        rest=rest,
        right=batch["right"],
        groups=batch["groups"],
        anchors=batch["anchors"],
        reference=batch.get("reference"),
        reference_verdicts=batch.get("reference_verdicts"),
    )
