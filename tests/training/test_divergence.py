"""The consistency term: a Jensen-Shannon divergence, whatever the size of its groups and the number of answers."""

import math
from collections.abc import Sequence
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from training.objectives import divergence_in_groups

SIZES = st.tuples(st.integers(1, 4), st.integers(2, 4))


@st.composite
def group_of_prompts(draw: st.DrawFn, lowest: float = -30.0) -> torch.Tensor:
    """(members, K) log-probabilities."""
    n_members, n_answers = draw(SIZES)
    log = st.floats(lowest, 0.0)
    rows = draw(st.lists(st.lists(log, min_size=n_answers, max_size=n_answers), min_size=n_members, max_size=n_members))
    return torch.tensor(rows, dtype=torch.float64)


def jensen_shannon(group: torch.Tensor) -> float:
    return divergence_in_groups(group, torch.zeros(len(group), dtype=torch.long)).mean().item()


@given(group_of_prompts())
def test_the_divergence_lies_between_0_and_the_log_of_the_groups_size(group: torch.Tensor) -> None:
    bound = math.log(min(group.shape))  # no group tells more verdicts apart than there are answers
    assert -1e-12 <= jensen_shannon(group) <= bound + 1e-12


@given(group_of_prompts())
def test_the_divergence_is_0_exactly_where_all_members_agree(group: torch.Tensor) -> None:
    assert jensen_shannon(group[:1].expand(len(group), -1)) == pytest.approx(0, abs=1e-12)
    probabilities = group.softmax(-1)
    apart = (probabilities - probabilities.mean(0)).abs().max().item()
    # Pinsker: KL is at least twice the square of any one probability's distance.
    assert jensen_shannon(group) >= 2 * apart**2 / len(group) - 1e-12


@given(group_of_prompts(), st.randoms(use_true_random=False))
def test_the_order_of_members_and_a_constant_on_a_prompt_change_nothing(group: torch.Tensor, random: Any) -> None:
    order = list(range(len(group)))
    random.shuffle(order)
    constants = torch.tensor([[random.uniform(-5, 5)] for _ in order], dtype=torch.float64)
    assert jensen_shannon(group[order] + constants) == pytest.approx(jensen_shannon(group), abs=1e-12)


@given(group_of_prompts(), group_of_prompts())
def test_groups_do_not_see_each_other(one: torch.Tensor, other: torch.Tensor) -> None:
    n_answers = min(one.shape[1], other.shape[1])
    one, other = one[:, :n_answers], other[:, :n_answers]
    both = torch.cat([one, other])
    numbers = torch.tensor([1] * len(one) + [0] * len(other))
    mixed = torch.randperm(len(both), generator=torch.Generator().manual_seed(0))
    found = torch.empty(len(both), dtype=torch.float64)
    found[mixed] = divergence_in_groups(both[mixed], numbers[mixed])
    assert found[: len(one)].mean().item() == pytest.approx(jensen_shannon(one), abs=1e-12)
    assert found[len(one) :].mean().item() == pytest.approx(jensen_shannon(other), abs=1e-12)


@pytest.mark.parametrize(
    ("verdicts", "expected"),
    [([[0.0, -200.0], [-200.0, 0.0]], math.log(2)), ([[0.0, -200.0], [0.0, -150.0]], 0.0)],
    ids=["opposite", "alike"],
)
def test_the_divergence_of_certain_verdicts_is_finite_with_its_gradient(
    verdicts: Sequence[Sequence[float]], expected: float
) -> None:
    logs = torch.tensor(verdicts, requires_grad=True)  # float32, where exp(-200) is 0
    losses = divergence_in_groups(logs, torch.tensor([0, 0]))
    losses.sum().backward()
    assert losses.tolist() == pytest.approx([expected] * 2, abs=1e-7)
    assert logs.grad is not None
    assert torch.isfinite(logs.grad).all()
