"""One forward pass of a judge over a microbatch → the log-probabilities of its answers.

Only the positions before an answer go through the head: it is as large as a third of the embedded model, and a prompt
of 200 tokens needs it at one or two of them.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor

from evenhand.float32_head import float32_head
from training.objectives import NEVER, Answers, picked
from training.trees import attention_argument


@contextmanager
def scoring_at(model: Any, rows: Tensor, columns: Tensor) -> Iterator[None]:
    """Within it, a causal language model's logits are those of N positions (rows, columns) alone: (N, vocabulary)."""
    head = model.get_output_embeddings()
    hook = head.register_forward_pre_hook(lambda _, inputs: (inputs[0][rows, columns],))
    try:
        yield
    finally:
        hook.remove()


def computing_dtype(model: Any, device: str) -> torch.dtype:
    """What a model's attention computes in on a kind of device: autocast's dtype where that is on, else its weights'.

    A mask in another would be converted in every layer, and each of the copies kept for the backward pass.
    """
    dtype: torch.dtype = torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else model.dtype
    return dtype


def answers_of(model: Any, batch: dict[str, Tensor], unwrapped: Any | None = None) -> Answers:
    """What a model says of a microbatch made by batches.Collator, with gradient where gradients are on.

    model: as wrapped for training. unwrapped: the causal language model inside it, if it is wrapped.
    """
    inner = model if unwrapped is None else unwrapped
    inputs: dict[str, Any] = {name: batch[name] for name in ("input_ids", "position_ids")}
    if "reach" in batch:
        reach = batch["reach"]
        dtype = computing_dtype(inner, reach.device.type)
        inputs["attention_mask"] = attention_argument(inner.config, reach, batch["position_ids"], dtype)
    else:
        inputs["attention_mask"] = batch["attention_mask"]
    places = batch["at"]
    n_prompts, n_choices = batch["choices"].shape
    if "ends_at" in batch:
        asked = batch["ends_at"][..., 0] >= 0  # (E, K)
        places = torch.cat([places, batch["ends_at"][asked]])
    if "rest" in batch:
        places = torch.cat([places, batch["rest_at"]])
    with scoring_at(inner, places[:, 0], places[:, 1]), float32_head(inner):
        logits = model(**inputs, use_cache=False).logits
    logs = logits.log_softmax(-1)
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
