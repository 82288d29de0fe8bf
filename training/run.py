"""A training run's directory and data: what SFT and DPO both do before their trainer and after it.

`runs/training/<name>-<digest>/`: config.yaml, provenance.json, excluded.jsonl (prompts left out for their length),
metrics.jsonl, checkpoints/ to continue from, adapter/, and DONE.json last; where it was stopped (divergence_guard),
DIVERGED.json and best/ instead of the last two.
"""

import os
import shutil
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeVar

from accelerate import PartialState
from accelerate.utils import broadcast_object_list
from datasets import disable_progress_bars

from evenhand.checkpoints import checkpoint_hash, fingerprint, load_tokenizer, resolve
from evenhand.device import on_gpu, torch_device_name
from evenhand.errors import ConfigError
from evenhand.jsonl import sync_folder, write_json, write_jsonl
from evenhand.lease import held
from evenhand.run_directory import finish, is_done, open_run, run_path
from training.config import OwnC1Run, TrainingConfig
from training.data import TrainingData, examples_of, load_data
from training.dev import without_dev
from training.examples import Example, Excluded, anchored, set_padding
from training.run_folder import EXCLUDED_FILE, TRAINING_LEASE

ADAPTER_DIR = "adapter"
ADAPTER_FILES = ("adapter_config.json", "adapter_model.safetensors")
CHECKPOINTS_DIR = "checkpoints"
BEST_DIR = "best"  # the best adapter of a run that was stopped
SCORE_FILE = "score.json"  # in a best adapter's folder: the step it is of and its measures
COMPLETE_FILE = "COMPLETE"  # in a checkpoint whose every file is written
FREE_OF_EFFECT = {"run", "guard"}  # sections that change no number of a run, only when it is stopped and where it lies
# How long a process waits for the others: for the first to download a model, for the slowest to ask the base about its
# last examples. torch's own ten minutes on GPUs are too short for both.
PATIENCE = timedelta(hours=3)
Value = TypeVar("Value")


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenRun:
    """A run directory that is ready to train in."""

    path: Path
    base: Path  # folder of the model that is trained
    tokenizer: Any
    base_facts: dict[str, Any]  # the base's fingerprint
    examples: list[Example]
    dev: list[Example]  # set aside to choose the checkpoint by; empty without a dev split
    n_excluded: int

    @property
    def is_done(self) -> bool:
        """Whether the run was completed before."""
        return is_done(self.path)


@contextmanager
def open_training(config: TrainingConfig) -> Iterator[OpenRun]:
    """Context manager: the run's directory, made or found, with its examples; no other process trains it meanwhile.

    Raises DataError when data or model have changed, or another process is training this run.
    """
    disable_progress_bars()  # of small steps with data; training shows its own
    data = load_data(config)
    data.study.refuse_test_data(data.units, config.study)
    if processes().is_main_process:
        for note in data.study.notes(data.units):
            print(f"Note: {note}", file=sys.stderr)
    with processes().local_main_process_first():  # one process downloads, the others find it cached
        base = resolve(config.model)
    tokenizer = load_tokenizer(base)
    set_padding(tokenizer)
    base_facts = fingerprint(config.model, base)
    kept, aside = without_dev(data, config.dev)
    examples, excluded = examples_of(kept, config, tokenizer)
    dev, dev_excluded = examples_of(aside, config, tokenizer)
    if isinstance(config, OwnC1Run):  # what has lost its C1 prompt to its length has nothing to be drawn to
        examples, dev = anchored(examples), anchored(dev)
    left_out = [*excluded, *dev_excluded]
    path = folder_of(config)
    if not is_done(path):
        refuse_other_batch(config)
    with ExitStack() as stack:
        with main_process_first() as is_main:
            if is_main:
                stack.enter_context(held(path / TRAINING_LEASE, "trained"))
                drop_half_written(path)
                open_run(path, config, data.set_hash, base_facts, torch_device_name)
                write_jsonl(path / EXCLUDED_FILE, map(asdict, left_out))
        if processes().is_main_process:
            print(f"{path}: {told_of_data(config, kept, aside, len(examples), left_out)}")
        yield OpenRun(
            path=path,
            base=base,
            tokenizer=tokenizer,
            base_facts=base_facts,
            examples=examples,
            dev=dev,
            n_excluded=len(left_out),
        )


def told_of_data(
    config: TrainingConfig, kept: TrainingData, held: TrainingData, n_examples: int, left_out: Sequence[Excluded]
) -> str:
    """What there is to train on, and how many prompts are left out for what."""
    counts = Counter(prompt.reason for prompt in left_out)
    why = f" ({'; '.join(f'{reason}: {n}' for reason, n in counts.most_common())})" if counts else ""
    called = kept.study.called
    aside = f"; {len(held)} {called} set aside as dev split" if len(held) else ""
    return (
        f"{n_examples} examples from {len(kept)} {called}; {len(left_out)} prompts left out{why} (listed "
        f"in {EXCLUDED_FILE}){aside}"
    )


def folder_of(config: TrainingConfig) -> Path:
    """Where a config's run lies."""
    return run_path(config.run.root, "training", config.name, config, FREE_OF_EFFECT)


def refuse_other_batch(config: TrainingConfig) -> None:
    """Raises ConfigError when another number of processes was launched than the config's batch is counted for.

    `accelerate launch` takes every GPU it sees; the batch, and so the experiment, would grow with the node.
    """
    launched, meant = processes().num_processes, config.optimiser.n_processes
    if launched != meant:
        batch = config.optimiser.per_device_batch_size * config.optimiser.gradient_accumulation_steps
        raise ConfigError(
            f"optimiser.n_processes is {meant}, but {launched} were launched: the effective batch would be "
            f"{batch * launched} instead of {batch * meant}. Launch with `accelerate launch --num_processes {meant}`, "
            f"or set optimiser.n_processes={launched} and lower gradient_accumulation_steps, or where that is 1 "
            "per_device_batch_size, to keep the batch"
        )


def processes() -> PartialState:
    """Which of the processes of `accelerate launch` this one is."""
    # Without cpu, processes without GPUs do not see each other.
    return PartialState(cpu=not on_gpu(), timeout=PATIENCE)


def agreed(value: Value) -> Value:
    """The first process's value, in all of them: each looks at the disk for itself, and may see other files."""
    found: list[Value] = broadcast_object_list([value])
    return found[0]


@contextmanager
def main_process_first() -> Iterator[bool]:
    """Yields True in the main process of `accelerate launch`; the others wait until it has left the block."""
    state = processes()
    with state.main_process_first():
        yield state.is_main_process


def last_checkpoint(path: Path) -> Path | None:
    """The newest whole checkpoint of a run; one that a kill left half written is passed over."""
    whole = [file.parent for file in (path / CHECKPOINTS_DIR).glob(f"checkpoint-*/{COMPLETE_FILE}")]
    return max(whole, key=lambda folder: int(folder.name.partition("-")[2]), default=None)


def drop_half_written(path: Path) -> None:
    """Delete the checkpoints that a kill left half written: they take room, and count where old ones are deleted."""
    for folder in (path / CHECKPOINTS_DIR).glob("checkpoint-*"):
        if not (folder / COMPLETE_FILE).exists():
            shutil.rmtree(folder)


def close_training(run: OpenRun, trainer: Any, facts: dict[str, Any], *, best: Path | None = None) -> None:
    """Save the adapter (the last, or that of `best`), then DONE.json; checkpoints are needed no more."""
    last = run.path / CHECKPOINTS_DIR / "last"
    trainer.save_model(str(last))  # by every process: sharded weights are gathered
    if not processes().is_main_process:
        return
    copy_adapter(best or last, run.path / ADAPTER_DIR)
    counts = {"n_examples": len(run.examples), "n_dev": len(run.dev), "n_excluded": run.n_excluded}
    counts["n_steps"] = trainer.state.global_step
    finish(run.path, {**counts, **facts, "adapter_hash": checkpoint_hash(run.path / ADAPTER_DIR)})
    drop_checkpoints(run.path)


def drop_checkpoints(path: Path) -> None:
    """Delete what a completed run needs no more."""
    for folder in (CHECKPOINTS_DIR, BEST_DIR):
        shutil.rmtree(path / folder, ignore_errors=True)


def copy_adapter(source: Path, target: Path, score: Mapping[str, float] | None = None) -> None:
    """The adapter's two files in a folder that is whole or absent; a folder already there is replaced.

    score: what the folder's score.json shall hold, if it shall have one.
    """
    partial = target.with_name(f"{target.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    for name in ADAPTER_FILES:
        shutil.copy2(source / name, partial / name)
    if score is not None:
        write_json(partial / SCORE_FILE, score)
    sync_files(partial)
    shutil.rmtree(target, ignore_errors=True)
    partial.rename(target)
    sync_folder(target.parent)


def sync_files(folder: Path) -> None:
    """Make a folder's files survive a power cut, and have a full disk or quota speak up now if it has not yet."""
    for file in folder.rglob("*"):
        if file.is_file():
            descriptor = os.open(file, os.O_RDONLY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
    sync_folder(folder)
