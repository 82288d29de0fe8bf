"""Adapter + base → standalone checkpoint, checked before it may be used.

An adapter trained on NF4 weights can be merged onto those (dequantised) or onto the bf16 base: both are defensible and
they differ. Either way the merged checkpoint must give the verdicts of the model that was trained: NF4 base + adapter.
So what was written is loaded again and asked.
"""

import gc
import shutil
import uuid
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from peft import PeftModel

from evenhand.checkpoints import checked_hash, checkpoint_hash, load_tokenizer
from evenhand.errors import ConfigError, DataError, ModelError, told
from evenhand.jsonl import sync_folder, write_json
from evenhand.lease import held
from evenhand.run_directory import DONE_FILE, PROVENANCE_FILE, is_done, read_json, refuse_changed
from training.config import TrainingConfig
from training.data import load_data
from training.finished_run import trained_base, training_data
from training.merge_check import LogOdds, MergeCheck, Question, compare, margins, sample_prompts
from training.merged_weights import ROUNDING_SEED, merge_adapter
from training.model_card import write_card
from training.qlora import load_base
from training.run import ADAPTER_DIR
from training.run_folder import MERGED_PREFIX, MERGING_LEASE, finished_config
from training.sections import QuantisationConfig

BF16, NF4 = "bf16", "nf4"
SHARD_SIZE = "5GB"  # of a weight file, at most
TEXT_SUFFIXES = (".json", ".jinja", ".model", ".txt")
LICENCE_NAMES = ("LICENSE", "LICENCE", "NOTICE", "USE_POLICY")
# Written by the merge; or, beside config.json, taken by vLLM for a checkpoint in Mistral's own layout.
NOT_COPIED = ("config.json", "model.safetensors.index.json", "params.json", DONE_FILE)


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
            check = check_of(target, done)
            checked_hash(target, done.get("checkpoint_hash"), "delete the folder and merge again")
            print(f"{target}: merged and checked already")
            print(in_words(run, check))
            if "checkpoint_hash" not in done:
                print(f"{target}: was merged without a hash of its files: whether they are as merged is unknown")
            refuse_disagreement(run, check, min_agreement)
            return target
        partial = run / f"{MERGED_PREFIX}{onto}.{uuid.uuid4().hex}.partial"
        try:
            facts = merge_anew(run, config, onto, partial, n_prompts, min_agreement)
            lease.refuse_if_lost()
            write_json(partial / DONE_FILE, facts)
            write_card(run, partial)
            if target.exists():  # no whole checkpoint
                shutil.rmtree(target)
            partial.rename(target)
        finally:
            shutil.rmtree(partial, ignore_errors=True)
        sync_folder(run)
    return target


def merge_anew(
    run: Path, config: TrainingConfig, onto: str, partial: Path, n_prompts: int, min_agreement: float
) -> dict[str, Any]:
    """Write a checkpoint to `partial` and ask it as it lies there; the content of its DONE.json."""
    recorded = read_json(run / DONE_FILE).get("adapter_hash")
    checked_hash(run / ADAPTER_DIR, recorded, "restore them from a copy, or delete the run and train again")
    base = trained_base(run, config)
    data = load_data(config)
    question = sample_prompts(data, config, load_tokenizer(base), n_prompts)
    print(f"{run.name}: judging {len(question.prompts)} prompts with base + adapter as trained", flush=True)
    expected = margins(adapted(run, base, config.quantisation), question)
    release()
    print(f"{run.name}: merging onto {onto}, then judging the same prompts with what was merged", flush=True)
    check = compare(judged(run, config, base, onto, question, partial), expected, onto)
    print(in_words(run, check), flush=True)
    refuse_disagreement(run, check, min_agreement)
    return {
        "run": run.name,
        "base_hash": read_json(run / PROVENANCE_FILE)["model"]["checkpoint_hash"],
        "checkpoint_hash": checkpoint_hash(partial),
        **asdict(check),
        **training_data(run, data),
        "min_agreement": min_agreement,
        "rounding_seed": ROUNDING_SEED,
    }


def refuse_disagreement(run: Path, check: MergeCheck, min_agreement: float) -> None:
    """Raises ModelError when a merge judges otherwise than what was trained, with what else to try."""
    if check.agreement_rate < min_agreement:
        other = NF4 if check.onto == BF16 else BF16
        raise ModelError(
            f"{run}: merged onto {check.onto}, only {check.agreement_rate:.1%} of {check.n_prompts} verdicts agree "
            f"with base + adapter ({min_agreement:.0%} asked for). Try `--onto {other}`; train longer (margins near 0 "
            "flip easily), or lower --min-agreement"
        )


def judged(run: Path, config: TrainingConfig, base: Path, onto: str, question: Question, target: Path) -> list[LogOdds]:
    """What a merge says, of the checkpoint as it was written to `target`."""
    model = merge_adapter(adapted(run, base, to_merge(config.quantisation, onto)))
    save(model, base, target)
    del model
    release()
    model = load_base(target, config.quantisation.model_copy(update={"kind": "none"}))
    found = margins(model, question)
    del model
    release()
    return found


def adapted(run: Path, base: Path, settings: QuantisationConfig) -> Any:
    """The base, held as the settings say, with the run's adapter."""
    model = load_base(base, settings)
    try:
        return PeftModel.from_pretrained(model, run / ADAPTER_DIR)
    except (RuntimeError, MemoryError):
        raise
    except Exception as error:  # of a damaged file anything
        raise ModelError(
            f"{run / ADAPTER_DIR}: cannot be loaded ({told(error)}); restore it, or delete the run and train again"
        ) from error


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


def save(model: Any, base: Path, target: Path) -> None:
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
    model.save_pretrained(target, max_shard_size=SHARD_SIZE)
    for file in copied:
        shutil.copyfile(file, target / file.name)
    for file in target.iterdir():
        file.chmod(0o644)  # safetensors writes 0600, which would hide a shared run from everybody else


def is_copied(file: Path) -> bool:
    """Whether a merged checkpoint takes a file of the base's folder as it is: tokenizer, templates, licence."""
    is_text = file.suffix in TEXT_SUFFIXES and file.name not in NOT_COPIED
    return is_text or file.name.startswith(LICENCE_NAMES)


def check_of(target: Path, done: Mapping[str, Any]) -> MergeCheck:
    """The figures in a merged checkpoint's DONE.json. Raises DataError where it lacks one."""
    found: dict[str, Any] = {name: done.get(name) for name in MergeCheck.__dataclass_fields__}
    if any(not isinstance(value, int | float) for name, value in found.items() if name != "onto"):
        raise DataError(f"{target / DONE_FILE}: lacks figures of the merge; delete {target} and merge again")
    return MergeCheck(**found)


def in_words(run: Path, check: MergeCheck) -> str:
    """A check in a sentence."""
    return f"{run.name} merged onto {check.onto}: {check}"
