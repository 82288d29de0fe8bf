"""A config → a trained adapter, by whichever method the config names: the run's folder, the trainer, what it leaves."""

import resource
import shutil
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch
from datasets import disable_progress_bars
from peft import get_peft_model
from transformers import PrinterCallback, set_seed

from evenhand.checkpoints import checkpoint_hash, fingerprint, load_tokenizer, resolve
from evenhand.device import on_gpu, torch_device, torch_device_name
from evenhand.files import write_json, write_jsonl
from evenhand.float32 import use_onednn
from evenhand.lease import held
from evenhand.run_directory import ITEMS_FILE, check_writable, finish, is_done, open_run
from evenhand.terminal import Stopped
from training.batches import Collator, Group, Schedule, groups_of, n_tokens, schedule
from training.callbacks import MarkComplete, MetricsFile, ProgressBar, Selection, StopWhenAsked, best_of
from training.config import AnyRun, TrainingConfig
from training.examples import Example, Excluded, anchored, reasons_in, set_padding
from training.guard import DivergenceGuard, check_not_diverged
from training.objectives import objective_of
from training.processes import agreed, check_launch, processes
from training.qlora import check_precision, load_base, lora_config, set_adapter_dtype
from training.reference import Reference, chance_of, reference_of
from training.replies import ReplyTargets
from training.run_folder import (
    ADAPTER_DIR,
    ADAPTER_FILES,
    CHECKPOINTS_DIR,
    EXCLUDED_FILE,
    TRAINING_LEASE,
    folder_of,
    last_checkpoint,
    sync_files,
)
from training.shortage import less_memory, shortage_explained
from training.trainer import VerdictTrainer, training_arguments


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingInputs:
    """What a run trains, and on what."""

    path: Path  # of the run
    base: Path  # folder of the model that is trained
    base_facts: dict[str, Any]  # its fingerprint
    tokenizer: Any
    units: Sequence[Any]  # everything that was loaded
    examples: list[Example]
    dev: list[Example]  # set aside to choose the checkpoint by; empty without a dev split
    excluded: list[Excluded]
    replies: ReplyTargets | None = None  # what the examples are made of, where they are written replies


def train(config: AnyRun) -> Path:
    """Train (or continue) a run and return its directory. A completed run is left as it is.

    Raises ModelError for a run that diverges, or has before, and when memory is short; DataError for a full disk.
    """
    path = folder_of(config)
    check_precision(config)
    check_not_diverged(path)
    if not is_done(path):
        torch_device()  # raises before data and models are loaded
    advice = f"What helps, in this order: {less_memory(config)}. A changed setting is another run, which begins anew"
    with shortage_explained(advice):
        inputs = inputs_of(config)
        # Before the directory is made: what cannot be trained leaves none.
        prepared = None if agreed(path.exists()) else prepare(config, inputs)
        with open_training(config, inputs):
            if not is_done(path):
                train_verdicts(config, inputs, *(prepared or prepare(config, inputs)))
            elif processes().is_main_process:
                # A kill may have come between DONE.json and this.
                shutil.rmtree(path / CHECKPOINTS_DIR, ignore_errors=True)
                print(f"{path}: complete already")
    return path


def inputs_of(config: AnyRun) -> TrainingInputs:
    """Base, tokenizer and examples of a run. Raises DataError for data that are absent or give away test items."""
    disable_progress_bars()  # of small steps with data; training shows its own
    state = processes()
    study, units = config.training, config.load_units()
    study.check_test_data(units, config.study)
    if state.is_main_process:
        for note in study.notes(units):
            print(f"Note: {note}", file=sys.stderr)
    with state.local_main_process_first():  # one process downloads, the others find it cached
        base = resolve(config.model)
    tokenizer = load_tokenizer(base)
    set_padding(tokenizer)
    to_train, to_choose = config.split(units)
    replies = ReplyTargets(config, tokenizer) if config.examples.replies else None
    make = replies.examples if replies else partial(study.examples, config=config, tokenizer=tokenizer)
    examples, excluded = make(to_train)
    dev, excluded_dev = make(to_choose) if to_choose else ([], [])
    if not (config.has_labels or replies):  # what has lost its C1 prompt to its length has nothing to be drawn to
        examples, dev = anchored(examples), anchored(dev)
    excluded += excluded_dev
    if state.is_main_process:
        reasons = f" ({reasons_in(excluded)})" if excluded else ""
        print(
            f"{config.name}: {len(examples)} examples from {len(to_train)} {study.called}, {len(dev)} from "
            f"{len(to_choose)} in the dev split; {len(excluded)} prompts left out{reasons}"
        )
        if replies:
            print(replies.summary())
    return TrainingInputs(
        path=folder_of(config),
        base=base,
        base_facts=fingerprint(config.model, base),
        tokenizer=tokenizer,
        units=units,
        examples=examples,
        dev=dev,
        excluded=excluded,
        replies=replies,
    )


def prepare(config: AnyRun, inputs: TrainingInputs) -> tuple[Any, list[Group], Schedule]:
    """(the frozen base with an adapter that does nothing yet, groups, the order of their microbatches). Raises what may
    still be wrong with a run.
    """
    check_launch(config)
    if processes().is_main_process:
        where = torch_device_name()
        print(f"loading {config.model.name} on {where}; that takes minutes for a large model", file=sys.stderr)
    check_writable(inputs.path)
    training_arguments(config, inputs.path)
    groups = groups_of(inputs.examples, config.optimiser.batch_by)
    plan = schedule(groups, config)
    if not on_gpu():
        use_onednn()
    set_seed(config.optimiser.seed)  # the adapter's first weights are drawn here
    base = load_base(inputs.base, config.quantisation)
    model = get_peft_model(base, lora_config(config.lora, base))
    set_adapter_dtype(model, config.lora)
    if config.optimiser.gradient_checkpointing:
        model.enable_input_require_grads()
    return model, groups, plan


@contextmanager
def open_training(config: TrainingConfig, inputs: TrainingInputs) -> Iterator[None]:
    """Context manager: the run's directory, made or found; no other process trains it meanwhile.

    Raises DataError when data or model have changed, or another process is training this run.
    """
    state, path, study = processes(), inputs.path, config.training
    with held(path / TRAINING_LEASE, "trained") if state.is_main_process else nullcontext():
        if state.is_main_process:
            content_hash, read = study.content_hash(inputs.units), inputs.replies and inputs.replies.inputs
            open_run(path, config, content_hash, inputs.base_facts, torch_device_name, inputs=read)
            write_jsonl(path / EXCLUDED_FILE, (prompt.line for prompt in inputs.excluded))
            write_json(path / ITEMS_FILE, {"hashes": sorted(map(study.unit_hash, inputs.units))})
        state.wait_for_everyone()
        yield


def train_verdicts(config: AnyRun, run: TrainingInputs, model: Any, groups: list[Group], plan: Schedule) -> None:
    """Train with VerdictTrainer: every method, one forward pass a microbatch."""
    pad, objective = run.tokenizer.pad_token_id, objective_of(config)
    # Less than an epoch leaves groups out: the base is not asked about them.
    trained = [e for index in sorted({n for batch in plan.microbatches for n in batch}) for e in groups[index]]
    reference = None
    if objective.needs_reference:
        reference = reference_of([*trained, *run.dev], config, model, run.base_facts, pad)
    answers = reference.answers if reference else None
    collator = Collator(
        pad=pad,
        branches=objective.branches,
        reference=answers,
        row_tokens=config.optimiser.row_tokens,
        device=model.device.type,
    )
    metrics = MetricsFile(run.path)
    guard = DivergenceGuard(run.path, config, chance_of(config, trained, answers, len(run.tokenizer)))
    trainer = VerdictTrainer(
        model,
        plan=plan,
        objective=objective,
        args=training_arguments(config, run.path),
        train_dataset=groups,
        eval_dataset=groups_of(run.dev, config.optimiser.batch_by) or None,
        data_collator=collator,
        callbacks=[metrics, guard, MarkComplete(), Selection(), StopWhenAsked(), ProgressBar()],
    )
    trainer.remove_callback(PrinterCallback)
    trainer.train(resume_from_checkpoint=agreed(processes().is_main_process and last_checkpoint(run.path)))
    if trainer.state.global_step < trainer.state.max_steps:
        raise Stopped(signal.SIGUSR1)  # by which the job script was warned of its time limit
    facts = {
        "method": config.method,
        "n_trainable": trainer.model.get_nb_trainable_parameters()[0],
        "epochs": round(plan.epochs, 4),
        **cost(plan, groups, metrics.seconds, reference),
        **({"replies": run.replies.counts} if run.replies else {}),
    }
    adapter = None
    if config.dev:
        adapter, facts["best"] = best_of(run.path, trainer.state)
    close_training(run, trainer, facts, adapter)


def cost(plan: Schedule, groups: Sequence[Group], seconds: float, reference: Reference | None) -> dict[str, Any]:
    """What the run took: seconds (wall clock), processes, device, peak memory in GiB; tokens of all examples' prompts
    and answers, shared beginnings counted for each.
    """
    is_gpu = on_gpu()
    peak = torch.cuda.max_memory_allocated() if is_gpu else resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return {
        "seconds": round(seconds, 1),
        **({"reference_seconds": round(reference.seconds, 1)} if reference else {}),
        "n_tokens": sum(n_tokens(groups[index]) for batch in plan.microbatches for index in batch),
        "n_processes": processes().num_processes,
        "device": torch.cuda.get_device_name() if is_gpu else "cpu",
        "peak_memory_gib": round(peak / 2**30, 2),
    }


def close_training(run: TrainingInputs, trainer: Any, facts: dict[str, Any], adapter: Path | None = None) -> None:
    """Save an adapter (the last, where none is given), then DONE.json; checkpoints are needed no more."""
    last = run.path / CHECKPOINTS_DIR / "last"
    trainer.save_model(str(last))
    if not processes().is_main_process:
        return
    target = run.path / ADAPTER_DIR
    target.mkdir(exist_ok=True)
    for name in ADAPTER_FILES:
        shutil.copy2((adapter or last) / name, target / name)
    sync_files(target)
    counts = {"n_examples": len(run.examples), "n_dev": len(run.dev), "n_excluded": len(run.excluded)}
    counts["n_steps"] = trainer.state.global_step
    finish(run.path, {**counts, **facts, "adapter_hash": checkpoint_hash(run.path / ADAPTER_DIR)})
    shutil.rmtree(run.path / CHECKPOINTS_DIR, ignore_errors=True)
