"""Which examples train together, and what a microbatch holds: read back from its own tensors."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from evenhand.errors import ConfigError
from evenhand.token_trees import allowed_of
from tests.made.made_examples import ACCEPT, EOS, PAD, REJECT, TALKS, example
from tests.made.training_runs import tiny_run
from training import batches
from training.batches import Collator, LogProbs, endless, groups_of, schedule
from training.objectives import NEVER


def run_of(n_processes=1, accumulation=4, size=4, **optimiser):
    keys = {
        "n_processes": n_processes,
        "gradient_accumulation_steps": accumulation,
        "per_device_batch_size": size,
        "max_steps": None,
    }
    return tiny_run(optimiser={**keys, **optimiser})


def single_groups(n):
    """n groups of one example each; lengths come in no order."""
    return [[example([9] * (1 + 7 * number % 11), item_id=str(number))] for number in range(n)]


def steps_of(plan, config):
    """The microbatches of each optimiser step."""
    n_micro = config.optimiser.gradient_accumulation_steps * config.optimiser.n_processes
    cut = plan.microbatches
    return [cut[start : start + n_micro] for start in range(0, len(cut), n_micro)]


def members(step):
    return [index for microbatch in step for index in microbatch]


@given(
    n=st.integers(1, 60),
    n_processes=st.integers(1, 3),
    accumulation=st.integers(1, 4),
    size=st.integers(1, 4),
    epochs=st.floats(0.3, 3.2),
)
def test_epochs_follow_each_other_and_only_a_last_step_too_small_is_left_out(
    n, n_processes, accumulation, size, epochs
):
    config = run_of(n_processes, accumulation, size, epochs=epochs)
    in_step, wanted = n_processes * accumulation * size, round(epochs * n)
    dropped = wanted % in_step if wanted % in_step < n_processes else 0
    if wanted == dropped:
        with pytest.raises(ConfigError, match=r"optimiser\.epochs: .* make no step"):
            schedule(single_groups(n), config)
        return
    plan = schedule(single_groups(n), config)
    steps = steps_of(plan, config)
    assert [len(members(step)) for step in steps[:-1]] == [in_step] * (len(steps) - 1)
    assert sum(len(members(step)) for step in steps) == wanted - dropped
    assert plan.epochs == pytest.approx((wanted - dropped) / n)
    assert len(plan.microbatches) % n_processes == 0, "each process has as many as the others"
    for step in steps:
        sizes = [len(microbatch) for microbatch in step]
        assert sizes == sorted(sizes, reverse=True), "of unequal microbatches the larger hold the shorter examples"
        assert sizes[0] - sizes[-1] <= 1
        assert 0 < sizes[-1] <= sizes[0] <= max(size, 2 if step is steps[-1] else 1)
    order = endless(n, wanted, config.optimiser.seed)
    assert [sorted(members(step)) for step in steps] == [
        sorted(order[start : start + in_step]) for start in range(0, wanted - dropped, in_step)
    ]


@given(st.integers(1, 40), st.integers(0, 130), st.integers(0, 5))
def test_every_number_comes_once_before_any_comes_again(n, wanted, seed):
    order = endless(n, wanted, seed)
    assert len(order) == wanted
    for start in range(0, wanted, n):
        epoch = order[start : start + n]
        assert len(set(epoch)) == len(epoch)
        assert set(epoch) <= set(range(n))


def items(n, n_conditions=4):
    """Examples of n items, the items' conditions not side by side."""
    return [
        example([9] * (condition + number % 3 + 1), item_id=f"item-{number}", condition=str(condition))
        for condition in range(n_conditions)
        for number in range(n)
    ]


def test_whole_items_stay_together_and_count_as_their_examples():
    examples = items(10)
    groups = groups_of(examples, "item")
    assert [{e.item_id for e in group} for group in groups] == [{f"item-{number}"} for number in range(10)]
    assert [len(group) for group in groups] == [4] * 10
    plan = schedule(groups, run_of(1, 2, 8, batch_by="item"))
    assert [len(microbatch) for microbatch in plan.microbatches] == [2, 2, 2, 2, 1, 1], "two items make 8 examples"
    assert groups_of(examples, "random") == [[e] for e in examples]


def seen_from(batch, row, column):
    """The tokens that a token reads, itself last, in the order of their positions."""
    causal = torch.arange(batch["input_ids"].shape[1]) <= column
    seen = allowed_of(batch["reach"])[row, column] if "reach" in batch else causal
    columns = sorted(seen.nonzero()[:, 0].tolist(), key=lambda c: int(batch["position_ids"][row, c]))
    assert [int(batch["position_ids"][row, c]) for c in columns] == list(range(len(columns)))
    return [int(batch["input_ids"][row, c]) for c in columns]


def read_back(batch):
    """What a batch says of each example: its prompt, and the answers behind which one token is scored with theirs."""
    read = [(seen_from(batch, *at), {}) for at in batch["at"].tolist()]
    for of, place in zip(batch["rest_of"].tolist(), batch["rest_at"].tolist(), strict=True) if "rest" in batch else ():
        number, k = divmod(of, batch["choices"].shape[1])
        read[number][1][k] = seen_from(batch, *place)
    return read


TREE = [
    [example([5, 6, 7], end=(EOS,), group="a"), example([5, 6, 8, 9], end=(EOS,), right=1, group="b")],
    [example([5, 6, 7, 7, 7], end=(EOS,), group="a", is_anchor=True)],
    [example([5, 4], end=(EOS,), right=1, group="c"), example([5, 4], end=(EOS,), group="c")],  # one prompt twice
]
FLAT = [e for group in TREE for e in group]


@pytest.mark.parametrize("row_tokens", [0, 2048])
@pytest.mark.parametrize("branches", ["none", "right", "all"])
def test_the_places_of_a_batch_read_back_the_prompts_and_the_answers_that_are_scored(branches, row_tokens):
    asked = {"none": lambda _: (), "right": lambda e: (e.right,), "all": lambda _: (0, 1)}[branches]
    batch = Collator(pad=PAD, branches=branches, row_tokens=row_tokens)(TREE)
    assert read_back(batch) == [
        (list(e.prompt_ids), {k: [*e.prompt_ids, e.choices[k]] for k in asked(e)}) for e in FLAT
    ]
    assert len(batch["input_ids"]) == (1 if row_tokens else len(FLAT))
    assert batch["choices"].tolist() == [[ACCEPT, REJECT]] * 5
    assert batch["right"].tolist() == [0, 1, 0, 1, 0]
    assert batch["groups"].tolist() == [0, 1, 0, 2, 2]
    assert batch["anchors"].tolist() == [False, False, True, False, False]
    if branches != "none":
        assert batch["rest"].tolist() == [EOS] * (10 if branches == "all" else 5)


@pytest.mark.parametrize(
    ("row_tokens", "rows", "width"),
    # as many rows as are needed, and no wider than they must be: 5 6 7 7 7, 5 6 8 9 and 5 4 with what they share
    [(5, [0, 1, 0, 1, 1], 5), (7, [0, 1, 0, 1, 1], 5), (8, [0, 0, 0, 0, 0], 8)],
)
def test_examples_share_a_row_while_it_has_no_more_tokens_than_it_may(row_tokens, rows, width):
    batch = Collator(pad=PAD, branches="none", row_tokens=row_tokens)(TREE)
    first = batch["at"][0, 0].item()
    assert [int(row != first) for row in batch["at"][:, 0].tolist()] == rows
    assert batch["input_ids"].shape == (max(rows) + 1, width)
    assert [prompt for prompt, _ in read_back(batch)] == [list(e.prompt_ids) for e in FLAT]


@pytest.mark.parametrize(
    ("square", "shape"), [(math.inf, (1, 260)), (8192.0, (1, 260)), (400.0, (2, 140)), (100.0, (4, 80))]
)
def test_on_a_gpu_a_row_is_cut_where_its_pairs_cost_more_than_what_is_torn_apart(square, shape, monkeypatch):
    """Prompts of 80 tokens of which 20 are shared. 260 (1 + 260/400) is more than 2 x 140 (1 + 140/400)."""
    monkeypatch.setitem(batches.SQUARE, "cuda", square)
    prompts = [example([*range(20), *range(n, n + 60)]) for n in (100, 200, 300, 400)]
    batch = Collator(pad=PAD, branches="none", row_tokens=2048, device="cuda")([prompts])
    assert batch["input_ids"].shape == shape
    assert [prompt for prompt, _ in read_back(batch)] == [list(e.prompt_ids) for e in prompts]


@pytest.mark.parametrize("row_tokens", [0, 9, 2048])
def test_a_microbatch_says_which_answers_a_prompt_does_not_have(row_tokens):
    examples = [e for group in TALKS for e in group]
    known = {e: LogProbs(tuple(-1.0 - k for k in range(len(e.choices))), (-2.0,) * len(e.choices)) for e in examples}
    batch = Collator(pad=PAD, branches="none", row_tokens=row_tokens, reference=known)(TALKS)
    for number, e in enumerate(examples):
        n_choices = len(e.choices)
        assert batch["choices"][number, :n_choices].tolist() == list(e.choices)
        assert batch["padded"][number].tolist() == [False] * n_choices + [True] * (4 - n_choices)
        assert batch["reference_verdicts"][number].tolist() == [*known[e].verdicts, *[NEVER] * (4 - n_choices)]
        assert batch["reference"][number].tolist() == [*known[e].totals, *[NEVER] * (4 - n_choices)]
    assert batch["groups"].tolist() == [number for number, group in enumerate(TALKS) for _ in group]
    assert "padded" not in Collator(pad=PAD, branches="none")([TALKS[1]])
