"""Rows in which prompts share what they begin with: every path reads as its sequence does alone."""

from types import SimpleNamespace
from typing import Any

import torch
from hypothesis import given
from hypothesis import strategies as st
from transformers.masking_utils import sliding_window_causal_mask_function

from evenhand.token_trees import Tree, allowed_of, attention_argument, padded_rows, tree_of

PAD = 99
# Few different tokens, so that sequences often begin alike, repeat each other or end inside one another.
SEQUENCES = st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=7), min_size=1, max_size=6)


def prefixes(sequences: list[list[int]]) -> set[tuple[int, ...]]:
    return {tuple(sequence[: end + 1]) for sequence in sequences for end in range(len(sequence))}


@given(SEQUENCES)
def test_every_path_reads_back_its_sequence_from_position_0_on(sequences: list[list[int]]) -> None:
    tree = tree_of(sequences)
    assert [tree.tokens[path].tolist() for path in tree.paths] == sequences
    assert [tree.depths[path].tolist() for path in tree.paths] == [list(range(len(one))) for one in sequences]


@given(SEQUENCES)
def test_a_token_is_laid_out_once_for_all_sequences_that_begin_alike_up_to_it(sequences: list[list[int]]) -> None:
    tree = tree_of(sequences)
    assert len(tree.tokens) == len(tree.reach) == len(tree.depths) == len(prefixes(sequences))
    doubled = tree_of([*sequences, *reversed(sequences)])
    assert doubled.tokens.tolist() == tree.tokens.tolist()
    assert doubled.reach.tolist() == tree.reach.tolist()
    paths = [path.tolist() for path in tree.paths]
    assert [path.tolist() for path in doubled.paths] == [*paths, *reversed(paths)]


def seen_in(tree: Tree, width: int) -> torch.Tensor:
    """(T, T), true on and before each token on its path; padding sees itself."""
    seen = torch.eye(width, dtype=torch.bool)
    for path in tree.paths:
        for end, column in enumerate(path):
            seen[column, path[: end + 1]] = True
    return seen


@given(st.lists(SEQUENCES, min_size=1, max_size=4))
def test_rows_are_padded_on_the_right_and_say_which_tokens_see_which(rows: list[list[list[int]]]) -> None:
    trees = [tree_of(sequences) for sequences in rows]
    batch = padded_rows(trees, PAD)
    width = max(len(tree.tokens) for tree in trees)
    assert {tuple(tensor.shape) for tensor in batch.values()} == {(len(rows), width)}
    for row, tree in enumerate(trees):
        n_tokens = len(tree.tokens)
        assert batch["input_ids"][row].tolist() == tree.tokens.tolist() + [PAD] * (width - n_tokens)
        assert batch["position_ids"][row, :n_tokens].tolist() == tree.depths.tolist()
        if "reach" in batch:
            assert torch.equal(allowed_of(batch["reach"])[row], seen_in(tree, width))
        else:
            assert batch["attention_mask"][row].tolist() == [1] * n_tokens + [0] * (width - n_tokens)
    assert ("reach" in batch) == any(tree.branches for tree in trees) == ("attention_mask" not in batch)


# attention_argument: the mask as a model's forward takes it.

FAMILY = [[5, 6, 7, 8, 9], [5, 6, 7, 1], [5, 2, 3, 4, 0, 1]]
WINDOW = 3


def mask_for(**config: Any) -> Any:
    batch = padded_rows([tree_of(FAMILY), tree_of([[5, 6]])], PAD)
    return attention_argument(SimpleNamespace(**config), batch["reach"], batch["position_ids"], torch.float32)


def expected(window: int | None = None) -> torch.Tensor:
    """(2, 1, T, T): the tokens on the path, and of these the `window` nearest, as transformers defines a window."""
    trees = [tree_of(FAMILY), tree_of([[5, 6]])]
    width = len(trees[0].tokens)
    seen = torch.eye(width, dtype=torch.bool).repeat(2, 1, 1, 1)
    sees = sliding_window_causal_mask_function(window or 100)
    for row, tree in enumerate(trees):
        for path in tree.paths:
            for q, query in enumerate(path):
                for kv, key in enumerate(path):
                    seen[row, 0, query, key] = bool(sees(0, 0, torch.tensor(q), torch.tensor(kv)))
    return seen


def test_a_model_without_a_window_gets_the_mask_itself() -> None:
    for config in ({}, {"sliding_window": None}, {"sliding_window": WINDOW, "layer_types": ["full_attention"] * 2}):
        assert torch.equal(mask_for(_attn_implementation="flex", **config), expected())


def test_a_model_with_a_window_in_every_layer_gets_the_near_tokens() -> None:
    assert torch.equal(mask_for(_attn_implementation="flex", sliding_window=WINDOW), expected(WINDOW))
    assert not torch.equal(expected(WINDOW), expected())


def test_a_model_of_both_kinds_gets_a_mask_for_each_also_where_its_text_model_says_so() -> None:
    text = {"sliding_window": WINDOW, "layer_types": ["sliding_attention", "full_attention"]}
    for config in (text, {"text_config": SimpleNamespace(**text)}):
        masks = mask_for(**config)
        assert set(masks) == {"full_attention", "sliding_attention"}
        assert torch.equal(masks["full_attention"], expected())
        assert torch.equal(masks["sliding_attention"], expected(WINDOW))
