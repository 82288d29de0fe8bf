"""Adapter + base → standalone checkpoint, checked before it may be used.

An adapter trained on NF4 weights can be merged onto those (dequantised) or onto the bf16 base: both are defensible and
they differ. Either way the merged checkpoint must give the verdicts of the model that was trained: NF4 base + adapter.
"""

import gc
import random
import shutil
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from peft import PeftModel

from benchmarks.chat import AnswerTokens, answer_tokens
from benchmarks.checkpoints import load_tokenizer, resolve
from benchmarks.errors import DataError, ModelError
from benchmarks.jsonl import sync_folder, write_json
from benchmarks.rundir import CONFIG_FILE, DONE_FILE, is_done
from benchmarks.sources import load_items
from training.config import TrainingConfig, load_training_config
from training.examples import ACCEPT, REJECT, make_examples, set_padding
from training.qlora import load_base
from training.run import ADAPTER_DIR, EXCLUDED_FILE
from training.sections import QuantisationConfig

TEXT_SUFFIXES = (".json", ".jinja", ".model", ".txt")
BATCH_SIZE = 16
WRITTEN_ANEW = ("config.json", "model.safetensors.index.json")


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeCheck:
    """How the merged checkpoint's verdicts compare with those of base + adapter as trained."""

    onto: str
    n_prompts: int
    agreement_rate: float  # share of prompts with the same verdict
    mean_margin_drift: float  # mean |difference| of log P("1") - log P("2"), in nats
    max_margin_drift: float


def merge(run: Path, onto: str, n_prompts: int = 64, min_agreement: float = 0.95) -> Path:
    """The folder of a run's merged checkpoint, made and checked if it is not there yet.

    onto: "bf16" or "nf4". Raises DataError for a run that is not finished, ModelError when fewer than min_agreement of
    the verdicts agree; then no checkpoint appears.
    """
    config = finished_config(run)
    target = run / f"merged-{onto}"
    if (target / DONE_FILE).exists():
        print(f"{target}: merged and checked already")
        return target
    base = resolve(config.model)
    prompts, answers = sample_prompts(config, base, n_prompts)
    print(f"{run.name}: judging {len(prompts)} prompts with base + adapter as trained", flush=True)
    trained = PeftModel.from_pretrained(load_base(base, config.quantisation), run / ADAPTER_DIR)
    expected = margins(trained, prompts, answers)
    del trained
    gc.collect()
    print(f"{run.name}: merging onto {onto}, then judging the same prompts with what was merged", flush=True)
    partial = run / f"merged-{onto}.partial"
    shutil.rmtree(partial, ignore_errors=True)
    write_merged(base, run / ADAPTER_DIR, config.quantisation, onto, partial)
    check = compare(margins(load_base(partial, PLAIN), prompts, answers), expected, onto)
    print(
        f"{run.name} merged onto {onto}: {check.agreement_rate:.1%} of {len(prompts)} verdicts agree with base + "
        f"adapter as trained; margins moved by {check.mean_margin_drift:.3f} nats, at most {check.max_margin_drift:.3f}"
    )
    if check.agreement_rate < min_agreement:
        shutil.rmtree(partial)
        raise ModelError(
            f"{run}: merged onto {onto}, only {check.agreement_rate:.1%} of {len(prompts)} verdicts agree with base + "
            f"adapter ({min_agreement:.0%} asked for). Merge `--onto {'nf4' if onto == 'bf16' else 'bf16'}` instead"
        )
    write_json(partial / DONE_FILE, {"run": run.name, **asdict(check)})
    shutil.rmtree(target, ignore_errors=True)
    partial.rename(target)
    sync_folder(run)
    return target


PLAIN = QuantisationConfig(kind="none")


def finished_config(run: Path) -> TrainingConfig:
    """A finished training run's config. Raises DataError when the folder is no training run or it is not done."""
    file = run / CONFIG_FILE
    if not (file.exists() and (run / EXCLUDED_FILE).exists()):
        raise DataError(f"{run}: is no training run (it has no {EXCLUDED_FILE}); make one with `evenhand train CONFIG`")
    config = load_training_config([str(file)])
    if not is_done(run):
        raise DataError(f"{run}: the training is not finished; continue it with `evenhand train {file}`")
    return config


def sample_prompts(config: TrainingConfig, base: Path, n_prompts: int) -> tuple[list[tuple[int, ...]], AnswerTokens]:
    """Prompts of the run's own examples, drawn at random with a fixed seed, and the tokens that answer them."""
    tokenizer = load_tokenizer(base)
    set_padding(tokenizer)
    examples, _ = make_examples(load_items(config.benchmarks), config, tokenizer)
    drawn = random.Random(0).sample(examples, min(n_prompts, len(examples)))
    return [example.prompt_ids for example in drawn], answer_tokens(tokenizer, (ACCEPT, REJECT))


@torch.no_grad()
def margins(model: Any, prompts: Sequence[tuple[int, ...]], answers: AnswerTokens) -> list[float]:
    """log P("1") - log P("2") in nats behind each prompt, in the order of the prompts.

    Prompts of like length go together, padded on the left: a 4-bit base is dequantised once a batch, not once a prompt.
    """
    model.eval()
    # torch multiplies a strided slice of the hidden states with a copy of the whole head for each prompt of the batch.
    head = model.get_output_embeddings()
    hook = head.register_forward_pre_hook(lambda _, inputs: tuple(tensor.contiguous() for tensor in inputs))
    order = sorted(range(len(prompts)), key=lambda index: len(prompts[index]))
    found: dict[int, float] = {}
    for start in range(0, len(order), BATCH_SIZE):
        batch = order[start : start + BATCH_SIZE]
        width = max(len(prompts[index]) for index in batch)
        mask = torch.tensor([[0] * (width - len(prompts[i])) + [1] * len(prompts[i]) for i in batch])
        ids = torch.tensor([[0] * (width - len(prompts[i])) + list(prompts[i]) for i in batch])
        positions = (mask.cumsum(1) - 1).clamp(min=0)
        inputs = {"input_ids": ids, "attention_mask": mask, "position_ids": positions}
        with torch.autocast(model.device.type, torch.bfloat16):  # as in training
            outputs = model(**{name: tensor.to(model.device) for name, tensor in inputs.items()}, logits_to_keep=1)
        logits = outputs.logits[:, -1].float()
        difference = logits[:, answers.ids[ACCEPT]] - logits[:, answers.ids[REJECT]]
        found.update(zip(batch, difference.tolist(), strict=True))
    hook.remove()
    return [found[index] for index in range(len(prompts))]


def write_merged(base: Path, adapter: Path, quantisation: QuantisationConfig, onto: str, target: Path) -> None:
    """Merge and save: weights and config from the model, everything else byte for byte from the base's folder."""
    model = load_base(base, quantisation if onto == "nf4" else PLAIN)
    if onto == "nf4" and quantisation.kind == "nf4":
        model = model.dequantize(dtype=torch.bfloat16)
    merged = PeftModel.from_pretrained(model.float(), adapter).merge_and_unload(safe_merge=True)
    generator = torch.Generator(merged.device).manual_seed(0)
    for parameter in merged.parameters():
        parameter.data = round_to_bf16(parameter.data, generator)
    merged.to(torch.bfloat16).save_pretrained(target)
    for file in base.iterdir():
        if file.suffix in TEXT_SUFFIXES and file.name not in WRITTEN_ANEW:
            shutil.copyfile(file, target / file.name)
    for file in target.iterdir():
        file.chmod(0o644)  # safetensors writes 0600, which would hide a shared run from everybody else


def round_to_bf16(weights: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """fp32 weights as bf16, rounded up or down at random so that the expected value is the weight itself.

    The base's weights lie on the bf16 grid. An adapter trained shortly moves most of them by less than half a step of
    it, and rounding to the nearest would take them back: margins of a DPO run shrank by a quarter. Weights that
    are on the grid stay as they are.
    """
    below_grid = 1 << 16  # bf16 is the upper half of fp32's bits; a carry out of the lower half is one step up
    noise = torch.randint(below_grid, weights.shape, dtype=torch.int32, device=weights.device, generator=generator)
    bits = weights.contiguous().view(torch.int32) + noise
    return (bits & -below_grid).view(torch.float32).to(torch.bfloat16)


def compare(merged: Sequence[float], expected: Sequence[float], onto: str) -> MergeCheck:
    """The check's figures from two lists of margins over the same prompts."""
    drifts = [abs(a - b) for a, b in zip(merged, expected, strict=True)]
    agreeing = sum((a > 0) == (b > 0) for a, b in zip(merged, expected, strict=True))
    return MergeCheck(
        onto=onto,
        n_prompts=len(drifts),
        agreement_rate=agreeing / len(drifts),
        mean_margin_drift=sum(drifts) / len(drifts),
        max_margin_drift=max(drifts),
    )
