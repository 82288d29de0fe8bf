"""What makes training fast changes no number: loss and every adapter's gradient are those of TRL as it comes."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from datasets import Dataset
from safetensors.torch import load_file
from trl import DPOConfig, SFTConfig, SFTTrainer
from trl.experimental.cpo import CPOConfig, CPOTrainer

from evenhand.checkpoints import load_tokenizer
from tests.made.one_batch import Outcome, adapted, as_trained, assert_equal, byte_model, examples_for, ours, outcome
from tests.made.stock_trl import TokenisedDPOTrainer, dpo_row, sft_row, stock_arguments, train_with_trl, wrong_ids
from tests.made.training_runs import tiny_run
from training.config import AnyRun
from training.examples import Example
from training.qlora import load_base, lora_config
from training.reference import reference_of
from training.train import train

pytestmark = pytest.mark.slow
STEP = {"per_device_batch_size": 4, "gradient_accumulation_steps": 2, "max_steps": 1}


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return byte_model(tmp_path_factory.mktemp("model"))


def step_of_8(method: str, model: Path, folder: Path, **sections: Any) -> AnyRun:
    """A run whose only step takes all of its eight examples: two items under four conditions."""
    data = [{"dataset": "pocket", "split": "train", "n_items": 2}]
    return tiny_run(method, model, folder, **{"optimiser": STEP, "benchmarks": data, **sections})


def stock(trainer: Any, config: AnyRun) -> Outcome:
    """What one of TRL's trainers makes of its whole dataset as one batch."""
    as_trained(trainer.model, config)
    batch = trainer.data_collator(list(trainer.train_dataset))
    return outcome(trainer.model, lambda: [trainer.compute_loss(trainer.model, batch)])


def sft_of_trl(config: AnyRun, model: Path, examples: Sequence[Example], folder: Path) -> SFTTrainer:
    base = load_base(model, config.quantisation, attention="eager")
    return SFTTrainer(
        model=base,
        args=SFTConfig(**stock_arguments(config, folder)),
        train_dataset=Dataset.from_list([sft_row(example) for example in examples]),
        processing_class=load_tokenizer(model),
        peft_config=lora_config(config.lora, base),
    )


def dpo_of_trl(
    config: AnyRun, model: Path, examples: Sequence[Example], folder: Path, **arguments: Any
) -> TokenisedDPOTrainer:
    base = load_base(model, config.quantisation, attention="eager")
    return TokenisedDPOTrainer(
        model=base,
        args=DPOConfig(**stock_arguments(config, folder), beta=getattr(config, "beta", 0.1), **arguments),
        train_dataset=Dataset.from_list([dpo_row(example) for example in examples]),
        processing_class=load_tokenizer(model),
        peft_config=lora_config(config.lora, base),
    )


@pytest.mark.parametrize(("eos", "kind"), [(True, "nf4"), (False, "none")])
def test_sft_is_that_of_trl(eos: bool, kind: str, model: Path, tmp_path: Path) -> None:
    quantisation = {"kind": kind, "compute_dtype": "float32"}
    config = step_of_8("sft", model, tmp_path, examples={"loss_on_eos": eos}, quantisation=quantisation)
    examples = examples_for(config, model)
    trainer = sft_of_trl(config, model, examples, tmp_path)
    expected = stock(trainer, config)
    assert_equal(ours(config, trainer.model, examples, tmp_path), expected)
    assert_equal(ours(config, adapted(model, config), examples, tmp_path), expected)


@pytest.mark.parametrize(
    ("method", "loss", "precomputed", "eos"),
    [("dpo", "sigmoid", True, True), ("dpo", "sigmoid", False, False), ("ipo", "ipo", True, False)],
)
def test_dpo_and_ipo_are_those_of_trl(
    eos: bool, precomputed: bool, method: str, loss: str, model: Path, tmp_path: Path
) -> None:
    config = step_of_8(method, model, tmp_path, examples={"loss_on_eos": eos}, precompute_reference=precomputed)
    examples = examples_for(config, model)
    trainer = dpo_of_trl(config, model, examples, tmp_path, loss_type=loss, precompute_ref_log_probs=precomputed)
    expected = stock(trainer, config)
    reference = reference_of(examples, config, trainer.model, {}, 0).answers if precomputed else None
    assert_equal(ours(config, trainer.model, examples, tmp_path, reference), expected)
    assert_equal(ours(config, adapted(model, config), examples, tmp_path, reference), expected)


def test_simpo_is_that_of_trl(model: Path, tmp_path: Path) -> None:
    unquantised = {"kind": "none", "compute_dtype": "float32"}
    config = step_of_8("simpo", model, tmp_path, examples={"loss_on_eos": False}, quantisation=unquantised)
    examples = examples_for(config, model)
    base = load_base(model, config.quantisation)
    arguments = stock_arguments(config, tmp_path) | {"train_sampling_strategy": "random", "max_length": 1024}
    trainer = CPOTrainer(
        model=base,
        args=CPOConfig(**arguments, loss_type="simpo", beta=2.0, simpo_gamma=1.0, cpo_alpha=0.0),
        train_dataset=Dataset.from_list([{"prompt": "It", "chosen": " is", "rejected": " was"}]),
        processing_class=load_tokenizer(model),
        peft_config=lora_config(config.lora, base),
    )
    as_trained(trainer.model, config)
    batch = trainer.data_collator([cpo_row(example) for example in examples])
    expected = outcome(trainer.model, lambda: [trainer.compute_loss(trainer.model, batch)])
    assert_equal(ours(config, trainer.model, examples, tmp_path), expected)


def cpo_row(example: Example) -> dict[str, list[int]]:
    """What TRL's CPOTrainer makes of a pair."""
    row = {"prompt_input_ids": list(example.prompt_ids)}
    for name, answer in (("chosen", example.right_ids), ("rejected", wrong_ids(example))):
        ids = [*example.prompt_ids, *answer]
        row[f"{name}_input_ids"] = ids
        row[f"{name}_attention_mask"] = [1] * len(ids)
        row[f"{name}_labels"] = [-100] * len(example.prompt_ids) + list(answer)
    return row


def test_kto_is_its_formula_over_rows_of_their_own(model: Path, tmp_path: Path) -> None:
    whole = {**STEP, "per_device_batch_size": 8, "gradient_accumulation_steps": 1}  # the drift is a microbatch's
    sections = {"precompute_reference": False}
    config = step_of_8("kto", model, tmp_path, optimiser=whole, **sections)
    examples = examples_for(config, model)
    judge = adapted(model, config)

    def token_logs(ids: Sequence[int]) -> torch.Tensor:
        logs: torch.Tensor = judge(input_ids=torch.tensor([ids])).logits[0].log_softmax(-1)
        return logs

    def log_p(example: Example, answer: Sequence[int]) -> torch.Tensor:
        logs, first = token_logs([*example.prompt_ids, *answer]), len(example.prompt_ids) - 1
        return sum((logs[first + n, token] for n, token in enumerate(answer)), start=torch.zeros(()))

    def kto() -> list[torch.Tensor]:
        rewards, drifts = [], []
        for example in examples:
            with torch.no_grad(), judge.disable_adapter():
                base = [log_p(example, answer) for answer in (example.right_ids, wrong_ids(example))]
                of_base = token_logs(example.prompt_ids)[-1, list(example.choices)].log_softmax(-1)
            with torch.no_grad():
                of_judge = token_logs(example.prompt_ids)[-1, list(example.choices)].log_softmax(-1)
            drifts.append((of_judge.exp() * (of_judge - of_base)).sum())
            asked = zip((example.right_ids, wrong_ids(example)), base, strict=True)
            rewards.append([log_p(example, answer) - reference for answer, reference in asked])
        z = torch.stack(drifts).mean()
        sides = [(torch.sigmoid(0.1 * (right - z)), torch.sigmoid(0.1 * (z - wrong))) for right, wrong in rewards]
        return [torch.stack([1 - (right + wrong) / 2 for right, wrong in sides]).mean()]

    assert_equal(ours(config, judge, examples, tmp_path), outcome(judge, kto))


@pytest.mark.parametrize("method", ["sft", "dpo"])
def test_a_whole_run_ends_with_the_weights_of_trl(
    method: str, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Four steps of two microbatches, with examples in the same order, on a base whose adapters TRL does not round.

    Adam divides a gradient by its own size, so that a weight of small gradients shows their rounding: 2e-4 was seen.
    """
    monkeypatch.setattr("training.batches.endless", lambda n, wanted, seed: list(range(wanted)))
    monkeypatch.setattr("tests.made.stock_trl.shuffled_by_item", lambda examples, seed: examples)
    sections: dict[str, Any] = {
        "optimiser": {"order": "whole_items", "gradient_accumulation_steps": 2},
        "quantisation": {"kind": "none"},
    }
    adapters = []
    for name, trained in {"ours": train, "trl": train_with_trl}.items():
        run = trained(tiny_run(method, model, tmp_path / name, **sections))
        adapters.append(load_file(run / "adapter" / "adapter_model.safetensors"))
    found, expected = adapters
    assert found.keys() == expected.keys()
    for name, weight in expected.items():
        difference = float((found[name] - weight).norm() / weight.norm())
        assert difference < 1e-3, f"{name}: {difference:.1e}"
