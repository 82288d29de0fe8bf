"""A config → a trained adapter, by whichever method the config names: the run's folder, the trainer, what it leaves."""

import resource
import shutil
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import torch
from datasets import disable_progress_bars
from peft import get_peft_model
from transformers import PrinterCallback, ProgressCallback, set_seed

from evenhand.checkpoints import checkpoint_hash, fingerprint, load_tokenizer, resolve
from evenhand.device import on_gpu, torch_device, torch_device_name
from evenhand.files import write_jsonl
from evenhand.float32 import use_onednn
from evenhand.lease import held
from evenhand.run_directory import finish, is_done, open_run, refuse_unwritable
from evenhand.terminal import Stopped
from training.batches import Collator, Group, Schedule, groups_of, schedule
from training.callbacks import (
    MarkComplete,
    MetricsFile,
    ProgressBar,
    Selection,
    StopWhenAsked,
    best_kept,
)
from training.config import AnyRun, LabelFreeRun, TrainingConfig
from training.data import TrainingData, examples_of, load_data, without_dev
from training.examples import Example, Excluded, anchored, reasons_in, set_padding
from training.guard import DivergenceGuard, refuse_diverged
from training.objectives import objective_of
from training.processes import (
    agreed,
    prepare_sharding,
    processes,
    refuse_other_batch,
    refuse_wrong_sharding,
    storage_dtype,
)
from training.qlora import count_trainable, load_base, lora_config, set_adapter_dtype
from training.reference import Reference, objective_for, reference_of
from training.run_folder import (
    ADAPTER_DIR,
    CHECKPOINTS_DIR,
    EXCLUDED_FILE,
    TRAINING_LEASE,
    copy_adapter,
    drop_half_written,
    folder_of,
    last_checkpoint,
)
from training.shortage import shortage_explained
from training.trainer import VerdictTrainer, shared_arguments, training_arguments


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


class Prepared(NamedTuple):
    """What a run trains, on which groups, in which order."""

    model: Any
    groups: list[Group]
    plan: Schedule


def train(config: AnyRun) -> Path:
    """Train (or continue) a run and return its directory. A completed run is left as it is.

    Raises ModelError for a run that diverges, or has before, and when memory is short; DataError for a full disk.
    """
    refuse_wrong_sharding(config)
    refuse_diverged(folder_of(config))
    if not is_done(folder_of(config)):
        torch_device()  # raises before data and models are loaded
    prepared: list[Prepared] = []
    with (
        shortage_explained(config),
        open_training(config, lambda run: prepared.append(prepare(config, run))) as run,
    ):
        is_main = processes().is_main_process
        if is_done(run.path):
            if is_main:
                # A kill may have come between DONE.json and this.
                shutil.rmtree(run.path / CHECKPOINTS_DIR, ignore_errors=True)
                print(f"{run.path}: complete already")
            return run.path
        train_verdicts(config, run, *(prepared or [prepare(config, run)]))
    return run.path


def prepare(config: AnyRun, run: OpenRun) -> Prepared:
    """Load the model with its adapter, and cut the examples into steps. Raises what may still be wrong with a run."""
    if processes().is_main_process:
        where = torch_device_name()
        print(f"loading {config.model.name} on {where}; that takes minutes for a large model", file=sys.stderr)
    refuse_unwritable(run.path)
    shared_arguments(config, run.path)
    groups = groups_of(run.examples, config.optimiser.batch_by)
    plan = schedule(groups, config)
    return Prepared(model_with_adapter(config, run), groups, plan)


@contextmanager
def open_training(
    config: TrainingConfig, before_made: Callable[[OpenRun], object] = lambda run: None
) -> Iterator[OpenRun]:
    """Context manager: the run's directory, made or found, with its examples; no other process trains it meanwhile.

    before_made: called before a new run's directory is made; what it refuses leaves none.
    Raises DataError when data or model have changed, or another process is training this run.
    """
    disable_progress_bars()  # of small steps with data; training shows its own
    state = processes()
    data = load_data(config)
    data.study.refuse_test_data(data.units, config.study)
    if state.is_main_process:
        for note in data.study.notes(data.units):
            print(f"Note: {note}", file=sys.stderr)
    with state.local_main_process_first():  # one process downloads, the others find it cached
        base = resolve(config.model)
    tokenizer = load_tokenizer(base)
    set_padding(tokenizer)
    base_facts = fingerprint(config.model, base)
    kept, aside = without_dev(data, config.dev)
    examples, excluded = examples_of(kept, config, tokenizer)
    dev, dev_excluded = examples_of(aside, config, tokenizer)
    if isinstance(config, LabelFreeRun):  # what has lost its C1 prompt to its length has nothing to be drawn to
        examples, dev = anchored(examples), anchored(dev)
    left_out = [*excluded, *dev_excluded]
    path = folder_of(config)
    if not is_done(path):
        refuse_other_batch(config)
    run = OpenRun(
        path=path,
        base=base,
        tokenizer=tokenizer,
        base_facts=base_facts,
        examples=examples,
        dev=dev,
        n_excluded=len(left_out),
    )
    if not agreed(path.exists()):
        before_made(run)
    with held(path / TRAINING_LEASE, "trained") if state.is_main_process else nullcontext():
        if state.is_main_process:
            drop_half_written(path)
            open_run(path, config, data.set_hash, base_facts, torch_device_name)
            write_jsonl(path / EXCLUDED_FILE, map(asdict, left_out))
            print(f"{path}: {data_words(kept, aside, len(examples), left_out)}")
        state.wait_for_everyone()
        yield run


def data_words(kept: TrainingData, aside: TrainingData, n_examples: int, left_out: Sequence[Excluded]) -> str:
    """What there is to train on, and how many prompts are left out for which reason."""
    why = f" ({reasons_in(left_out)})" if left_out else ""
    called = kept.study.called
    dev = f"; {len(aside)} {called} set aside as dev split" if len(aside) else ""
    return (
        f"{n_examples} examples from {len(kept)} {called}; {len(left_out)} prompts left out{why} (listed "
        f"in {EXCLUDED_FILE}){dev}"
    )


def train_verdicts(config: AnyRun, run: OpenRun, prepared: Prepared) -> None:
    """Train with VerdictTrainer: every method, one forward pass a microbatch."""
    model, groups, plan = prepared
    pad = run.tokenizer.pad_token_id
    asks = objective_of(config).needs_reference and getattr(config, "precompute_reference", True)
    # Less than an epoch leaves groups out: the base is not asked about them.
    trained = [e for index in sorted({n for batch in plan.microbatches for n in batch}) for e in groups[index]]
    reference = reference_of([*trained, *run.dev], config, model, run.base_facts, pad) if asks else None
    objective = objective_for(config, trained, reference)
    collator = Collator(
        pad=pad,
        branches=objective.branches,
        reference=reference.answers if reference else None,
        row_tokens=config.optimiser.row_tokens,
        device=model.device.type,
    )
    metrics, stopping = MetricsFile(run.path), StopWhenAsked()
    selection = Selection(run.path, config.dev) if config.dev else None
    guard = DivergenceGuard(run.path, config, objective)
    keeping = [MarkComplete(run.path), *([selection] if selection else [])]
    trainer = VerdictTrainer(
        model=model,
        args=training_arguments(config, run.path),
        groups=groups,
        dev=groups_of(run.dev, config.optimiser.batch_by),
        plan=plan,
        objective=objective,
        collator=collator,
        processing_class=run.tokenizer,
        callbacks=[metrics, guard, *keeping, stopping],
    )
    prepare_sharding(trainer, config)
    if selection:
        selection.trainer = trainer
    for printing in (ProgressCallback, PrinterCallback):  # which of the two is there depends on the logging level
        trainer.remove_callback(printing)
    trainer.add_callback(ProgressBar())
    trainer.train(resume_from_checkpoint=agreed(last_checkpoint(run.path)))
    if stopping.is_stopping and not (selection and selection.stopped_at):
        raise Stopped(signal.SIGUSR1)  # by which the job script was warned of its time limit
    best, selection_facts = selected(run, selection)
    facts = {
        "method": config.method,
        "n_trainable": count_trainable(trainer.model),
        "epochs": round(plan.epochs, 4),
        **cost(plan, groups, trainer.state.global_step, metrics.seconds, reference),
        **trainer.skipped(),
        **selection_facts,
    }
    close_training(run, trainer, facts, best=best)


def model_with_adapter(config: AnyRun, run: OpenRun) -> Any:
    """The frozen base with an adapter that does nothing yet."""
    if not on_gpu():
        use_onednn()
    set_seed(config.optimiser.seed)  # the adapter's first weights are drawn here
    base = load_base(run.base, config.quantisation, storage=storage_dtype(config))
    model = get_peft_model(base, lora_config(config.lora, base))
    set_adapter_dtype(model, config.lora)
    if config.optimiser.gradient_checkpointing:
        model.enable_input_require_grads()
    return model


def cost(
    plan: Schedule, groups: Sequence[Group], n_steps: int, seconds: float, reference: Reference | None
) -> dict[str, Any]:
    """What the run took: seconds (wall clock), processes, device, peak memory in GiB; tokens of all examples' prompts
    and answers, shared beginnings counted for each.
    """
    share = n_steps / plan.n_steps  # below 1 for a run stopped early
    n_tokens = sum(e.n_tokens for batch in plan.microbatches for index in batch for e in groups[index])
    is_gpu = on_gpu()
    peak = torch.cuda.max_memory_allocated() if is_gpu else resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return {
        "seconds": round(seconds, 1),
        **({"reference_seconds": round(reference.seconds, 1)} if reference else {}),
        "n_tokens": round(n_tokens * share),
        "n_processes": processes().num_processes,
        "device": torch.cuda.get_device_name() if is_gpu else "cpu",
        "peak_memory_gib": round(peak / 2**30, 2),
    }


def selected(run: OpenRun, selection: Selection | None) -> tuple[Path | None, dict[str, Any]]:
    """(the adapter that the run ends with, None for the last; for DONE.json the best by the dev split)."""
    if selection is None:
        return None, {}
    best = best_kept(run.path)
    assert best is not None, "the last step is always evaluated"
    folder, score = best
    facts: dict[str, Any] = {"selected": selection.settings.select, "best": score}
    if selection.stopped_at is not None:
        facts["stopped_early_at_step"] = selection.stopped_at
    return folder if selection.settings.select == "best" else None, facts


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
    shutil.rmtree(run.path / CHECKPOINTS_DIR, ignore_errors=True)
