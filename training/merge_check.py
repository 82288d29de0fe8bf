"""Does a merged model judge as what was trained? Verdicts and margins of both on a sample of the run's own prompts."""

import math
import random
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import torch

from evenhand.errors import ModelError
from evenhand.float32 import float32_head
from training.config import TrainingConfig
from training.data import TrainingData, examples_of
from training.examples import set_padding

BATCH_SIZE = 16
ITEMS_PER_PROMPT = 8  # examples are made of this many items for each prompt drawn, not of a whole training set
AUTOCAST = {"bf16": torch.bfloat16, "fp16": torch.float16}
# What a model says of a prompt's answers, in nats: log P of each but the last, minus that of the last. Of two answers
# that is one number, the margin.
LogOdds = tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeCheck:
    """How a merged model's verdicts compare with those of base + adapter as trained."""

    onto: str
    n_prompts: int
    agreement_rate: float  # share of prompts with the same verdict
    # In nats: mean |difference| of the margin by which base + adapter's verdict leads the likeliest other answer.
    mean_margin_drift: float
    max_margin_drift: float

    def __str__(self) -> str:
        return (
            f"{self.agreement_rate:.1%} of {self.n_prompts} verdicts agree with base + adapter as trained; margins "
            f"moved by {self.mean_margin_drift:.3f} nats, at most {self.max_margin_drift:.3f}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What every model of a check is asked, and how it is to compute."""

    prompts: list[tuple[int, ...]]  # token ids
    choices: list[tuple[int, ...]]  # of each prompt the token of each answer
    mixed_precision: str  # as in training: "bf16", "fp16" or "no"


def sample_prompts(data: TrainingData, config: TrainingConfig, tokenizer: Any, n_prompts: int) -> Question:
    """n_prompts of the run's own prompts (fewer when it has fewer), drawn at random with a fixed seed."""
    set_padding(tokenizer)
    draw = random.Random(0)
    examples, _ = examples_of(data.drawn(draw, ITEMS_PER_PROMPT * n_prompts), config, tokenizer)
    asked = draw.sample(examples, min(n_prompts, len(examples)))
    return Question(
        prompts=[example.prompt_ids for example in asked],
        choices=[example.choices for example in asked],
        mixed_precision=config.optimiser.mixed_precision,
    )


@torch.no_grad()
def margins(model: Any, question: Question) -> list[LogOdds]:
    """What a model says behind each prompt, in the order of the prompts. Raises ModelError for NaN.

    Prompts of like length go together, padded on the left: a 4-bit base is dequantised once a batch, not once a prompt.
    """
    model.eval()
    # torch multiplies a strided slice of the hidden states with a copy of the whole head for each prompt of the batch.
    head = model.get_output_embeddings()
    hook = head.register_forward_pre_hook(lambda _, inputs: tuple(tensor.contiguous() for tensor in inputs))
    prompts, choices = question.prompts, question.choices
    order = sorted(range(len(prompts)), key=lambda index: len(prompts[index]))
    found: dict[int, LogOdds] = {}
    for start in range(0, len(order), BATCH_SIZE):
        batch = order[start : start + BATCH_SIZE]
        width = max(len(prompts[index]) for index in batch)
        mask = torch.tensor([[0] * (width - len(prompts[i])) + [1] * len(prompts[i]) for i in batch])
        ids = torch.tensor([[0] * (width - len(prompts[i])) + list(prompts[i]) for i in batch])
        positions = (mask.cumsum(1) - 1).clamp(min=0)
        inputs = {"input_ids": ids, "attention_mask": mask, "position_ids": positions}
        with float32_head(model), computing(model.device.type, question.mixed_precision):
            outputs = model(**{name: tensor.to(model.device) for name, tensor in inputs.items()}, logits_to_keep=1)
        logits = outputs.logits[:, -1]
        for row, index in enumerate(batch):
            *others, last = logits[row, list(choices[index])]
            found[index] = tuple(float(other - last) for other in others)
    hook.remove()
    if n_lost := sum(not all(map(math.isfinite, odds)) for odds in found.values()):
        raise ModelError(f"{n_lost} of {len(prompts)} margins are no finite numbers: the adapter or the base is broken")
    return [found[index] for index in range(len(prompts))]


def computing(device: str, mixed_precision: str) -> AbstractContextManager[Any]:
    """The arithmetic that training uses: autocast, or none."""
    dtype = AUTOCAST.get(mixed_precision)
    return torch.autocast(device, dtype) if dtype else nullcontext()


def compare(merged: Sequence[LogOdds], expected: Sequence[LogOdds], onto: str) -> MergeCheck:
    """The check's figures from what two models say of the same prompts."""
    pairs = list(zip(merged, expected, strict=True))
    drifts = [abs(lead(a, verdict(b)) - lead(b, verdict(b))) for a, b in pairs]
    agreeing = sum(verdict(a) == verdict(b) for a, b in pairs)
    return MergeCheck(
        onto=onto,
        n_prompts=len(drifts),
        agreement_rate=agreeing / len(drifts),
        mean_margin_drift=sum(drifts) / len(drifts),
        max_margin_drift=max(drifts),
    )


def verdict(odds: LogOdds) -> int:
    """The index of the likeliest answer, of equal ones the last."""
    values = (*odds, 0.0)
    return max(range(len(values)), key=lambda index: (values[index], index))


def lead(odds: LogOdds, answer: int) -> float:
    """By how many nats an answer is likelier than the likeliest other."""
    values = (*odds, 0.0)
    return values[answer] - max(value for index, value in enumerate(values) if index != answer)
