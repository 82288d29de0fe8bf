"""Examples of a microbatch in rows: few, of nearly equal width, with what begins alike side by side."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenhand.token_trees import tree_of
from tests.made.made_examples import example
from training.batches import Collator
from training.packing import Packing, packed

PROMPTS = st.lists(st.lists(st.integers(0, 3), min_size=1, max_size=9), min_size=1, max_size=12)


def widths(prompts: list[list[int]], rows: list[list[int]]) -> list[int]:
    return [len(tree_of([prompts[number] for number in row]).tokens) for row in rows]


@given(PROMPTS, st.integers(1, 30))
def test_every_prompt_is_in_one_row_and_no_row_is_too_wide(prompts: list[list[int]], row_tokens: int) -> None:
    rows = packed(prompts, [0] * len(prompts), row_tokens)
    assert sorted(number for row in rows for number in row) == list(range(len(prompts)))
    assert max(widths(prompts, rows)) <= max(row_tokens, *map(len, prompts))


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
