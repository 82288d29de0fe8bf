"""What is done for speed is the plain computation: rows that share beginnings, the head at few positions, weights
dequantised once, a step cut in another way. Loss and every adapter's gradient are compared.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from evenhand import token_trees as tree_forward
from tests.made.one_batch import (
    Outcome,
    adapted,
    assert_equal,
    byte_model,
    examples_for,
    ours,
    outcome,
    verdict_trainer,
)
from tests.made.tiny_families import SIZES
from tests.made.training_runs import tiny_run
from training.config import AnyRun
from training.examples import Example
from training.objectives import Answers, objective_of
from training.qlora import load_base
from training.sections import QuantisationConfig

pytestmark = pytest.mark.slow
bitsandbytes = pytest.importorskip("bitsandbytes", reason="`make venv` installs it from the lock files")
FAMILIES = ["llama", "qwen2", "gemma3", "mistral", "mistral with a window"]
WINDOW = 64  # tokens; the prompts are longer


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A tiny model of each family."""
    found = {name: byte_model(tmp_path_factory.mktemp(name), name) for name in FAMILIES[:4]}
    return {**found, FAMILIES[4]: with_window(found["mistral"], tmp_path_factory.mktemp("window"))}


def with_window(mistral: Path, folder: Path) -> Path:
    """The same model whose layers see the last WINDOW tokens only."""
    from transformers import AutoModelForCausalLM, AutoTokenizer

    model = AutoModelForCausalLM.from_pretrained(mistral, sliding_window=WINDOW)
    model.save_pretrained(folder)
    AutoTokenizer.from_pretrained(mistral).save_pretrained(folder)
    return folder


def step(method: str, model: Path, folder: Path, size: int, parts: int, order: str, **sections: Any) -> AnyRun:
    """A run whose only step takes all examples: those of so many whole items, in microbatches of one size."""
    data = [{"dataset": "pocket", "split": "train", "n_items": size * parts // 4}]
    cut = {"per_device_batch_size": size, "gradient_accumulation_steps": parts, "max_steps": 1, "order": order}
    sections = {"quantisation": {"kind": "none", "compute_dtype": "float32"}, **sections}
    return tiny_run(method, model, folder, optimiser=cut, benchmarks=data, **sections)


@pytest.mark.parametrize(("family", "attention"), [*((family, "sdpa") for family in FAMILIES), (FAMILIES[4], "eager")])
def test_one_row_for_the_prompts_of_an_item_is_as_rows_of_their_own(
    family: str, attention: str, models: dict[str, Path], tmp_path: Path, device: str
) -> None:
    config = step("simpo", models[family], tmp_path, 4, 2, "whole_items")  # EOS behind both answers, in two branches
    judge = adapted(models[family], config, attention)
    examples = examples_for(config, models[family])
    assert min(len(example.prompt_ids) for example in examples) > WINDOW
    rows = verdict_trainer(config, judge, examples, tmp_path).get_train_dataloader()
    n_tokens = sum(example.n_tokens for example in examples)
    assert sum(batch["input_ids"].numel() for batch in rows) < 0.8 * n_tokens, "nothing is shared"
    assert_equal(ours(config, judge, examples, tmp_path), separate(config, judge, examples))


def separate(config: AnyRun, judge: Any, examples: Sequence[Example]) -> Outcome:
    """Every answer of every example read in a row of its own, with the model's own causal attention and all logits."""

    def log_p(ids: tuple[int, ...], answer: tuple[int, ...]) -> Tensor:
        logs = judge(input_ids=torch.tensor([[*ids, *answer]], device=judge.device)).logits[0].log_softmax(-1)
        return torch.stack([logs[len(ids) - 1 + n, token] for n, token in enumerate(answer)])

    def losses() -> Iterator[Tensor]:
        objective = objective_of(config)
        for example in examples:
            logs = torch.stack([log_p(example.prompt_ids, (choice, *example.end)) for choice in example.choices])
            answers = Answers(
                verdicts=logs[None, :, 0],
                ends=logs[None, :, 1],
                right=torch.tensor([example.right], device=judge.device),
                groups=torch.tensor([0], device=judge.device),
                anchors=torch.tensor([True], device=judge.device),
            )
            yield objective.total(answers).sum() / len(examples)

    return outcome(judge, losses)


@pytest.mark.parametrize("method", ["sft", "dpo"])
def test_the_head_at_the_answers_positions_alone_is_as_all_logits(
    method: str, models: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = step(method, models["llama"], tmp_path, 4, 1, "random", **without_reference(method))
    judge = adapted(models["llama"], config)
    examples = examples_for(config, models["llama"])
    found = ours(config, judge, examples, tmp_path)

    @contextmanager
    def all_logits(model: Any, rows: Tensor, columns: Tensor) -> Iterator[None]:
        hook = model.get_output_embeddings().register_forward_hook(lambda _, __, logits: logits[rows, columns])
        yield
        hook.remove()

    monkeypatch.setattr(tree_forward, "scoring_at", all_logits)
    assert_equal(found, ours(config, judge, examples, tmp_path))


def without_reference(method: str) -> dict[str, Any]:
    """Keys of a config that asks for the reference in the step."""
    return {"precompute_reference": False} if method == "dpo" else {}


@pytest.mark.parametrize("method", ["sft", "dpo"])
def test_how_a_step_is_cut_changes_nothing(method: str, models: dict[str, Path], tmp_path: Path) -> None:
    whole = step(method, models["llama"], tmp_path, 16, 1, "random", **without_reference(method))
    judge = adapted(models["llama"], whole)
    examples = examples_for(whole, models["llama"])
    assert len(examples) == 16
    expected = ours(whole, judge, examples, tmp_path)
    for size, parts, order in [(2, 8, "random"), (8, 2, "whole_items")]:
        cut = step(method, models["llama"], tmp_path, size, parts, order, **without_reference(method))
        assert_equal(ours(cut, judge, examples, tmp_path), expected)


@pytest.mark.parametrize("double", [True, False])
def test_weights_dequantised_once_are_those_dequantised_in_every_pass(
    double: bool, models: dict[str, Path], device: str
) -> None:
    for dtype in ("float32", "bfloat16"):
        settings = QuantisationConfig(compute_dtype=dtype, double_quant=double)
        on_the_fly = load_base(models["llama"], settings)
        once = load_base(models["llama"], settings.model_copy(update={"hold": "dequantised"}))
        layers = {
            name: module
            for name, module in on_the_fly.named_modules()
            if isinstance(module, bitsandbytes.nn.Linear4bit)
        }
        assert len(layers) == 7 * SIZES["num_hidden_layers"]
        for name, layer in layers.items():
            unit = torch.eye(
                layer.in_features, dtype=getattr(torch, dtype), device=device
            )  # x I is what the layer computes with
            with torch.no_grad():
                used = layer(unit)
            held = once.get_submodule(name).weight
            assert held.dtype == used.dtype
            assert not held.requires_grad
            assert torch.equal(held.T, used), name
