"""Adapter + base → standalone checkpoint, checked before it may be used.

An adapter trained on NF4 weights can be merged onto those (dequantised) or onto the bf16 base: both are defensible and
they differ. Either way the merged checkpoint must give the verdicts of the model that was trained: NF4 base + adapter.
So what was written is loaded again, and verdicts and margins of both on a sample of the run's own prompts are compared.

The merge goes one layer at a time: base weight + adapter in fp32, rounded to bf16. At any moment memory holds the base
as it was loaded (bf16, or NF4 turning into bf16 layer by layer) and one layer more.
"""

import hashlib
import math
import random
import shutil
import uuid
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch
from bitsandbytes.functional import dequantize_4bit
from bitsandbytes.nn import Linear4bit
from peft import PeftModel
from peft.tuners.lora import LoraLayer
from tqdm import tqdm

from evenhand.checkpoints import checked_hash, checkpoint_hash, load_tokenizer
from evenhand.errors import ConfigError, DataError, ModelError
from evenhand.files import sync_folder, write_json, write_whole
from evenhand.lease import held
from evenhand.run_directory import DONE_FILE, PROVENANCE_FILE, is_done, read_json, refuse_changed
from training.config import AnyRun
from training.data import TrainingData, examples_of, load_data
from training.examples import Example, set_padding
from training.model_card import card_text
from training.qlora import load_base
from training.reference import ask
from training.run_folder import ADAPTER_DIR, MERGED_PREFIX, MERGING_LEASE, finished_config, trained_base
from training.sections import QuantisationConfig
from training.shortage import free_memory

BF16, NF4 = "bf16", "nf4"
SHARD_SIZE = "5GB"  # of a weight file, at most
TEXT_SUFFIXES = (".json", ".jinja", ".model", ".txt")
LICENCE_NAMES = ("LICENSE", "LICENCE", "NOTICE", "USE_POLICY")
# Written by the merge; or, beside config.json, taken by vLLM for a checkpoint in Mistral's own layout.
NOT_COPIED = ("config.json", "model.safetensors.index.json", "params.json", DONE_FILE)
CARD_FILE = "README.md"
ITEMS_PER_PROMPT = 8  # examples are made of this many items for each prompt drawn, not of a whole training set
ROUNDING_SEED = 0
WRAPPING = "base_model.model."  # what PEFT puts before the names of the base's modules
Logs = tuple[float, ...]  # log P of each of a prompt's answers, in nats


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeCheck:
    """A merged model's verdicts, compared with those of base + adapter as trained."""

    onto: str
    n_prompts: int
    agreement_rate: float  # share of prompts with the same verdict
    # In nats: mean |difference| of the margin by which base + adapter's verdict leads the likeliest other answer.
    mean_margin_drift: float
    max_margin_drift: float

    def __str__(self) -> str:
        return (
            f"{self.agreement_rate:.1%} of {self.n_prompts} verdicts agree with base + adapter as trained; margins "
            f"moved by {self.mean_margin_drift:.3f} nats, at most {self.max_margin_drift:.3f}"
        )


def merge(run: Path, onto: str, n_prompts: int = 64, min_agreement: float = 0.95) -> Path:
    """The folder of a run's checkpoint merged onto "bf16" or "nf4", made and checked where it is not there yet.

    n_prompts: how many verdicts are compared. min_agreement: share of them that must agree.
    Raises DataError for a run that is not finished or whose base has changed, or that another process is merging;
    ConfigError for a merge onto NF4 weights that never were; ModelError when fewer than min_agreement of the verdicts
    agree, and then the checkpoint does not appear.
    """
    config = finished_config(run)
    refuse_changed(run)
    if onto == NF4 and config.quantisation.kind != NF4:
        raise ConfigError(f"{run}: was trained on bf16 weights, there are no NF4 ones to merge onto; take --onto bf16")
    target = run / f"{MERGED_PREFIX}{onto}"
    with held(run / MERGING_LEASE, "merged") as lease:
        for left_over in run.glob(f"{MERGED_PREFIX}*.partial"):  # of merges that were killed
            shutil.rmtree(left_over)
        if is_done(target):
            done = read_json(target / DONE_FILE)
            check = MergeCheck(**{name: done[name] for name in MergeCheck.__dataclass_fields__})
            checked_hash(target, done.get("checkpoint_hash"), "delete the folder and merge again")
            print(f"{target}: merged and checked already")
            print(f"{run.name} merged onto {onto}: {check}")
            refuse_disagreement(run, check, min_agreement)
            return target
        partial = run / f"{MERGED_PREFIX}{onto}.{uuid.uuid4().hex}.partial"
        try:
            facts = merge_anew(run, config, onto, partial, n_prompts, min_agreement)
            lease.refuse_if_lost()
            write_json(partial / DONE_FILE, facts)
            write_whole(partial / CARD_FILE, f"{card_text(run, partial)}\n")
            shutil.rmtree(target, ignore_errors=True)  # where its DONE.json has been deleted
            partial.rename(target)
        finally:
            shutil.rmtree(partial, ignore_errors=True)
        sync_folder(run)
    return target


def merge_anew(
    run: Path, config: AnyRun, onto: str, partial: Path, n_prompts: int, min_agreement: float
) -> dict[str, Any]:
    """Write a checkpoint to `partial` and ask it as it lies there; the content of its DONE.json."""
    recorded = read_json(run / DONE_FILE).get("adapter_hash")
    checked_hash(run / ADAPTER_DIR, recorded, "restore them from a copy, or delete the run and train again")
    base, provenance = trained_base(run, config), read_json(run / PROVENANCE_FILE)
    data = load_data(config)
    asked = sample_prompts(data, config, load_tokenizer(base), n_prompts)
    print(f"{run.name}: judging {len(asked)} prompts with base + adapter as trained", flush=True)
    expected = judged(adapted(run, base, config.quantisation), asked, config)
    free_memory()
    print(f"{run.name}: merging onto {onto}, then judging the same prompts with what was merged", flush=True)
    # The base of a merge is held in no more than bf16, whatever training held it in.
    held_as = {"hold": NF4} if onto == NF4 else {"kind": "none", "compute_dtype": "bfloat16"}
    save(merge_adapter(adapted(run, base, config.quantisation.model_copy(update=held_as))), base, partial)
    free_memory()
    written = load_base(partial, config.quantisation.model_copy(update={"kind": "none"}))
    check = compare(judged(written, asked, config), expected, onto)
    print(f"{run.name} merged onto {onto}: {check}", flush=True)
    refuse_disagreement(run, check, min_agreement)
    is_as_trained = data.set_hash == provenance.get("item_set_hash")
    return {
        "run": run.name,
        "base_hash": provenance["model"]["checkpoint_hash"],
        "checkpoint_hash": checkpoint_hash(partial),
        **asdict(check),
        # How many units each dataset has, and what the study knows of them; not known where the data has changed.
        **({"items": data.counts, **data.study.facts(data.units)} if is_as_trained else {"items": None}),
        "min_agreement": min_agreement,
        "rounding_seed": ROUNDING_SEED,
    }


def refuse_disagreement(run: Path, check: MergeCheck, min_agreement: float) -> None:
    """Raises ModelError when a merge disagrees with what was trained, with what else to try."""
    if check.agreement_rate < min_agreement:
        other = NF4 if check.onto == BF16 else BF16
        raise ModelError(
            f"{run}: merged onto {check.onto}, only {check.agreement_rate:.1%} of {check.n_prompts} verdicts agree "
            f"with base + adapter ({min_agreement:.0%} asked for). Try `--onto {other}`; train longer (margins near 0 "
            "flip easily), or lower --min-agreement"
        )


def adapted(run: Path, base: Path, settings: QuantisationConfig) -> Any:
    """The base, held as the settings say, with the run's adapter."""
    return PeftModel.from_pretrained(load_base(base, settings), run / ADAPTER_DIR)


def save(model: Any, base: Path, target: Path) -> None:
    """Weights and config from the model, everything else byte for byte from the base's folder.

    Raises DataError when the disk has no room.
    """
    copied = [
        file
        for file in base.iterdir()
        if (file.suffix in TEXT_SUFFIXES and file.name not in NOT_COPIED) or file.name.startswith(LICENCE_NAMES)
    ]
    weights = sum(parameter.numel() * parameter.element_size() for parameter in model.parameters())
    needed = weights + sum(file.stat().st_size for file in copied)
    if (free := shutil.disk_usage(target.parent).free) < needed:
        raise DataError(
            f"{target}: needs {needed / 1e9:.1f} GB, {free / 1e9:.1f} GB are free; free space, then merge again"
        )
    model.save_pretrained(target, max_shard_size=SHARD_SIZE)
    for file in copied:
        shutil.copyfile(file, target / file.name)
    for file in target.iterdir():
        file.chmod(0o644)  # safetensors writes 0600, which would hide a shared run from everybody else


def sample_prompts(data: TrainingData, config: AnyRun, tokenizer: Any, n_prompts: int) -> list[Example]:
    """n_prompts of the run's own prompts (fewer when it has fewer), drawn at random with a fixed seed. Nothing is asked
    behind their answers' first tokens.
    """
    set_padding(tokenizer)
    draw = random.Random(0)
    examples, _ = examples_of(data.drawn(draw, ITEMS_PER_PROMPT * n_prompts), config, tokenizer)
    return [replace(example, end=(), rest=()) for example in draw.sample(examples, min(n_prompts, len(examples)))]


@torch.no_grad()
def judged(model: Any, asked: Sequence[Example], config: AnyRun) -> list[Logs]:
    """What a model says of each prompt, computed in the precision of training. Raises ModelError for NaN."""
    logs = [answers.verdicts for answers in ask(asked, config, model, 0, tqdm(disable=True))]
    if n_lost := sum(not all(map(math.isfinite, some)) for some in logs):
        raise ModelError(f"{n_lost} of {len(asked)} verdicts are not finite: the adapter or the base is broken")
    return logs


def compare(merged: Sequence[Logs], expected: Sequence[Logs], onto: str) -> MergeCheck:
    """The check's figures from what two models say of the same prompts."""
    drifts, n_agreeing = [], 0
    for here, there in zip(merged, expected, strict=True):
        answer = there.index(max(there))
        n_agreeing += here.index(max(here)) == answer
        drifts.append(abs(lead(here, answer) - lead(there, answer)))
    return MergeCheck(
        onto=onto,
        n_prompts=len(drifts),
        agreement_rate=n_agreeing / len(drifts),
        mean_margin_drift=sum(drifts) / len(drifts),
        max_margin_drift=max(drifts),
    )


def lead(logs: Logs, answer: int) -> float:
    """By how many nats an answer is likelier than the likeliest other."""
    return logs[answer] - max(value for index, value in enumerate(logs) if index != answer)


@torch.no_grad()
def merge_adapter(wrapped: Any) -> Any:
    """The plain bf16 model whose weights are base + adapter. `wrapped`, a PeftModel, is used up.

    The noise of the rounding is drawn for each layer by its name: the same run gives the same weights on the same kind
    of device, in whatever order layers come. Raises ModelError for an adapter on a weight that another module shares,
    and for sums that are no numbers.
    """
    n_holders = Counter(id(held) for module in wrapped.modules() for held in module.parameters(recurse=False))
    layers = {name: module for name, module in wrapped.named_modules() if isinstance(module, LoraLayer)}
    for wrapped_name, layer in layers.items():
        name = wrapped_name.removeprefix(WRAPPING)
        if n_holders[id(layer.get_base_layer().weight)] > 1:
            raise ModelError(
                f"the adapter changes {name}, whose weight another module shares (tied embeddings): merged, it would "
                "change both. Leave it out of lora.target_modules and train again"
            )
        plain = unquantised(layer.get_base_layer())
        # The base's values lie on the bf16 grid; NF4 values held in float32 are brought to it first, so that the noise
        # of the rounding falls on the adapter's share alone.
        exact = plain.weight.to(torch.bfloat16).float() + layer.get_delta_weight("default").float()
        if not torch.isfinite(exact).all():
            raise ModelError(f"{name}: base + adapter is not finite, so the run has diverged; train it again")
        seed = hashlib.sha256(f"{ROUNDING_SEED} {name}".encode()).digest()
        noise = torch.Generator(exact.device).manual_seed(int.from_bytes(seed[:8]) >> 1)
        plain.weight.data = round_to_bf16(exact, noise)
        layer.base_layer = plain
    return unquantised_model(wrapped.unload())


def unquantised(layer: Any) -> Any:
    """A 4-bit layer as a plain one, with the values that training computed with in bf16; a plain layer as it is."""
    if not isinstance(layer, Linear4bit):
        return layer
    values = dequantize_4bit(layer.weight.data, layer.weight.quant_state)
    with torch.device("meta"):
        plain = torch.nn.Linear(layer.in_features, layer.out_features, bias=False)
    plain.weight = torch.nn.Parameter(values.to(torch.bfloat16), requires_grad=False)
    plain.bias = layer.bias
    return plain


def unquantised_model(model: Any) -> Any:
    """The model without any 4-bit layer, every weight in bf16, and nothing in its config that says otherwise."""
    for name in [name for name, module in model.named_modules() if isinstance(module, Linear4bit)]:
        model.set_submodule(name, unquantised(model.get_submodule(name)))
    if getattr(model, "hf_quantizer", None) is not None:
        model.hf_quantizer.remove_quantization_config(model)
    for parameter in model.parameters():
        parameter.data = parameter.data.to(torch.bfloat16)
    return model


def round_to_bf16(weights: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """fp32 weights as bf16, rounded up or down at random so that the expected value is the weight itself.

    The base's weights lie on the bf16 grid. An adapter trained shortly moves most of them by less than half a step of
    it, and rounding to the nearest would take them back: margins of a DPO run shrank by a quarter. Weights that
    are on the grid stay as they are.
    """
    below_grid = 1 << 16  # bf16 is the upper half of fp32's bits; a carry out of the lower half is one step up
    bits = torch.randint(below_grid, weights.shape, dtype=torch.int32, device=weights.device, generator=generator)
    bits += weights.contiguous().view(torch.int32)
    bits &= -below_grid
    return bits.view(torch.float32).to(torch.bfloat16)
