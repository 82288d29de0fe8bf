"""Which loss, branches and chance a config gets."""

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.made.made_answers import BETA, ENDS, VERDICTS, ZEROS, answers, conversation
from tests.made.training_runs import tiny_run
from training.objectives import (
    Answers,
    chance_of_own_c1,
    cross_entropy,
    divergence_in_groups,
    dpo,
    ipo,
    kto,
    objective_of,
    own_c1,
    simpo,
)

METHODS = ("sft", "dpo", "ipo", "simpo", "kto", "own_c1")
WHOLE = {"order": "whole_items"}


@pytest.mark.parametrize("eos", [False, True], ids=["verdict", "verdict and EOS"])
@pytest.mark.parametrize("method", METHODS)
def test_a_method_scores_eos_only_behind_answers_that_learn_it(method: str, eos: bool) -> None:
    examples = {"loss_on_eos": eos, "conditions": "c1_and_c2"}
    objective = objective_of(tiny_run(method, Path("m"), Path("r"), examples=examples, optimiser=WHOLE))
    behind = {"sft": "right", "own_c1": "none"}.get(method, "all") if eos else "none"
    assert objective.branches == behind
    assert objective.needs_reference == (method not in {"sft", "simpo"})


@pytest.mark.parametrize(
    ("method", "keys", "expected"),
    [
        ("sft", {}, cross_entropy),
        ("dpo", {"beta": 0.4}, lambda a: dpo(a, 0.4)),
        ("ipo", {"beta": 0.4}, lambda a: ipo(a, 0.4)),
        ("kto", {"beta": 0.4}, lambda a: kto(a, 0.4)),
        ("simpo", {"beta": 1.5, "gamma": 0.2}, lambda a: simpo(a, 1.5, 0.2)),
        ("own_c1", {}, lambda a: own_c1(a, hard=False)),
        ("own_c1", {"target": "hard"}, lambda a: own_c1(a, hard=True)),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
@pytest.mark.parametrize("weight", [None, 0.6])
def test_a_config_gets_its_loss_with_its_numbers(
    method: str, keys: dict[str, Any], expected: Callable[[Answers], torch.Tensor], weight: float | None
) -> None:
    consistency = {} if weight is None else {"consistency": {"weight": weight}}
    objective = objective_of(tiny_run(method, Path("m"), Path("r"), optimiser=WHOLE, **keys, **consistency))
    one = answers(VERDICTS, ENDS)
    wanted = expected(one)
    if weight is not None:
        wanted = wanted + weight * divergence_in_groups(one.verdicts, one.groups)
    torch.testing.assert_close(objective.total(one), wanted)


@pytest.mark.parametrize("eos", [False, True], ids=["verdict", "verdict and EOS"])
@pytest.mark.parametrize("method", METHODS)
def test_chance_is_the_loss_of_a_judge_that_tosses_a_coin_and_stops(method: str, eos: bool) -> None:
    examples = {"loss_on_eos": eos, "conditions": "c1_and_c2"}
    objective = objective_of(tiny_run(method, Path("m"), Path("r"), examples=examples, optimiser=WHOLE))
    coin = [[math.log(0.5)] * 2] * 4
    tossed = answers(coin, ZEROS if objective.branches != "none" else None, reference=coin, reference_verdicts=coin)
    if method == "own_c1":
        assert objective.chance == math.inf, "an aim without labels knows no chance"
    else:
        assert objective.total(tossed).tolist() == pytest.approx([objective.chance] * 4, rel=1e-6)


@pytest.mark.parametrize("eos", [False, True], ids=["verdict", "verdict and EOS"])
@pytest.mark.parametrize("method", [name for name in METHODS if name != "own_c1"])
def test_the_slope_is_what_a_nat_of_the_margin_takes_off_the_loss_at_chance(method: str, eos: bool) -> None:
    examples = {"loss_on_eos": eos, "conditions": "c1_and_c2"}
    objective = objective_of(tiny_run(method, Path("m"), Path("r"), examples=examples, optimiser=WHOLE))
    coin = [[math.log(0.5)] * 2] * 4

    def loss(gain: float) -> float:
        """Of judges with that margin, in nats, for the right answer."""
        verdicts = torch.tensor(coin, dtype=torch.float64).log_softmax(-1)
        right = answers(coin).right
        verdicts[torch.arange(4), right] += gain
        judge = answers(
            verdicts.log_softmax(-1).tolist(),
            ZEROS if objective.branches != "none" else None,
            reference=coin,
            reference_verdicts=coin,
        )
        return objective.total(judge).mean().item()

    assert (loss(-1e-3) - loss(1e-3)) / 2e-3 == pytest.approx(objective.slope, rel=1e-3)


@pytest.mark.parametrize("hard", [False, True], ids=["soft", "hard"])
def test_own_c1_is_spoilt_above_both_a_coin_and_the_base_itself(hard: bool) -> None:
    for c1, c2, worst in ((3.0, 2.9, "coin"), (0.1, -3.0, "base")):
        rows = [[c1 / 2, -c1 / 2], [c2 / 2, -c2 / 2]]
        base = answers(rows, reference_verdicts=rows, groups=[0, 0], anchors=[True, False], right=[0, 0])
        coin = replace(base, verdicts=torch.zeros_like(base.verdicts))
        judge = coin if worst == "coin" else base
        assert chance_of_own_c1(base, hard=hard) == pytest.approx(own_c1(judge, hard=hard).mean().item() + 0.02)


def test_preferences_are_refused_between_more_than_two_answers() -> None:
    with pytest.raises(AssertionError, match="between two answers"):
        dpo(conversation(), BETA)
