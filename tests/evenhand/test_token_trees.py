"""Rows in which prompts share what they begin with: each path reads, and attends, as its sequence does alone."""

from types import SimpleNamespace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from transformers.masking_utils import sliding_window_causal_mask_function
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS
from transformers.models.gemma3.modeling_gemma3 import eager_attention_forward

from evenhand import token_trees as seen_columns
from evenhand.token_trees import (
    IN_FLOAT32,
    SEEN_COLUMNS,
    allowed_of,
    attend,
    attend_to_seen_columns,
    attention_argument,
    padded_rows,
    tree_of,
)
from tests.made.one_batch import adapted, byte_model
from tests.made.training_runs import tiny_run

PAD = 99
# Few different tokens, so that sequences often begin alike, repeat each other or end inside one another.
SEQUENCES = st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=7), min_size=1, max_size=6)


def prefixes(sequences):
    return {tuple(sequence[: end + 1]) for sequence in sequences for end in range(len(sequence))}


@given(SEQUENCES)
def test_every_path_reads_back_its_sequence_and_a_token_is_laid_out_once_for_all_that_begin_alike(sequences):
    tree = tree_of(sequences)
    assert [tree.tokens[path].tolist() for path in tree.paths] == sequences
    assert [tree.depths[path].tolist() for path in tree.paths] == [list(range(len(one))) for one in sequences]
    assert len(tree.tokens) == len(tree.reach) == len(tree.depths) == len(prefixes(sequences))
    doubled = tree_of([*sequences, *reversed(sequences)])
    assert doubled.tokens.tolist() == tree.tokens.tolist()
    assert doubled.reach.tolist() == tree.reach.tolist()
    paths = [path.tolist() for path in tree.paths]
    assert [path.tolist() for path in doubled.paths] == [*paths, *reversed(paths)]


def seen_in(tree, width, window=100):
    """(T, T), true on and before each token on its path, within a window as transformers has it; padding: itself."""
    sees, seen = sliding_window_causal_mask_function(window), torch.eye(width, dtype=torch.bool)
    for path in tree.paths:
        places = torch.arange(len(path))
        seen[path[:, None], path] = sees(0, 0, places[:, None], places)
    return seen


@given(st.lists(SEQUENCES, min_size=1, max_size=4))
def test_rows_are_padded_on_the_right_and_say_which_tokens_see_which(rows):
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


def mask_for(**config):
    batch = padded_rows([tree_of(FAMILY), tree_of([[5, 6]])], PAD)
    return attention_argument(SimpleNamespace(**config), batch["reach"], batch["position_ids"], torch.float32)


def expected(*window):
    """(2, 1, T, T) of both rows."""
    trees = [tree_of(FAMILY), tree_of([[5, 6]])]
    return torch.stack([seen_in(tree, len(trees[0].tokens), *window) for tree in trees])[:, None]


def test_a_model_gets_the_mask_itself_and_with_a_window_in_every_layer_the_near_tokens():
    for config in ({}, {"sliding_window": None}, {"sliding_window": WINDOW, "layer_types": ["full_attention"] * 2}):
        assert torch.equal(mask_for(_attn_implementation="flex", **config), expected())
    assert torch.equal(mask_for(_attn_implementation="flex", sliding_window=WINDOW), expected(WINDOW))
    assert not torch.equal(expected(WINDOW), expected())


def test_a_model_of_both_kinds_gets_a_mask_for_each_also_where_its_text_model_says_so():
    text = {"sliding_window": WINDOW, "layer_types": ["sliding_attention", "full_attention"]}
    for config in (text, {"text_config": SimpleNamespace(**text)}):
        masks = mask_for(**config)
        assert set(masks) == {"full_attention", "sliding_attention"}
        assert torch.equal(masks["full_attention"], expected())
        assert torch.equal(masks["sliding_attention"], expected(WINDOW))


ROWS = [[[1, 2, 3, 4], [1, 2, 5], [1, 6, 7, 8, 9]], [[1, 2, 3, 4, 5, 6]]]


class Layer(torch.nn.Module):
    num_key_value_groups = 3


def tensors(width, dtype):
    generator = torch.Generator().manual_seed(0)
    return [
        torch.randn(len(ROWS), heads, width, 8, generator=generator).to(dtype).requires_grad_() for heads in (6, 2, 2)
    ]


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("softcap", [None, 2.0])
@pytest.mark.parametrize("chunk", [(4, 4), (4, 2), (160, 48)])  # at most, and to end with a branch
def test_attention_and_its_gradients_are_those_of_eager(chunk, softcap, dtype, monkeypatch):
    for name, n in zip(("CHUNK", "LEAST"), chunk, strict=True):
        monkeypatch.setattr(seen_columns, name, n)
    allowed = allowed_of(padded_rows([tree_of(row) for row in ROWS], pad=0)["reach"])[:, None]
    added = torch.zeros(allowed.shape, dtype=dtype).masked_fill(~allowed, torch.finfo(dtype).min)
    found = []
    for function, mask in ((attend, allowed), (eager_attention_forward, added)):
        inputs = tensors(allowed.shape[-1], dtype)
        output, _ = function(Layer(), *inputs, mask, scaling=0.3, softcap=softcap)
        output.square().sum().backward()
        found.append([output, *(tensor.grad for tensor in inputs)])
    exact = {"rtol": 1e-5, "atol": 1e-5} if dtype == torch.float32 else {"rtol": 0.05, "atol": 0.05}
    for ours, eager in zip(*found, strict=True):
        torch.testing.assert_close(ours, eager, **exact)


def test_in_bf16_its_scores_can_be_float32():
    """Where all keys have much in common, as Qwen2.5's have, scores are large, and bf16 knows no difference of them."""
    query, key, value = (tensor.detach() for tensor in tensors(9, torch.bfloat16))
    query[..., 0], key[..., 0] = 30, 20
    mask = torch.ones(9, 9, dtype=torch.bool).tril().expand(2, 1, 9, 9)
    exact, _ = attend(Layer(), query.float(), key.float(), value.float(), mask)
    attend_to_seen_columns(SimpleNamespace(_supports_sdpa=True, set_attn_implementation=str))  # registers both kinds
    rounded, close = (
        ALL_ATTENTION_FUNCTIONS[kind](Layer(), query, key, value, mask)[0] for kind in (SEEN_COLUMNS, IN_FLOAT32)
    )
    assert close.dtype == rounded.dtype == torch.bfloat16
    assert (close - exact).abs().max() < 0.03 < 0.1 < (rounded - exact).abs().max()


@pytest.mark.parametrize("family", ["llama", "gemma3", "qwen2", "mistral"])
def test_a_base_on_cpu_takes_it_and_reads_padded_rows_as_with_eager(family, tmp_path):
    config = tiny_run("sft", byte_model(tmp_path, family), tmp_path)
    models = [adapted(tmp_path, config, kind).eval() for kind in (None, "eager")]
    assert [model.config._attn_implementation for model in models] == [SEEN_COLUMNS, "eager"]
    ids = torch.randint(3, 200, (2, 150), generator=torch.Generator().manual_seed(0))
    for padded in (slice(0, 140), slice(145, 150)):
        mask = torch.ones_like(ids)
        mask[1, padded] = 0
        with torch.no_grad():
            ours, eager = (model(input_ids=ids, attention_mask=mask).logits[mask.bool()] for model in models)
        torch.testing.assert_close(ours, eager, rtol=1e-4, atol=1e-4)
