"""The losses: each against the same formula in plain numbers, its gradient against finite differences, and its laws."""

import math
from collections.abc import Callable, Sequence

import pytest
import torch

from tests.made.made_answers import (
    ANCHORS,
    BETA,
    ENDS,
    GROUPS,
    PERSONS,
    REFERENCE_ENDS,
    REFERENCE_VERDICTS,
    RIGHT,
    VERDICTS,
    ZEROS,
    Rows,
    answers,
    conversation,
)
from training.objectives import Answers, cross_entropy, divergence_in_groups, dpo, ipo, kto, own_c1, simpo

GAMMA = 0.7

SHARES = [0.1, 0.2, 0.3, 0.4]  # unequal weights of the four losses, so that no error in one hides in the sum


# The formulas, for one prompt e in plain numbers: r and w are the right and the wrong answer, t counts its tokens.


def log_softmax(logs: Sequence[float]) -> list[float]:
    total = math.log(sum(map(math.exp, logs)))
    return [log - total for log in logs]


def sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))


def kl(logs: Sequence[float], others: Sequence[float]) -> float:
    return sum(math.exp(p) * (p - q) for p, q in zip(logs, others, strict=True))


def plain_sft(e: int, v: Rows, s: Rows, t: int) -> float:
    r = RIGHT[e]
    return -(v[e][r] + s[e][r]) / t


def margin(e: int, v: Rows, s: Rows) -> float:
    r, w = RIGHT[e], 1 - RIGHT[e]
    return v[e][r] + s[e][r] - v[e][w] - s[e][w]


def reference_margin(e: int, t: int) -> float:
    return margin(e, REFERENCE_VERDICTS, REFERENCE_ENDS if t == 2 else ZEROS)


def plain_dpo(e: int, v: Rows, s: Rows, t: int) -> float:
    return -math.log(sigmoid(BETA * (margin(e, v, s) - reference_margin(e, t))))


def plain_ipo(e: int, v: Rows, s: Rows, t: int) -> float:
    return ((margin(e, v, s) - reference_margin(e, t)) / t - 1 / (2 * BETA)) ** 2


def plain_simpo(e: int, v: Rows, s: Rows, t: int) -> float:
    return -math.log(sigmoid(BETA * margin(e, v, s) / t - GAMMA))


# KTO's drift is a constant to the gradient, so it is computed once, from the policy as it stands.
DRIFT = sum(kl(log_softmax(p), log_softmax(q)) for p, q in zip(VERDICTS, REFERENCE_VERDICTS, strict=True)) / 4


def plain_kto(e: int, v: Rows, s: Rows, t: int) -> float:
    ends = REFERENCE_ENDS if t == 2 else ZEROS
    reward = [v[e][k] + s[e][k] - REFERENCE_VERDICTS[e][k] - ends[e][k] for k in (0, 1)]
    right, wrong = reward[RIGHT[e]], reward[1 - RIGHT[e]]
    return (1 - sigmoid(BETA * (right - DRIFT)) + 1 - sigmoid(BETA * (DRIFT - wrong))) / 2


def plain_own_c1(e: int, v: Rows, s: Rows, t: int) -> float:
    (anchor,) = (a for a in range(4) if ANCHORS[a] and GROUPS[a] == GROUPS[e])
    return kl(log_softmax(REFERENCE_VERDICTS[anchor]), log_softmax(v[e]))


def plain_own_c1_hard(e: int, v: Rows, s: Rows, t: int) -> float:
    (anchor,) = (a for a in range(4) if ANCHORS[a] and GROUPS[a] == GROUPS[e])
    preferred = max((0, 1), key=lambda k: REFERENCE_VERDICTS[anchor][k])
    return -log_softmax(v[e])[preferred]


def plain_divergence(e: int, v: Rows, s: Rows, t: int) -> float:
    members = [log_softmax(v[m]) for m in range(4) if GROUPS[m] == GROUPS[e]]
    mean = [math.log(sum(math.exp(m[k]) for m in members) / len(members)) for k in (0, 1)]
    return kl(log_softmax(v[e]), mean)


Plain = Callable[[int, Rows, Rows, int], float]
LOSSES: dict[str, tuple[Callable[[Answers], torch.Tensor], Plain]] = {
    "sft": (cross_entropy, plain_sft),
    "dpo": (lambda a: dpo(a, BETA), plain_dpo),
    "ipo": (lambda a: ipo(a, BETA), plain_ipo),
    "simpo": (lambda a: simpo(a, BETA, GAMMA), plain_simpo),
    "kto": (lambda a: kto(a, BETA), plain_kto),
    "own_c1": (lambda a: own_c1(a, hard=False), plain_own_c1),
    "own_c1, hard": (lambda a: own_c1(a, hard=True), plain_own_c1_hard),
    "divergence": (lambda a: divergence_in_groups(a.verdicts, a.groups), plain_divergence),
}


@pytest.mark.parametrize("eos", [False, True], ids=["verdict", "verdict and EOS"])
@pytest.mark.parametrize("name", LOSSES)
def test_a_loss_is_its_formula(name: str, eos: bool) -> None:
    loss, plain = LOSSES[name]
    found = loss(answers(VERDICTS, ENDS if eos else None)).tolist()
    ends, n_tokens = (ENDS, 2) if eos else (ZEROS, 1)
    assert found == pytest.approx([plain(e, VERDICTS, ends, n_tokens) for e in range(4)], abs=1e-12)


@pytest.mark.parametrize("eos", [False, True], ids=["verdict", "verdict and EOS"])
@pytest.mark.parametrize("name", LOSSES)
def test_a_gradient_is_the_slope_of_the_formula(name: str, eos: bool) -> None:
    loss, plain = LOSSES[name]
    verdicts = torch.tensor(VERDICTS, dtype=torch.float64, requires_grad=True)
    ends = torch.tensor(ENDS, dtype=torch.float64, requires_grad=True)
    (loss(answers(verdicts, ends if eos else None)) * torch.tensor(SHARES, dtype=torch.float64)).sum().backward()

    def weighted(v: Rows, s: Rows) -> float:
        return sum(share * plain(e, v, s if eos else ZEROS, 2 if eos else 1) for e, share in enumerate(SHARES))

    def slope(of_ends: bool, e: int, k: int, step: float = 1e-5) -> float:
        values = []
        for signed in (step, -step):
            v, s = [list(row) for row in VERDICTS], [list(row) for row in ENDS]
            (s if of_ends else v)[e][k] += signed
            values.append(weighted(v, s))
        return (values[0] - values[1]) / (2 * step)

    def slopes(of_ends: bool) -> list[list[float]]:
        return [[slope(of_ends, e, k) for k in (0, 1)] for e in range(4)]

    torch.testing.assert_close(verdicts.grad, torch.tensor(slopes(False), dtype=torch.float64), atol=1e-8, rtol=0)
    found = torch.zeros(4, 2, dtype=torch.float64) if ends.grad is None else ends.grad
    torch.testing.assert_close(found, torch.tensor(slopes(True), dtype=torch.float64), atol=1e-8, rtol=0)


# What the methods say at the points that their papers name.


def at_its_base() -> Answers:
    return answers(REFERENCE_VERDICTS, REFERENCE_ENDS)


def test_preferences_start_where_their_papers_say() -> None:
    assert dpo(at_its_base(), BETA).tolist() == pytest.approx([math.log(2)] * 4)
    assert ipo(at_its_base(), BETA).tolist() == pytest.approx([1 / (4 * BETA**2)] * 4)
    assert kto(at_its_base(), BETA).tolist() == pytest.approx([0.5] * 4)


def test_the_drift_of_kto_is_felt_by_all_prompts_but_pulls_at_none() -> None:
    verdicts = torch.tensor(VERDICTS, dtype=torch.float64, requires_grad=True)
    losses = kto(answers(verdicts), BETA)
    (slopes,) = torch.autograd.grad(losses[1], verdicts)
    assert torch.count_nonzero(slopes[1]) == 2
    assert torch.count_nonzero(slopes[[0, 2, 3]]) == 0
    further = kto(answers([[-0.01, -9.0], *VERDICTS[1:]]), BETA)
    assert further[1] != pytest.approx(losses[1].item())


def test_own_c1_rests_where_c1_is_as_the_base_has_it_and_c2_says_the_same() -> None:
    same = [REFERENCE_VERDICTS[anchor] for anchor in (0, 3, 0, 3)]  # anchors of groups 0, 1, 0, 1
    shifted = [[log + shift for log in logs] for logs, shift in zip(same, (0.0, -0.3, -2.0, -0.1), strict=True)]
    verdicts = torch.tensor(shifted, dtype=torch.float64, requires_grad=True)
    losses = own_c1(answers(verdicts), hard=False)
    losses.sum().backward()
    assert losses.tolist() == pytest.approx([0.0] * 4, abs=1e-12)
    assert verdicts.grad is not None
    assert verdicts.grad.abs().max().item() < 1e-12


def test_own_c1_asks_nothing_of_the_labels() -> None:
    turned = own_c1(answers(VERDICTS, right=[1 - right for right in RIGHT]), hard=False)
    assert torch.equal(turned, own_c1(answers(VERDICTS), hard=False))


# A narrator's conversation: four prompts that should agree, four persons to answer with.


def test_a_group_of_four_prompts_with_four_answers_follows_its_anchor_wherever_that_stands() -> None:
    expected = [kl(log_softmax(PERSONS[2]), log_softmax(logs)) for logs in PERSONS]
    assert own_c1(conversation(), hard=False).tolist() == pytest.approx(expected)
    hard = own_c1(conversation(), hard=True).tolist()
    assert hard == pytest.approx([-log_softmax(logs)[2] for logs in PERSONS])
    assert cross_entropy(conversation()).tolist() == pytest.approx([-logs[2] for logs in PERSONS])
