"""Attention over the columns that are seen gives what transformers' eager attention gives, and so do its gradients."""

from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from torch import Tensor
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS
from transformers.models.gemma3.modeling_gemma3 import eager_attention_forward

from evenhand import token_trees as seen_columns
from evenhand.token_trees import (
    IN_FLOAT32,
    SEEN_COLUMNS,
    allowed_of,
    attend,
    attend_to_seen_columns,
    blocks_of,
    padded_rows,
    tree_of,
)
from tests.made.one_batch import adapted, byte_model
from tests.made.training_runs import tiny_run

ROWS = [[[1, 2, 3, 4], [1, 2, 5], [1, 6, 7, 8, 9]], [[1, 2, 3, 4, 5, 6]]]


class Layer(torch.nn.Module):
    num_key_value_groups = 3


def tensors(width: int, dtype: torch.dtype) -> list[Tensor]:
    generator = torch.Generator().manual_seed(0)
    return [
        torch.randn(len(ROWS), heads, width, 8, generator=generator).to(dtype).requires_grad_() for heads in (6, 2, 2)
    ]


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("softcap", [None, 2.0])
@pytest.mark.parametrize("chunk", [(4, 4), (4, 2), (160, 48)])  # at most, and to end with a branch
def test_attention_and_its_gradients_are_those_of_eager(
    chunk: tuple[int, int], softcap: float | None, dtype: torch.dtype, monkeypatch: pytest.MonkeyPatch
) -> None:
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


def test_queries_are_cut_where_branches_end_so_that_a_chunk_takes_no_columns_of_another() -> None:
    branches = [[*range(20), *range(n, n + 60)] for n in (100, 200, 300, 400)]  # behind 20 tokens that they share
    mask = allowed_of(padded_rows([tree_of([*branches, [0, 1, 9]])], pad=0)["reach"])[:, None]
    ends, blocks = blocks_of(mask, torch.float32)
    assert ends == [80, 140, 200, 260]
    assert [len(columns) for columns, _ in blocks] == [80, 80, 80, 80, 3]
    assert blocks_of(mask, torch.float32)[1] is blocks, "made once for all layers"


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_under_autocast_it_computes_in_autocasts_dtype_whatever_comes(dtype: torch.dtype) -> None:
    query, key, value = tensors(9, torch.float32)
    mask = torch.ones(9, 9, dtype=torch.bool).tril().expand(2, 1, 9, 9)
    with torch.autocast("cpu", dtype):
        found, _ = attend(Layer(), query, key, value.to(dtype), mask)
    assert found.dtype == dtype
    torch.testing.assert_close(found.float(), attend(Layer(), query, key, value, mask)[0], rtol=0.05, atol=0.05)


def test_in_bf16_its_scores_can_be_float32() -> None:
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
def test_a_base_on_cpu_takes_it_and_reads_padded_rows_as_with_eager(family: str, tmp_path: Path) -> None:
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
