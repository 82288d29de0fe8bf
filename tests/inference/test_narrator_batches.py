"""Prompts with unequally many answers in one microbatch: what pads them is seen by no loss, gradient or measure."""

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.made.one_batch import adapted, byte_model
from tests.made.training_runs import tiny_run
from training.batches import Collator, Group, LogProbs, answers_of, padded_logs
from training.config import AnyRun
from training.examples import Example
from training.objectives import (
    NEVER,
    Answers,
    cross_entropy,
    divergence_in_groups,
    label_free,
)
from training.reference import objective_for

PAD = 0
SIZES = (2, 4, 3)  # speakers of three conversations


def talk(n_speakers: int, name: str) -> Group:
    """A made group: the neutral prompt and one of each speaker, their answers tokens of their own."""
    beginning = [20 + n_speakers, 5, 6]
    return [
        Example(
            item_id=name,
            condition="neutral" if me < 0 else "non_attacker",
            prompt_ids=(*beginning, *([7] if me < 0 else [8 + me, 7, 7])),
            choices=tuple(3 if k == me else 40 + 5 * n_speakers + k for k in range(n_speakers)),
            right=n_speakers - 1,
            group=name,
            is_anchor=me < 0,
        )
        for me in range(-1, n_speakers)
    ]


TALKS = [talk(n, f"talk-{number}") for number, n in enumerate(SIZES)]
ALL = [example for group in TALKS for example in group]


def run_of(method: str = "sft", **sections: Any) -> AnyRun:
    return tiny_run(method, study="narrator", **sections)


# The collator.


@pytest.mark.parametrize("row_tokens", [0, 9, 2048])
def test_a_microbatch_says_which_answers_a_prompt_does_not_have(row_tokens: int) -> None:
    known = {e: LogProbs(tuple(-1.0 - k for k in range(len(e.choices))), (-2.0,) * len(e.choices)) for e in ALL}
    batch = Collator(pad=PAD, branches="none", row_tokens=row_tokens, reference=known)(TALKS)
    for number, example in enumerate(ALL):
        n_choices = len(example.choices)
        assert batch["choices"][number, :n_choices].tolist() == list(example.choices)
        assert batch["padded"][number].tolist() == [False] * n_choices + [True] * (4 - n_choices)
        assert batch["reference_verdicts"][number].tolist() == [*known[example].verdicts, *[NEVER] * (4 - n_choices)]
        assert batch["reference"][number].tolist() == [*known[example].totals, *[NEVER] * (4 - n_choices)]
    assert batch["groups"].tolist() == [number for number, n in enumerate(SIZES) for _ in range(n + 1)]
    assert "padded" not in Collator(pad=PAD, branches="none")([TALKS[1]])


# The losses: padded and plain answers give the same numbers, and no gradient where there is no answer.


@st.composite
def unequal_groups(draw: st.DrawFn) -> list[list[list[float]]]:
    """Groups of prompts, each group with its own number of answers: log-probabilities."""
    log = st.floats(-30.0, 0.0)
    groups = []
    for n_choices in draw(st.lists(st.integers(2, 6), min_size=2, max_size=4)):
        row = st.lists(log, min_size=n_choices, max_size=n_choices)
        groups.append(draw(st.lists(row, min_size=1, max_size=5)))
    return groups


def answers(verdicts: torch.Tensor, groups: Sequence[int], base: torch.Tensor) -> Answers:
    """Right is each prompt's second answer, the anchor each group's first prompt."""
    return Answers(
        verdicts=verdicts,
        eos=None,
        right=torch.ones(len(verdicts), dtype=torch.long),
        groups=torch.tensor(groups),
        anchors=torch.tensor([place == 0 or groups[place - 1] != group for place, group in enumerate(groups)]),
        reference=base,
        reference_verdicts=base,
    )


LOSSES = {
    "sft": cross_entropy,
    "divergence": lambda a: divergence_in_groups(a.verdicts, a.groups),
    "label_free": lambda a: label_free(a, hard=False),
    "label_free, hard": lambda a: label_free(a, hard=True),
}


@pytest.mark.parametrize("name", LOSSES)
@given(groups=unequal_groups(), dtype=st.sampled_from([torch.float32, torch.float64]))
def test_groups_of_unequal_size_have_the_losses_and_gradients_that_each_has_alone(
    name: str, groups: list[list[list[float]]], dtype: torch.dtype
) -> None:
    loss = LOSSES[name]
    rows = [row for group in groups for row in group]
    numbers = [number for number, group in enumerate(groups) for _ in group]
    together = padded_logs(rows).to(dtype).requires_grad_()
    found = loss(answers(together, numbers, padded_logs([row[::-1] for row in rows]).to(dtype)))
    found.sum().backward()
    assert together.grad is not None
    at = 0
    for group in groups:
        alone = torch.tensor(group, dtype=dtype, requires_grad=True)
        expected = loss(answers(alone, [0] * len(group), torch.tensor([row[::-1] for row in group], dtype=dtype)))
        expected.sum().backward()
        rows_of_group = slice(at, at + len(group))
        torch.testing.assert_close(found[rows_of_group], expected, rtol=1e-5, atol=1e-5)
        torch.testing.assert_close(together.grad[rows_of_group, : len(group[0])], alone.grad, rtol=1e-5, atol=1e-5)
        assert torch.count_nonzero(together.grad[rows_of_group, len(group[0]) :]) == 0
        assert torch.count_nonzero(together.softmax(-1)[rows_of_group, len(group[0]) :]) == 0, "exactly 0"
        at += len(group)


def coin_answers(base: Sequence[Sequence[float]] | None = None) -> Answers:
    """What a judge without a clue says of the made groups."""
    groups = [number for number, group in enumerate(TALKS) for _ in group]
    coin = padded_logs([[-math.log(len(e.choices))] * len(e.choices) for e in ALL])
    found = answers(coin, groups, coin if base is None else padded_logs(base))
    return replace(found, right=torch.tensor([e.right for e in ALL]))


def test_chance_is_the_loss_of_a_judge_without_a_clue_and_slope_what_a_nat_of_the_margin_takes_off_it() -> None:
    objective = objective_for(run_of(), ALL, None)
    coin = coin_answers()
    assert objective.loss(coin).mean().item() == pytest.approx(objective.chance, rel=1e-6)
    assert objective.chance == pytest.approx((3 * math.log(2) + 5 * math.log(4) + 4 * math.log(3)) / 12)

    def loss(gain: float) -> float:
        verdicts = coin.verdicts.double()
        verdicts[torch.arange(len(ALL)), coin.right] += gain
        return cross_entropy(replace(coin, verdicts=verdicts.log_softmax(-1))).mean().item()

    assert (loss(-1e-3) - loss(1e-3)) / 2e-3 == pytest.approx(objective.slope, rel=1e-3)
    assert objective.chance_accuracy == pytest.approx((3 / 2 + 5 / 4 + 4 / 3) / 12)


# The model: a microbatch of three conversations is each of them alone.


@pytest.mark.slow
@pytest.mark.parametrize("row_tokens", [0, 9, 2048])
def test_a_name_is_learnt_to_its_last_token_as_if_its_prompt_were_alone(row_tokens: int, tmp_path: Path) -> None:
    judge = adapted(byte_model(tmp_path), run_of(quantisation={"kind": "none"}))
    names = [replace(e, rest=tuple(range(60, 60 + number % 4))) for number, e in enumerate(ALL)]
    collator = Collator(pad=PAD, branches="none", row_tokens=row_tokens)
    found = cross_entropy(answers_of(judge, collator([names])))
    for loss, example in zip(found.tolist(), names, strict=True):
        ids = (*example.prompt_ids, *example.right_ids)
        logs = judge(torch.tensor([ids])).logits[0].log_softmax(-1)
        learnt = range(len(example.prompt_ids), len(ids))
        assert loss == pytest.approx(-sum(logs[at - 1, ids[at]].item() for at in learnt), rel=1e-4)


# The schedule: a step takes so many groups, whatever their size.
