"""Adapter + base → standalone checkpoint, checked before it may be used.

An adapter trained on NF4 weights can be merged onto those (dequantised) or onto the bf16 base: both are defensible and
they differ. Either way the merged checkpoint must give the verdicts of the model that was trained: NF4 base + adapter.
So what was written is loaded again, and verdicts and margins of both on a sample of the run's own prompts are compared.

The merge loads no model: it goes tensor by tensor (base + adapter in fp32, rounded to bf16) and file by file, and
memory holds no more than one weight file. The check loads both models, one after the other.
"""

import gc
import hashlib
import math
import random
import re
import shutil
import uuid
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch
from bitsandbytes.functional import dequantize_4bit, quantize_4bit
from bitsandbytes.nn import Params4bit
from peft import PeftModel
from safetensors import safe_open
from safetensors.torch import load_file, save_file
from torch import Tensor
from tqdm import tqdm

from evenhand.checkpoints import WEIGHT_INDEX, checked_hash, checkpoint_hash, load_tokenizer, weight_files
from evenhand.device import torch_device
from evenhand.errors import ConfigError, ModelError
from evenhand.files import synchronise, write_json, write_whole
from evenhand.lease import check_held, held
from evenhand.run_directory import DONE_FILE, PROVENANCE_FILE, check_unchanged, is_done, read_json
from training.config import AnyRun
from training.examples import Example
from training.model_card import card_text
from training.qlora import load_base, skeleton, tensor_names
from training.reference import ask
from training.replies import ReplyTargets
from training.run_folder import ADAPTER_DIR, ADAPTER_FILES, MERGED_PREFIX, MERGING_LEASE, finished_config, trained_base
from training.sections import QuantisationConfig
from training.shortage import shortage_explained

BF16, NF4, NOTHING = "bf16", "nf4", "nothing"
TEXT_SUFFIXES = (".json", ".jinja", ".model", ".txt")
LICENCE_NAMES = ("LICENSE", "LICENCE", "NOTICE", "USE_POLICY")
# Written by the merge; or, beside config.json, taken by vLLM for a checkpoint in Mistral's own layout.
NOT_COPIED = ("config.json", WEIGHT_INDEX, "params.json", DONE_FILE)
CARD_FILE = "README.md"
ITEMS_PER_PROMPT = 8  # examples are made of this many items for each prompt drawn, not of a whole training set
ROUNDING_SEED = 0
# PEFT's name of a layer's first matrix, behind its own prefix of the base's modules.
LORA_A = re.compile(r"base_model\.model\.(.+)\.lora_(?:embedding_)?A(?:\.weight)?")
Logs = tuple[float, ...]  # log P of each of a prompt's answers, in nats
Answer = Logs | int | None  # what a model says of a prompt; or which verdict its reply has, None for none


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeCheck:
    """A merged model's verdicts, compared with those of base + adapter as trained."""

    onto: str
    n_prompts: int
    agreement_rate: float  # share of prompts with the same verdict
    # In nats: mean |difference| of the margin by which base + adapter's verdict leads the likeliest other answer. None
    # where verdicts are read in greedy replies.
    mean_margin_drift: float | None
    max_margin_drift: float | None
    n_unparsed: int = 0  # more prompts to which neither wrote a verdict

    def __str__(self) -> str:
        text = f"{self.agreement_rate:.1%} of {self.n_prompts} verdicts agree with base + adapter as trained"
        if self.mean_margin_drift is None:
            return f"{text}, in greedy replies; to {self.n_unparsed} more prompts neither wrote a verdict"
        return f"{text}; margins moved by {self.mean_margin_drift:.3f} nats, at most {self.max_margin_drift:.3f}"


def merge(run: Path, onto: str, n_prompts: int = 64, min_agreement: float = 0.95) -> Path:
    """The folder of a run's checkpoint merged onto "bf16" or "nf4", made and checked where it is not there yet; onto
    "nothing" that of its adapter, checked with the base as `model.adapter` reads both.

    n_prompts: how many verdicts are compared. min_agreement: share of them that must agree.
    Raises DataError for a run that is not finished or whose base has changed, or that another process is merging;
    ConfigError for a merge onto NF4 weights that never were; ModelError when fewer than min_agreement of the verdicts
    agree, or a model does not fit memory, and then the checkpoint does not appear.
    """
    config = finished_config(run)
    check_unchanged(run)
    if onto == NF4 and config.quantisation.kind != NF4:
        raise ConfigError(f"{run}: was trained on bf16 weights, there are no NF4 ones to merge onto; take --onto bf16")
    if onto == NOTHING:
        check = checked(run, config, trained_base(run, config), None, config.load_units(), onto, n_prompts)
        check_agreement(run, check, min_agreement)
        return run / ADAPTER_DIR
    target = run / f"{MERGED_PREFIX}{onto}"
    partial = run / f"{target.name}.{uuid.uuid4().hex}.partial"
    with held(run / MERGING_LEASE, "merged") as lease, shortage_explained("Merge with more MERGE_GPUS or MERGE_MEM"):
        for left_over in run.glob(f"{MERGED_PREFIX}*.*"):  # of merges that were killed or, before, not checked yet
            shutil.rmtree(left_over)
        if is_done(target):
            done = read_json(target / DONE_FILE)
            check = MergeCheck(**{name: done[name] for name in MergeCheck.__dataclass_fields__})
            checked_hash(target, done.get("checkpoint_hash"), "delete the folder and merge again")
            print(f"{target}: merged and checked already")
            check_agreement(run, check, min_agreement)
            return target
        recorded = read_json(run / DONE_FILE).get("adapter_hash")
        checked_hash(run / ADAPTER_DIR, recorded, "restore them from a copy, or delete the run and train again")
        base = trained_base(run, config)
        units = config.load_units()  # raises before a large model is written
        try:
            write_merged(run, config, base, onto, partial)
            check = checked(run, config, base, partial, units, onto, n_prompts)
            check_agreement(run, check, min_agreement)
            check_held(lease)
            settings = {"min_agreement": min_agreement, "rounding_seed": ROUNDING_SEED}
            write_json(partial / DONE_FILE, {**facts_of(run, config, partial, units), **asdict(check), **settings})
            write_whole(partial / CARD_FILE, f"{card_text(run, partial)}\n")
            shutil.rmtree(target, ignore_errors=True)  # where its DONE.json has been deleted
            partial.rename(target)
        finally:
            shutil.rmtree(partial, ignore_errors=True)
        synchronise(run)
    return target


def checked(
    run: Path, config: AnyRun, base: Path, written: Path | None, units: Sequence[Any], onto: str, n_prompts: int
) -> MergeCheck:
    """Ask base + adapter as trained, and then what was written, or base + adapter unquantised, the same prompts."""
    tokenizer = load_tokenizer(base)
    replies = ReplyTargets(config, tokenizer) if config.examples.replies else None
    asked: Sequence[Any] = (
        replies.some_prompts(units, n_prompts) if replies else sample_prompts(units, config, tokenizer, n_prompts)
    )

    def judge(model: Any) -> Sequence[Answer]:
        return replies.written(model, asked) if replies else judged(model, asked, config)

    print(f"{run.name}: judging {len(asked)} prompts with base + adapter as trained", flush=True)
    expected = judge(adapted(run, base, config.quantisation))
    gc.collect()
    torch.cuda.empty_cache()
    print(f"{run.name}: judging the same prompts with what --onto {onto} gives", flush=True)
    plain = config.quantisation.model_copy(update={"kind": "none"})
    merged = load_base(written, plain, spread=True) if written else adapted(run, base, plain)
    return compare(judge(merged), expected, onto)


def facts_of(run: Path, config: AnyRun, written: Path, units: Sequence[Any]) -> dict[str, Any]:
    """What the checkpoint's DONE.json says of it beside the check."""
    provenance, study = read_json(run / PROVENANCE_FILE), config.training
    is_as_trained = study.content_hash(units) == provenance.get("item_set_hash")
    counts = dict(Counter(unit.dataset for unit in units))
    return {
        "run": run.name,
        "base_hash": provenance["model"]["checkpoint_hash"],
        "checkpoint_hash": checkpoint_hash(written),
        # How many units each dataset has, and what the study knows of them; not known where the data has changed.
        **({"items": counts, **study.facts(units)} if is_as_trained else {"items": None}),
    }


def check_agreement(run: Path, check: MergeCheck, min_agreement: float) -> None:
    """Print the check. Raises ModelError where it disagrees with what was trained, with what else to try."""
    print(f"{run.name} --onto {check.onto}: {check}", flush=True)
    if check.agreement_rate < min_agreement:
        second = NF4 if check.onto == BF16 else BF16
        raise ModelError(
            f"{run}: --onto {check.onto}: only {check.agreement_rate:.1%} of {check.n_prompts} verdicts agree "
            f"with base + adapter, not {min_agreement:.0%}. Try `--onto {second}`, train on, or a lower --min-agreement"
        )


def sample_prompts(units: Sequence[Any], config: AnyRun, tokenizer: Any, n_prompts: int) -> list[Example]:
    """n_prompts of the run's own prompts (fewer when it has fewer), drawn at random with a fixed seed. Nothing is asked
    behind their answers' first tokens.
    """
    draw = random.Random(0)
    drawn = draw.sample(units, min(ITEMS_PER_PROMPT * n_prompts, len(units)))
    examples, _ = config.training.examples(drawn, config, tokenizer)
    return [replace(example, end=(), rests=()) for example in draw.sample(examples, min(n_prompts, len(examples)))]


def adapted(run: Path, base: Path, settings: QuantisationConfig) -> Any:
    """The base as it was trained on, with the run's adapter; over several GPUs where there are any."""
    return PeftModel.from_pretrained(load_base(base, settings, spread=True), run / ADAPTER_DIR)


@torch.no_grad()
def judged(model: Any, examples: Sequence[Example], config: AnyRun) -> Sequence[Answer]:
    """What a model says of each prompt, computed in the precision of training. Raises ModelError for NaN."""
    logs = [answers.verdicts for answers in ask(examples, config, model, 0, tqdm(disable=True))]
    if n_lost := sum(not all(map(math.isfinite, row)) for row in logs):
        raise ModelError(f"{n_lost} of {len(logs)} verdicts are not finite: the adapter or the base is broken")
    return logs


def compare(merged: Sequence[Answer], expected: Sequence[Answer], onto: str) -> MergeCheck:
    """The check's figures from what two models say of the same prompts. Raises ModelError where most replies have no
    verdict.
    """
    pairs = [pair for pair in zip(merged, expected, strict=True) if pair != (None, None)]
    if 2 * len(pairs) <= len(merged):
        raise ModelError(
            f"{len(merged) - len(pairs)} of {len(merged)} greedy replies have no verdict, of base + adapter as of the "
            "merged model: training has spoilt how it writes; lower optimiser.learning_rate or optimiser.epochs"
        )
    drifts = [
        abs(lead(logs, trained) - lead(trained, trained))
        for logs, trained in pairs
        if isinstance(logs, tuple) and isinstance(trained, tuple)
    ]
    return MergeCheck(
        onto=onto,
        n_prompts=len(pairs),
        agreement_rate=sum(verdict_of(answer) == verdict_of(trained) for answer, trained in pairs) / len(pairs),
        mean_margin_drift=sum(drifts) / len(drifts) if drifts else None,
        max_margin_drift=max(drifts, default=None),
        n_unparsed=len(merged) - len(pairs),
    )


def verdict_of(answer: Answer) -> int | None:
    """The place of the verdict in what a model says of a prompt."""
    return answer.index(max(answer)) if isinstance(answer, tuple) else answer


def lead(logs: Logs, trained: Logs) -> float:
    """By how many nats the verdict of what was trained is likelier than the likeliest other answer."""
    answer = trained.index(max(trained))
    return logs[answer] - max(value for index, value in enumerate(logs) if index != answer)


@torch.no_grad()
def write_merged(run: Path, config: AnyRun, base: Path, onto: str, target: Path) -> None:
    """Write the base with the run's adapter added: as many weight files, with tensors of the same names in bf16, and
    everything else byte for byte.

    The noise of the rounding is drawn for each layer by its name: the same run gives the same weights on the same kind
    of device, in whatever files they lie. Raises ModelError for an adapter on a weight that the base's files do not
    have, and for sums that are no numbers.
    """
    model = skeleton(base, config.quantisation if onto == NF4 else None)
    target.mkdir()
    files = weight_files(base)
    names = {file: list(safe_open(base / file, "pt").keys()) for file in files}  # type: ignore[no-untyped-call]
    where = {name: file for file in files for name in names[file]}
    inside, n_bytes = tensor_names(model, where), 0
    dtype = getattr(torch, config.quantisation.compute_dtype)
    in_nf4 = {name: weight for name, weight in model.named_parameters() if isinstance(weight, Params4bit)}
    adapter = load_file(run / ADAPTER_DIR / ADAPTER_FILES[1])
    owed = {f"{match[1]}.weight": match[0] for name in adapter if (match := LORA_A.fullmatch(name))}
    for file in tqdm(files, desc=f"merging onto {onto}", unit="file"):
        merged: dict[str, Tensor] = {}
        with safe_open(base / file, "pt") as weights:
            for name in names[file]:
                tensor, weight = weights.get_tensor(name), inside[name]
                if weight in in_nf4:
                    tensor = through_nf4(tensor.to(dtype), in_nf4[weight])
                if weight in owed:
                    delta = product(adapter, owed.pop(weight)) * (config.lora.alpha / config.lora.r)
                    tensor = merged_weight(weight.removesuffix(".weight"), tensor.to(delta.device), delta)
                merged[name] = tensor.to("cpu", torch.bfloat16) if tensor.is_floating_point() else tensor
                n_bytes += merged[name].nbytes
            save_file(merged, target / file, {"format": "pt"})
    if owed:
        raise ModelError(f"{base}: its files have no weight of {', '.join(owed)}, which the adapter changes")
    if (base / WEIGHT_INDEX).is_file():
        write_json(target / WEIGHT_INDEX, {"metadata": {"total_size": n_bytes}, "weight_map": where})
    model.config.architectures = [type(model).__name__]
    model.config.save_pretrained(target)
    for text in base.iterdir():
        if (text.suffix in TEXT_SUFFIXES and text.name not in NOT_COPIED) or text.name.startswith(LICENCE_NAMES):
            shutil.copyfile(text, target / text.name)
    for written in target.iterdir():
        written.chmod(0o644)  # safetensors writes 0600, which would hide a shared run from everybody else


def product(adapter: Mapping[str, Tensor], name: str) -> Tensor:
    """What an adapter adds to a layer's weight before it is scaled. name: of its first matrix in the adapter's file."""
    a, b = (adapter[key].to(torch_device()).float() for key in (name, "_B".join(name.rsplit("_A", 1))))
    delta: Tensor = (b @ a).T if "embedding" in name else b @ a
    return delta


def through_nf4(weight: Tensor, quantised: Params4bit) -> Tensor:
    """A weight's values in NF4, as training computed with them."""
    settings = {name: getattr(quantised, name) for name in ("blocksize", "compress_statistics", "quant_type")}
    values: Tensor = dequantize_4bit(*quantize_4bit(weight.to(torch_device()), **settings))
    return values


def merged_weight(layer: str, weight: Tensor, delta: Tensor) -> Tensor:
    """Weight + adapter in bf16. Raises ModelError where that is no number."""
    # NF4 values held in float32 are brought to the bf16 grid first, so that the noise of the rounding falls on the
    # adapter's share alone.
    exact = weight.to(torch.bfloat16).float() + delta
    if not torch.isfinite(exact).all():
        raise ModelError(f"{layer}: base + adapter is not finite, so the run has diverged; train it again")
    seed = hashlib.sha256(f"{ROUNDING_SEED} {layer}".encode()).digest()
    return round_to_bf16(exact, torch.Generator(exact.device).manual_seed(int.from_bytes(seed[:8]) >> 1))


def round_to_bf16(weights: Tensor, generator: torch.Generator) -> Tensor:
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
