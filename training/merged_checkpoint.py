"""Adapter + base → standalone checkpoint, checked before it may be used.

An adapter trained on NF4 weights can be merged onto those (dequantised) or onto the bf16 base: both are defensible and
they differ. Either way the merged checkpoint must give the verdicts of the model that was trained: NF4 base + adapter.
So both merges are measured, whichever is written; the other one is made in memory and thrown away.
"""

import gc
import shutil
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from peft import PeftModel

from benchmarks.checkpoints import load_tokenizer
from benchmarks.errors import ConfigError, DataError, ModelError
from benchmarks.jsonl import sync_folder, write_json
from benchmarks.lease import Lease, held
from benchmarks.rundir import DONE_FILE, is_done, read_json
from training.config import TrainingConfig
from training.data import load_data
from training.finished_run import trained_base, training_data
from training.merge_check import LogOdds, MergeCheck, Question, compare, margins, sample_prompts
from training.merged_weights import ROUNDING_SEED, merge_adapter
from training.model_card import write_card
from training.qlora import load_base
from training.run import ADAPTER_DIR
from training.run_folder import finished_config
from training.sections import QuantisationConfig

BF16, NF4 = "bf16", "nf4"
LEASE_FILE = "merging.lease"
TEXT_SUFFIXES = (".json", ".jinja", ".model", ".txt")
LICENCE_NAMES = ("LICENSE", "LICENCE", "NOTICE", "USE_POLICY")
# Written by the merge; or, beside config.json, taken by vLLM for a checkpoint in Mistral's own layout.
NOT_COPIED = ("config.json", "model.safetensors.index.json", "params.json", DONE_FILE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What is to be merged, and how it is checked."""

    onto: tuple[str, ...]  # of "bf16" and "nf4": the checkpoints to write
    n_prompts: int = 64
    min_agreement: float = 0.95  # share of verdicts that must agree
    shard_size: str = "5GB"  # of a weight file, at most
    only: bool = False  # measure what is written alone


def merge(
    run: Path,
    onto: str,
    n_prompts: int = 64,
    min_agreement: float = 0.95,
    *,
    shard_size: str = "5GB",
    only: bool = False,
) -> Path:
    """The folder of one merged checkpoint of a run; see merge_run."""
    wanted = Wanted(onto=(onto,), n_prompts=n_prompts, min_agreement=min_agreement, shard_size=shard_size, only=only)
    return merge_run(run, wanted)[onto]


def merge_run(run: Path, wanted: Wanted) -> dict[str, Path]:
    """The folders of a run's merged checkpoints, made and checked where they are not there yet.

    Raises DataError for a run that is not finished or whose base has changed, or that another process is merging;
    ConfigError for a merge onto NF4 weights
    that never were, ModelError when fewer than min_agreement of the verdicts agree; then that checkpoint does not
    appear.
    """
    config = finished_config(run)
    if NF4 in wanted.onto and config.quantisation.kind != NF4:
        raise ConfigError(f"{run}: was trained on bf16 weights, there are no NF4 ones to merge onto; take --onto bf16")
    with held(run / LEASE_FILE, "merged") as lease:
        for left_over in run.glob("merged-*.partial"):  # of merges that were killed
            shutil.rmtree(left_over)
        return merged_folders(run, config, wanted, lease)


def merged_folders(run: Path, config: TrainingConfig, wanted: Wanted, lease: Lease) -> dict[str, Path]:
    """merge_run, while no other process merges this run."""
    folders = {onto: run / f"merged-{onto}" for onto in wanted.onto}
    owed = [onto for onto, folder in folders.items() if not is_done(folder)]
    for folder in (folders[onto] for onto in folders if onto not in owed):
        print(f"{folder}: merged and checked already")
        checks = checks_of(read_json(folder / DONE_FILE))
        for check in checks:
            print(told(run, check))
        if checks[0].agreement_rate < wanted.min_agreement:
            raise ModelError(
                f"{folder}: was accepted with another --min-agreement than {wanted.min_agreement:g}; delete it to "
                "merge anew, or ask for less"
            )
    if owed:
        merge_owed(run, config, owed, wanted, lease)
    return folders


def merge_owed(run: Path, config: TrainingConfig, owed: Sequence[str], wanted: Wanted, lease: Lease) -> None:
    """Measure every merge there is (with `only`, those owed), and keep those owed that judge as what was trained."""
    base = trained_base(run, config)
    data = load_data(config)
    question = sample_prompts(data, config, load_tokenizer(base), wanted.n_prompts)
    print(f"{run.name}: judging {len(question.prompts)} prompts with base + adapter as trained", flush=True)
    expected = margins(adapted(run, base, config.quantisation), question)
    release()
    known = (NF4, BF16) if config.quantisation.kind == NF4 else (BF16,)
    checks: dict[str, MergeCheck] = {}
    partials = {onto: run / f"merged-{onto}.{uuid.uuid4().hex}.partial" for onto in owed}
    for onto in known if not wanted.only else owed:
        print(f"{run.name}: merging onto {onto}, then judging the same prompts with what was merged", flush=True)
        merged = judged(run, config, base, onto, question, partials.get(onto), wanted.shard_size)
        checks[onto] = compare(merged, expected, onto)
        print(told(run, checks[onto]), flush=True)
    facts = {**training_data(run, data), "min_agreement": wanted.min_agreement, "rounding_seed": ROUNDING_SEED}
    for onto, partial in partials.items():
        if checks[onto].agreement_rate >= wanted.min_agreement:
            lease.refuse_if_lost()
            finish_merge(run, onto, partial, checks, facts)
        else:
            shutil.rmtree(partial)
    refuse_disagreement(run, owed, checks, wanted.min_agreement)


def finish_merge(
    run: Path, onto: str, partial: Path, checks: Mapping[str, MergeCheck], facts: Mapping[str, Any]
) -> None:
    """Card and DONE.json into the folder, which then takes its name. What has that name now is no whole checkpoint."""
    target = run / f"merged-{onto}"
    other = [asdict(check) for kind, check in checks.items() if kind != onto]
    done = {"run": run.name, **asdict(checks[onto]), "other": other[0] if other else None, **facts}
    write_json(partial / DONE_FILE, done)
    write_card(run, partial)
    if target.exists():
        shutil.rmtree(target)
    partial.rename(target)
    sync_folder(run)


def refuse_disagreement(run: Path, owed: Sequence[str], checks: Mapping[str, MergeCheck], min_agreement: float) -> None:
    """Raises ModelError for the first merge that judges otherwise than what was trained, with what else to try."""
    failed = [onto for onto in owed if checks[onto].agreement_rate < min_agreement]
    if not failed:
        return
    other = NF4 if failed[0] == BF16 else BF16
    if other not in checks:
        way_out = f"Try `--onto {other}`"
    elif checks[other].agreement_rate >= min_agreement:
        way_out = f"Onto {other} {checks[other].agreement_rate:.1%} do: merge `--onto {other}` instead"
    else:
        way_out = f"Nor do they onto {other}. Train longer (margins near 0 flip easily), or lower --min-agreement"
    raise ModelError(
        f"{run}: merged onto {failed[0]}, only {checks[failed[0]].agreement_rate:.1%} of "
        f"{checks[failed[0]].n_prompts} verdicts agree with base + adapter ({min_agreement:.0%} asked for). {way_out}"
    )


def judged(
    run: Path, config: TrainingConfig, base: Path, onto: str, question: Question, target: Path | None, shard_size: str
) -> list[LogOdds]:
    """What a merge says: of the checkpoint as it was written to `target`, or with None of the model in memory."""
    model = merge_adapter(adapted(run, base, to_merge(config.quantisation, onto)))
    if target is not None:
        save(model, base, target, shard_size)
        del model
        release()
        model = load_base(target, config.quantisation.model_copy(update={"kind": "none"}))
    elif config.quantisation.compute_dtype == "float32":
        model = model.float()  # as load_base would hold it
    found = margins(model, question)
    del model
    release()
    return found


def adapted(run: Path, base: Path, settings: QuantisationConfig) -> Any:
    """The base, held as the settings say, with the run's adapter."""
    return PeftModel.from_pretrained(load_base(base, settings), run / ADAPTER_DIR)


def to_merge(trained: QuantisationConfig, onto: str) -> QuantisationConfig:
    """How the base of a merge is held: no more than bf16, whatever training held it in."""
    if onto == NF4:
        return trained.model_copy(update={"hold": NF4})
    return trained.model_copy(update={"kind": "none", "compute_dtype": "bfloat16"})


def release() -> None:
    """Give the memory of models nobody holds any more back, before the next is loaded."""
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()


def save(model: Any, base: Path, target: Path, shard_size: str) -> None:
    """Weights and config from the model, everything else byte for byte from the base's folder.

    Raises DataError when the disk has no room.
    """
    copied = [file for file in base.iterdir() if is_copied(file)]
    weights = sum(parameter.numel() * parameter.element_size() for parameter in model.parameters())
    needed = weights + sum(file.stat().st_size for file in copied)
    if (free := shutil.disk_usage(target.parent).free) < needed:
        raise DataError(
            f"{target}: needs {needed / 1e9:.1f} GB, {free / 1e9:.1f} GB are free; free space, then merge again"
        )
    model.save_pretrained(target, max_shard_size=shard_size)
    for file in copied:
        shutil.copyfile(file, target / file.name)
    for file in target.iterdir():
        file.chmod(0o644)  # safetensors writes 0600, which would hide a shared run from everybody else


def is_copied(file: Path) -> bool:
    """Whether a merged checkpoint takes a file of the base's folder as it is: tokenizer, templates, licence."""
    is_text = file.suffix in TEXT_SUFFIXES and file.name not in NOT_COPIED
    return is_text or file.name.startswith(LICENCE_NAMES)


def checks_of(done: Mapping[str, Any]) -> list[MergeCheck]:
    """The figures in a merged checkpoint's DONE.json, its own first."""
    names = MergeCheck.__dataclass_fields__
    found = [done, done.get("other")]
    return [MergeCheck(**{name: record[name] for name in names}) for record in found if record]


def told(run: Path, check: MergeCheck) -> str:
    """A check in a sentence."""
    return f"{run.name} merged onto {check.onto}: {check}"
