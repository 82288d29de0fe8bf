"""Examples of a micro-batch in rows: few, of nearly equal width, with what begins alike side by side."""

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.made.made_examples import example
from training import packing, trees
from training.batches import Collator
from training.examples import Example
from training.packing import Packing, packed
from training.trees import common, tree_of

PROMPTS = st.lists(st.lists(st.integers(0, 3), min_size=1, max_size=9), min_size=1, max_size=12)


def widths(prompts: list[list[int]], rows: list[list[int]]) -> list[int]:
    return [len(tree_of([prompts[number] for number in row]).tokens) for row in rows]


@given(PROMPTS, st.integers(1, 30))
def test_every_prompt_is_in_one_row_and_no_row_is_too_wide(prompts: list[list[int]], row_tokens: int) -> None:
    rows = packed(prompts, [0] * len(prompts), row_tokens)
    assert sorted(number for row in rows for number in row) == list(range(len(prompts)))
    assert max(widths(prompts, rows)) <= max(row_tokens, *map(len, prompts))


@given(PROMPTS, st.integers(1, 30))
def test_the_branches_behind_a_prompt_take_room_as_well(prompts: list[list[int]], row_tokens: int) -> None:
    rows = packed(prompts, [5] * len(prompts), row_tokens)
    longest = max(map(len, prompts)) + 5
    for row, width in zip(rows, widths(prompts, rows), strict=True):
        assert width + 5 * len(row) <= max(row_tokens, longest)


def dialogues(n: int, seed: int) -> list[list[int]]:
    """Prompts with instructions in common, otherwise of 60 to 460 tokens of their own."""
    draw = random.Random(seed)
    return [[1] * 60 + [draw.randrange(2, 9999) for _ in range(draw.randrange(60, 460))] for _ in range(n)]


@pytest.mark.parametrize(("n", "row_tokens"), [(16, 8192), (16, 2048), (16, 4096), (64, 8192)])
def test_next_to_nothing_is_padded(n: int, row_tokens: int) -> None:
    """Rows filled one after the other were padded by 20 % and more where the last holds few."""
    total = Packing(alone=0, needed=0, computed=0)
    for seed in range(20):
        collator = Collator(pad=0, branches="none", row_tokens=row_tokens)
        total += collator.packing([[example(prompt)] for prompt in dialogues(n, seed)])
    assert total.padded <= 1.02
    assert total.saved > 0.1


def test_prompts_with_much_in_common_stay_together() -> None:
    """Three items of four prompts in two rows: one item at most is torn apart, whatever the order they come in."""
    items = [[item] * 40 + [item, framing] * 5 for item in (5, 6, 7) for framing in range(4)]
    for seed in range(5):
        mixed = random.Random(seed).sample(items, len(items))
        rows = packed(mixed, [0] * len(mixed), 150)
        assert len(rows) == 2
        assert sum(widths(mixed, rows)) <= 3 * (40 + 4 * 10) + 50


def test_the_gain_of_the_tree_is_what_of_all_tokens_need_not_be_computed() -> None:
    examples: list[Example] = [example([5, 6, 7], end=(1,)), example([5, 6, 8, 9], end=(1,))]
    of_one_row = Collator(pad=0, branches="all", row_tokens=9).packing([examples])
    # two answers behind each of 5 6 7 and 5 6 8 9: four sequences of 4, 4, 5 and 5 tokens, nine columns
    assert of_one_row == Packing(alone=18, needed=9, computed=9)
    assert (of_one_row.padded, of_one_row.saved) == (1.0, 0.5)
    apart = Collator(pad=0, branches="all").packing([examples])
    assert apart == Packing(alone=18, needed=5 + 6, computed=2 * 6)


@pytest.mark.parametrize("row_tokens", [8192, 1 << 20])
@pytest.mark.parametrize("n_prompts", [10, 100, 1000])
def test_rows_are_made_in_time_by_their_tokens(
    n_prompts: int, row_tokens: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """10^3, 10^4 and 10^5 tokens: how often a token is looked at does not hang on how many there are."""
    looked_at = []

    def counting(one: np.ndarray, other: np.ndarray) -> int:
        looked_at.append(min(len(one), len(other)))
        return common(one, other)

    monkeypatch.setattr(trees, "common", counting)
    monkeypatch.setattr(packing, "common", counting)
    draw = random.Random(n_prompts)
    bundles = [[example([draw.randrange(50) for _ in range(100)])] for _ in range(n_prompts)]
    batch = Collator(pad=0, branches="none", row_tokens=row_tokens)(bundles)
    n_tokens = 100 * n_prompts
    assert sum(looked_at) <= (2 + packing.ORDERS) * n_tokens
    assert max(tensor.numel() for tensor in batch.values()) <= 1.1 * n_tokens
