"""A config → a trained adapter, by whichever method and trainer the config names."""

import resource
from pathlib import Path
from typing import Any

import torch
from peft import get_peft_model
from transformers import ProgressCallback, TrainerCallback, set_seed

from training.arguments import training_arguments
from training.batches import Collator, Schedule, bundles_of, schedule
from training.callbacks import DivergenceGuard, GradientCheck, MarkComplete, MetricsFile, ProgressBar
from training.config import AnyRun, DPORun, SFTRun
from training.objectives import objective_of
from training.qlora import count_trainable, load_base, lora_config, set_adapter_dtype
from training.reference import reference_of
from training.run import OpenRun, close_training, last_checkpoint, open_training, processes
from training.selection import Selection, best_score
from training.stock import train_dpo, train_sft
from training.trainer import VerdictTrainer


def train(config: AnyRun) -> Path:
    """Train (or continue) a run and return its directory. A completed run is left as it is."""
    run = open_training(config)
    if run.is_done:
        print(f"{run.path}: complete already")
    elif config.trainer == "verdict":
        train_verdicts(config, run)
    elif isinstance(config, SFTRun):
        train_sft(config, run)
    elif isinstance(config, DPORun):
        train_dpo(config, run)
    return run.path


def train_verdicts(config: AnyRun, run: OpenRun) -> None:
    """Train with VerdictTrainer: every method, one forward pass a micro-batch."""
    set_seed(config.optimiser.seed)  # the adapter's first weights are drawn here
    base = load_base(run.base, config.quantisation)
    model = get_peft_model(base, lora_config(config.lora, base))
    set_adapter_dtype(model, config.lora)
    if config.optimiser.gradient_checkpointing:
        model.enable_input_require_grads()
    objective = objective_of(config)
    pad = run.tokenizer.pad_token_id
    reference = None
    if objective.needs_reference and getattr(config, "precompute_reference", True):
        reference = reference_of([*run.examples, *run.dev], config, model, run.base_facts, pad)
    bundles = bundles_of(run.examples, config.optimiser.order)
    plan = schedule(bundles, config)
    metrics = MetricsFile(run.path)
    selection = Selection(run.path, config.dev) if config.dev else None
    callbacks: list[TrainerCallback] = [
        metrics,
        GradientCheck(),
        MarkComplete(run.path),
        DivergenceGuard(run.path, config.guard, objective.chance, keeps_best=selection is None),
        *([selection] if selection else []),
    ]
    trainer = VerdictTrainer(
        model=model,
        args=training_arguments(config, run.path),
        bundles=bundles,
        dev=bundles_of(run.dev, config.optimiser.order),
        plan=plan,
        objective=objective,
        collator=Collator(pad=pad, branches=objective.branches, reference=reference),
        processing_class=run.tokenizer,
        callbacks=callbacks,
    )
    if selection:
        selection.trainer = trainer
    trainer.remove_callback(ProgressCallback)
    trainer.add_callback(ProgressBar())
    trainer.train(resume_from_checkpoint=last_checkpoint(run.path))
    facts = {
        "method": config.method,
        "n_trainable": count_trainable(trainer.model),
        "epochs": round(plan.epochs, 4),
        **cost(run, plan, bundles, trainer.state.global_step, metrics.seconds),
        **chosen(config, run, selection),
    }
    close_training(run, trainer, facts, from_best=facts.get("selected") == "best")


def cost(run: OpenRun, plan: Schedule, bundles: list[Any], n_steps: int, seconds: float) -> dict[str, Any]:
    """What the run took: seconds (wall clock), tokens read and written, processes, device, peak memory in GiB."""
    share = n_steps / plan.n_steps  # below 1 for a run stopped early
    n_tokens = sum(e.n_tokens for batch in plan.micro_batches for index in batch for e in bundles[index])
    on_gpu = torch.cuda.is_available()
    peak = torch.cuda.max_memory_allocated() if on_gpu else resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return {
        "seconds": round(seconds, 1),
        "n_tokens": round(n_tokens * share),
        "n_processes": processes().num_processes,
        "device": torch.cuda.get_device_name() if on_gpu else "cpu",
        "peak_memory_gib": round(peak / 2**30, 2),
    }


def chosen(config: AnyRun, run: OpenRun, selection: Selection | None) -> dict[str, Any]:
    """Which adapter the run ends with, and why it ended."""
    if selection is None or config.dev is None:
        return {}
    facts: dict[str, Any] = {"selected": config.dev.select, "best": best_score(run.path)}
    if selection.stopped_at is not None:
        facts["stopped_early_at_step"] = selection.stopped_at
    return facts
