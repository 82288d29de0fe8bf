"""The losses: each against its formula in plain numbers, its gradient against finite differences, laws, chance."""

import math
from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.made.made_examples import TALKS, example
from tests.made.training_runs import tiny_run
from training.batches import padded_logs
from training.objectives import (
    Answers,
    cross_entropy,
    divergence_in_groups,
    label_free,
    label_free_chance,
    objective_of,
)
from training.reference import chance_of

# Four prompts with two answers: log-probabilities over the vocabulary, of the verdict and of EOS behind it.
VERDICTS = [[-0.4, -1.3], [-2.0, -0.2], [-0.9, -0.7], [-3.1, -0.05]]
ENDS = [[-0.1, -0.6], [-0.3, -0.02], [-1.5, -0.4], [-0.2, -0.9]]
ZEROS = [[0.0, 0.0]] * 4
REFERENCE_VERDICTS = [[-0.5, -1.0], [-1.1, -0.5], [-0.3, -1.6], [-0.6, -1.0]]
REFERENCE_ENDS = [[-0.2, -0.3], [-0.7, -0.1], [-0.4, -0.8], [-0.05, -0.3]]
RIGHT = [0, 1, 1, 0]
GROUPS = [0, 1, 0, 1]
ANCHORS = [True, False, False, True]
WHOLE = {"right": RIGHT, "groups": GROUPS, "anchors": ANCHORS}
BETA = 0.3
WEIGHT = 0.7


def answers(verdicts, ends=None, **others):
    """Answers of the prompts above where nothing else is said, in float64 or as the verdicts are."""
    dtype = verdicts.dtype if isinstance(verdicts, torch.Tensor) else torch.float64
    base = torch.tensor(REFERENCE_VERDICTS, dtype=dtype)
    ends_of_base = torch.tensor(REFERENCE_ENDS, dtype=dtype)
    logs = {
        "verdicts": verdicts,
        "reference_verdicts": base,
        "reference": base if ends is None else base + ends_of_base,
    }
    logs |= {name: others.pop(name) for name in logs if name in others}
    return Answers(
        **{name: torch.as_tensor(rows, dtype=dtype) for name, rows in logs.items()},
        rest=None if ends is None else torch.as_tensor(ends, dtype=dtype),
        n_tokens=1 if ends is None else 2,
        **{name: torch.tensor(others.get(name, given)) for name, given in WHOLE.items()},
    )


def log_softmax(logs):
    total = math.log(sum(map(math.exp, logs)))
    return [log - total for log in logs]


def sigmoid(x):
    return 1 / (1 + math.exp(-x))


def kl(logs, others):
    return sum(math.exp(p) * (p - q) for p, q in zip(logs, others, strict=True))


def plain_sft(e, v, s, t):
    r = RIGHT[e]
    return -(v[e][r] + s[e][r]) / t


def margin(e, v, s):
    r, w = RIGHT[e], 1 - RIGHT[e]
    return v[e][r] + s[e][r] - v[e][w] - s[e][w]


def reference_margin(e, t):
    return margin(e, REFERENCE_VERDICTS, REFERENCE_ENDS if t == 2 else ZEROS)


def plain_dpo(e, v, s, t):
    return -math.log(sigmoid(BETA * (margin(e, v, s) - reference_margin(e, t))))


def plain_label_free(e, v, s, t):
    (anchor,) = (a for a in range(4) if ANCHORS[a] and GROUPS[a] == GROUPS[e])
    return kl(log_softmax(REFERENCE_VERDICTS[anchor]), log_softmax(v[e]))


def plain_divergence(e, v, s, t):
    members = [log_softmax(v[m]) for m in range(4) if GROUPS[m] == GROUPS[e]]
    mean = [math.log(sum(math.exp(m[k]) for m in members) / len(members)) for k in (0, 1)]
    return kl(log_softmax(v[e]), mean)


def plain_paired(e, v, s, t):
    return plain_sft(e, v, s, t) + WEIGHT * plain_divergence(e, v, s, t)


def loss_of(method, **keys):
    return objective_of(tiny_run(method, optimiser={"batch_by": "item"}, **keys)).loss


LOSSES = {
    "sft": (loss_of("sft"), plain_sft),
    "dpo": (loss_of("dpo", beta=BETA), plain_dpo),
    "paired": (loss_of("paired", paired={"weight": WEIGHT}), plain_paired),
    "label_free": (loss_of("label_free"), plain_label_free),
    "divergence": (lambda a: divergence_in_groups(a.verdicts, a.groups), plain_divergence),
}


@pytest.mark.parametrize("eos", [False, True], ids=["verdict", "verdict and EOS"])
@pytest.mark.parametrize("name", LOSSES)
def test_a_loss_is_its_formula_and_its_gradient_the_slope(name, eos):
    loss, plain = LOSSES[name]
    verdicts = torch.tensor(VERDICTS, dtype=torch.float64, requires_grad=True)
    ends = torch.tensor(ENDS, dtype=torch.float64, requires_grad=True)
    all_ends, n_tokens = (ENDS, 2) if eos else (ZEROS, 1)

    def losses(v, s):
        return loss(answers(v, s if eos else None))

    expected = [plain(e, VERDICTS, all_ends, n_tokens) for e in range(4)]
    assert losses(verdicts, ends).tolist() == pytest.approx(expected, abs=1e-12)
    assert torch.autograd.gradcheck(losses, (verdicts, ends))


@st.composite
def group_of_prompts(draw):
    """(members, K) log-probabilities, of 1 to 4 members and 2 to 4 answers."""
    row = [st.floats(-30.0, 0.0)] * draw(st.integers(2, 4))
    rows = draw(st.lists(st.tuples(*row), min_size=1, max_size=4))
    return torch.tensor(rows, dtype=torch.float64)


@given(group_of_prompts(), st.data())
def test_the_label_free_target_is_the_mean_of_the_probabilities_that_the_base_gives_at_the_anchors(base, data):
    """Of two groups whose prompts alternate; the other group's anchors have no part in it."""
    is_anchor = data.draw(st.lists(st.booleans(), min_size=len(base), max_size=len(base)).filter(any))
    rows = torch.stack([base, base.flip(-1)], dim=1).flatten(0, 1)
    judge = answers(
        rows.flip(0),
        reference_verdicts=rows,
        groups=[0, 1] * len(base),
        anchors=[anchor for anchor in is_anchor for _ in range(2)],
        right=[0] * len(rows),
    )
    target = base.softmax(-1)[is_anchor].mean(0)
    targets = torch.stack([target, target.flip(-1)] * len(base))
    policy = judge.verdicts.log_softmax(-1)
    torch.testing.assert_close(label_free(judge), (targets * (targets.log() - policy)).sum(-1))


def jensen_shannon(group):
    return divergence_in_groups(group, torch.zeros(len(group), dtype=torch.long)).mean().item()


@given(group_of_prompts())
def test_the_divergence_is_0_exactly_where_all_members_agree_and_at_most_the_log_of_their_number(group):
    assert jensen_shannon(group) <= math.log(min(group.shape)) + 1e-12  # or of the answers', where those are fewer
    assert jensen_shannon(group[:1].expand(len(group), -1)) == pytest.approx(0, abs=1e-12)
    probabilities = group.softmax(-1)
    apart = (probabilities - probabilities.mean(0)).abs().max().item()
    # Pinsker: KL is at least twice the square of any one probability's distance.
    assert jensen_shannon(group) >= 2 * apart**2 / len(group) - 1e-12


@pytest.mark.parametrize(
    ("verdicts", "expected"),
    [([[0.0, -200.0], [-200.0, 0.0]], math.log(2)), ([[0.0, -200.0], [0.0, -150.0]], 0.0)],
    ids=["opposite", "alike"],
)
def test_the_divergence_of_certain_verdicts_is_finite_with_its_gradient(verdicts, expected):
    logs = torch.tensor(verdicts, requires_grad=True)  # float32, where exp(-200) is 0
    losses = divergence_in_groups(logs, torch.tensor([0, 0]))
    losses.sum().backward()
    assert losses.tolist() == pytest.approx([expected] * 2, abs=1e-7)
    assert logs.grad is not None
    assert torch.isfinite(logs.grad).all()


@pytest.mark.parametrize("eos", [False, True], ids=["verdict", "verdict and EOS"])
@pytest.mark.parametrize("method", ["sft", "dpo"])
def test_chance_is_the_loss_of_a_uniform_guesser_and_slope_what_a_nat_of_the_margin_takes_off_it(method, eos):
    config = tiny_run(method, examples={"loss_on_eos": eos})
    objective, chance = objective_of(config), chance_of(config, [example([5], end=(9,) if eos else ())], None, 0)
    coin = [[math.log(0.5)] * 2] * 4

    def loss(gain):
        """Of judges with that margin, in nats, for the right answer."""
        verdicts = torch.tensor(coin, dtype=torch.float64)
        verdicts[torch.arange(4), torch.tensor(RIGHT)] += gain
        ends = ZEROS if objective.branches != "none" else None
        judge = answers(verdicts.log_softmax(-1), ends, reference=coin, reference_verdicts=coin)
        return objective.loss(judge).mean().item()

    assert loss(0) == pytest.approx(chance.loss, rel=1e-6)
    assert (loss(-1e-3) - loss(1e-3)) / 2e-3 == pytest.approx(chance.slope, rel=1e-3)


def test_label_free_chance_is_the_larger_loss_of_a_coin_and_of_the_base_itself():
    for c1, c2, worst in ((3.0, 2.9, "coin"), (0.1, -3.0, "base")):
        rows = [[c1 / 2, -c1 / 2], [c2 / 2, -c2 / 2]]
        base = answers(rows, reference_verdicts=rows, groups=[0, 0], anchors=[True, False], right=[0, 0])
        coin = replace(base, verdicts=torch.zeros_like(base.verdicts))
        judge = coin if worst == "coin" else base
        assert label_free_chance(base) == pytest.approx(label_free(judge).mean().item() + 0.02)


@st.composite
def unequal_groups(draw):
    """Groups of prompts, each group with its own number of answers: log-probabilities."""
    groups = []
    for n_choices in draw(st.lists(st.integers(2, 6), min_size=2, max_size=4)):
        row = st.lists(st.floats(-30.0, 0.0), min_size=n_choices, max_size=n_choices)
        groups.append(draw(st.lists(row, min_size=1, max_size=5)))
    return groups


def in_groups(verdicts, numbers, base):
    """Right is each prompt's second answer, the anchor each group's first prompt."""
    anchors = [place == 0 or numbers[place - 1] != number for place, number in enumerate(numbers)]
    keys = {"right": [1] * len(numbers), "groups": numbers, "anchors": anchors}
    return answers(verdicts, reference=base, reference_verdicts=base, **keys)


@pytest.mark.parametrize("name", ["sft", "divergence", "label_free"])
@given(groups=unequal_groups(), dtype=st.sampled_from([torch.float32, torch.float64]))
def test_groups_of_unequal_size_have_the_losses_and_gradients_that_each_has_alone(name, groups, dtype):
    loss, at = LOSSES[name][0], 0
    rows = [row for group in groups for row in group]
    numbers = [number for number, group in enumerate(groups) for _ in group]
    together = padded_logs(rows).to(dtype).requires_grad_()
    found = loss(in_groups(together, numbers, padded_logs([row[::-1] for row in rows])))
    found.sum().backward()
    assert together.grad is not None
    for group in groups:
        alone = torch.tensor(group, dtype=dtype, requires_grad=True)
        expected = loss(in_groups(alone, [0] * len(group), torch.tensor([row[::-1] for row in group])))
        expected.sum().backward()
        members, n_choices = slice(at, at + len(group)), len(group[0])
        torch.testing.assert_close(found[members], expected, rtol=1e-5, atol=1e-5)
        torch.testing.assert_close(together.grad[members, :n_choices], alone.grad, rtol=1e-5, atol=1e-5)
        assert torch.count_nonzero(together.grad[members, n_choices:]) == 0
        assert torch.count_nonzero(together.softmax(-1)[members, n_choices:]) == 0, "exactly 0"
        at += len(group)


def test_chance_and_slope_of_prompts_with_unequally_many_answers_are_the_means_of_their_own():
    examples = [example for group in TALKS for example in group]
    chance = chance_of(tiny_run(study="narrator"), examples, None, 0)
    assert chance_of(tiny_run("bct", examples={"replies": "r"}), examples, None, 49_152).loss == math.log(49_152)
    coin = padded_logs([[-math.log(len(e.choices))] * len(e.choices) for e in examples]).double()
    right = torch.tensor([e.right for e in examples])

    def loss(gain):
        verdicts = coin.clone()
        verdicts[torch.arange(len(right)), right] += gain
        return cross_entropy(answers(verdicts.log_softmax(-1), right=right.tolist())).mean().item()

    assert loss(0) == pytest.approx(chance.loss, rel=1e-6)
    assert chance.loss == pytest.approx((3 * math.log(2) + 5 * math.log(4) + 4 * math.log(3)) / 12)
    assert (loss(-1e-3) - loss(1e-3)) / 2e-3 == pytest.approx(chance.slope, rel=1e-3)
    assert chance.accuracy == pytest.approx((3 / 2 + 5 / 4 + 4 / 3) / 12)
