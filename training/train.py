"""A config → a trained adapter, by whichever method the config names."""

import resource
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from peft import get_peft_model
from transformers import ProgressCallback, set_seed

from evenhand.command import Stopped
from evenhand.device import on_gpu, torch_device, torch_device_name
from evenhand.errors import DataError
from evenhand.float32 import use_onednn
from evenhand.run_directory import is_done
from training.arguments import training_arguments
from training.batches import Bundle, Collator, Schedule, bundles_of, packing_of, schedule
from training.callbacks import GradientCheck, MarkComplete, MetricsFile, ProgressBar, StopWhenAsked
from training.chance_accuracy import luck_of, objective_for
from training.config import AnyRun
from training.disk import told_when_full
from training.divergence_guard import DivergenceGuard, refuse_diverged
from training.memory import told_when_out_of_memory
from training.objectives import Branches, Objective, objective_of
from training.packing import Packing
from training.qlora import count_trainable, load_base, lora_config, set_adapter_dtype
from training.reference import Reference, reference_of
from training.run import (
    CHECKPOINTS_DIR,
    OpenRun,
    agreed,
    close_training,
    drop_checkpoints,
    folder_of,
    last_checkpoint,
    open_training,
    processes,
)
from training.selection import Best, BestByLoss, Selection, best_kept
from training.sharding import prepare_sharding, refuse_wrong_sharding, storage_dtype
from training.trainer import VerdictTrainer


def train(config: AnyRun) -> Path:
    """Train (or continue) a run and return its directory. A completed run is left as it is.

    Raises ModelError for a run that diverges, or has before, and when memory is short; NoRoomError for a full disk.
    """
    refuse_wrong_sharding(config)
    refuse_diverged(folder_of(config))
    if not is_done(folder_of(config)):
        torch_device()  # raises before data and models are loaded
    with told_when_full(config), open_training(config) as run, told_when_out_of_memory("training"):
        if run.is_done:
            if processes().is_main_process:
                drop_checkpoints(run.path)  # a kill may have come between DONE.json and this
                print(f"{run.path}: complete already")
            return run.path
        if processes().is_main_process:
            where = torch_device_name()
            print(f"loading {config.model.name} on {where}; that takes minutes for a large model", file=sys.stderr)
        train_verdicts(config, run)
    return run.path


def train_verdicts(config: AnyRun, run: OpenRun) -> None:
    """Train with VerdictTrainer: every method, one forward pass a microbatch."""
    model = model_with_adapter(config, run)
    reference = asked_before(config, run, model)
    objective = objective_for(config, run.examples, reference)
    bundles = bundles_of(run.examples, config.optimiser.order)
    plan = schedule(bundles, config)
    collator = collator_for(config, objective.branches, reference, run.tokenizer.pad_token_id)
    packing = packing_of(plan, bundles, collator)
    if processes().is_main_process:
        print(told_of_rows(packing))
    metrics = MetricsFile(run.path)
    selection = Selection(run.path, config.dev) if config.dev else None
    guard = guard_of(config, run, objective, items_of(plan, bundles, config))
    # MarkComplete stands behind the guard, which looks at the saved weights first.
    stopping = StopWhenAsked()
    keeping = [guard, MarkComplete(run.path), selection or BestByLoss(run.path)]
    trainer = VerdictTrainer(
        model=model,
        args=training_arguments(config, run.path),
        bundles=bundles,
        dev=bundles_of(run.dev, config.optimiser.order),
        plan=plan,
        objective=objective,
        collator=collator,
        processing_class=run.tokenizer,
        callbacks=[metrics, GradientCheck(), *keeping, stopping],
    )
    prepare_sharding(trainer, config)
    if selection:
        selection.trainer = trainer
    trainer.remove_callback(ProgressCallback)
    trainer.add_callback(ProgressBar())
    trainer.train(resume_from_checkpoint=agreed(last_checkpoint(run.path)))
    if stopping.is_stopping and not (selection and selection.stopped_at):
        raise Stopped(signal.SIGUSR1)  # what the job script was told its time limit by
    best = best_of(run) if config.dev else None
    facts = {
        "method": config.method,
        "n_trainable": count_trainable(trainer.model),
        "epochs": round(plan.epochs, 4),
        "computed_per_needed_token": round(packing.padded, 4),
        "saved_by_shared_beginnings": round(packing.saved, 4),
        **cost(plan, bundles, trainer.state.global_step, metrics.seconds, reference),
        **trainer.skipped(),
        **chosen(config, selection, best),
    }
    close_training(run, trainer, facts, best=best.folder if best and facts["selected"] == "best" else None)


def collator_for(config: AnyRun, branches: Branches, reference: Reference | None, pad: int) -> Collator:
    """What lays a run's microbatches out."""
    return Collator(
        pad=pad,
        branches=branches,
        reference=reference.answers if reference else None,
        row_tokens=config.optimiser.row_tokens,
    )


def told_of_rows(packing: Packing) -> str:
    """How well a run's microbatches fill their rows."""
    saved = f"shared beginnings save {packing.saved:.0%} of all"
    return f"rows: {packing.padded:.2f} tokens computed for each needed one; {saved}"


def model_with_adapter(config: AnyRun, run: OpenRun) -> Any:
    """The frozen base with an adapter that does nothing yet."""
    if not on_gpu():
        use_onednn()
    set_seed(config.optimiser.seed)  # the adapter's first weights are drawn here
    with told_when_out_of_memory("the model is loaded"):
        base = load_base(run.base, config.quantisation, storage=storage_dtype(config))
    model = get_peft_model(base, lora_config(config.lora, base))
    set_adapter_dtype(model, config.lora)
    if config.optimiser.gradient_checkpointing:
        model.enable_input_require_grads()
    return model


def asked_before(config: AnyRun, run: OpenRun, model: Any) -> Reference | None:
    """What the base says of every example, for the methods that need it; None where each step asks for itself."""
    if not objective_of(config).needs_reference or not getattr(config, "precompute_reference", True):
        return None
    return reference_of([*run.examples, *run.dev], config, model, run.base_facts, run.tokenizer.pad_token_id)


def guard_of(config: AnyRun, run: OpenRun, objective: Objective, items: Callable[[int], list[str]]) -> DivergenceGuard:
    """What stops a run of this objective."""
    slope, luck, n_dev = objective.slope, luck_of(run.examples), len(run.dev)
    return DivergenceGuard(run.path, config, objective.chance, slope=slope, luck=luck, n_dev=n_dev, items_of=items)


def items_of(plan: Schedule, bundles: Sequence[Bundle], config: AnyRun) -> Callable[[int], list[str]]:
    """Optimiser step, counted from 1 → the ids of the items that it trains on."""
    n_micro = config.optimiser.gradient_accumulation_steps * config.optimiser.n_processes

    def items(step: int) -> list[str]:
        batches = plan.microbatches[(step - 1) * n_micro : step * n_micro]
        return list(dict.fromkeys(e.item_id for batch in batches for index in batch for e in bundles[index]))

    return items


def cost(
    plan: Schedule, bundles: list[Any], n_steps: int, seconds: float, reference: Reference | None
) -> dict[str, Any]:
    """What the run took: seconds (wall clock), processes, device, peak memory in GiB; tokens of all examples' prompts
    and answers, shared beginnings counted for each.
    """
    share = n_steps / plan.n_steps  # below 1 for a run stopped early
    n_tokens = sum(e.n_tokens for batch in plan.microbatches for index in batch for e in bundles[index])
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


def best_of(run: OpenRun) -> Best:
    """The best adapter by the dev split. Raises DataError when somebody has deleted it."""
    if best := best_kept(run.path):
        return best
    raise DataError(
        f"{run.path / CHECKPOINTS_DIR}: the best adapter by the dev split is gone; delete {run.path} and train again"
    )


def chosen(config: AnyRun, selection: Selection | None, best: Best | None) -> dict[str, Any]:
    """Which adapter the run ends with, the best by the dev split, and at which step it was stopped early if it was."""
    if selection is None or config.dev is None or best is None:
        return {}
    facts: dict[str, Any] = {"selected": config.dev.select, "best": best.score}
    if selection.stopped_at is not None:
        facts["stopped_early_at_step"] = selection.stopped_at
    return facts
