"""A run that no longer learns is stopped: why, what is left of it, and which setting to change by how much.

A published SFT run fell to chance after 15 % of its steps and nobody noticed. What is left of a stopped run: its
metrics up to there, its checkpoints, the best adapter in best/, and DIVERGED.json, which keeps the same command from
going on.
"""

import math
import shutil
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import torch
from accelerate.utils import reduce
from safetensors.torch import load_file
from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments

from evenhand.errors import ModelError
from evenhand.jsonl import write_json
from evenhand.run_directory import read_json
from training.config import TrainingConfig
from training.qlora import trainable
from training.run import ADAPTER_FILES, BEST_DIR, CHECKPOINTS_DIR, SCORE_FILE, copy_adapter, processes
from training.run_folder import DIVERGED_FILE
from training.selection import best_kept
from training.training_health import Ill, Signs

# fp16's scaler starts at 2^16 and halves at each overflow: so many in a row are no search for a scale.
MAX_OVERFLOWS = 20
N_NAMED = 8  # items named in a message


class DivergenceGuard(TrainerCallback):
    """Stops a run whose log shows that it no longer learns, or whose gradient is no number, before that is applied.

    chance, slope, luck, n_dev: as Signs takes them. items_of: the ids of the items that an optimiser step (from 1)
    trains on.
    """

    def __init__(
        self,
        path: Path,
        config: TrainingConfig,
        chance: float,
        *,
        slope: float = 0.5,
        luck: float = 0.5,
        n_dev: int = 0,
        items_of: Callable[[int], Sequence[str]] | None = None,
    ) -> None:
        self.path = path
        self.config = config
        self.signs_after = partial(Signs, config, chance, slope=slope, luck=luck, n_dev=n_dev)
        self.items_of = items_of
        self.signs = self.signs_after()
        self.n_overflows = 0

    def on_train_begin(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any) -> None:
        """A continued run knows what its log has shown before."""
        n_warmup = math.ceil(self.config.optimiser.warmup_ratio * state.max_steps)
        self.signs = self.signs_after(n_warmup=n_warmup)
        for record in state.log_history:
            self.signs.take(record)

    def on_pre_optimizer_step(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **more: Any
    ) -> None:
        broken = in_any_process(not math.isfinite(gradient_norm(more["model"])))
        self.n_overflows = self.n_overflows + 1 if broken else 0
        if not broken or (args.fp16 and self.n_overflows < min(MAX_OVERFLOWS, state.max_steps)):
            return
        step = state.global_step + 1
        what = f"fp16 has overflowed {self.n_overflows} times in a row" if args.fp16 else "the gradient is no number"
        if self.items_of:
            items = list(self.items_of(step))
            more_items = f" and {len(items) - N_NAMED} more" if len(items) > N_NAMED else ""
            what += f" (the step's items: {', '.join(items[:N_NAMED])}{more_items})"
        self.stop(Ill(kind="no number", step=step, what=f"{what}; it has not been applied"))

    def on_log(
        self,
        args: TrainingArguments,
        state: TrainerState,
        control: TrainerControl,
        logs: dict[str, float] | None = None,
        **_: Any,
    ) -> None:
        if ill := self.signs.take({**(logs or {}), "step": state.global_step}):
            self.stop(ill)

    def on_save(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any) -> None:
        """A checkpoint with weights that are no numbers is never continued from, whatever let them through."""
        folder = self.path / CHECKPOINTS_DIR / f"checkpoint-{state.global_step}"
        if in_any_process(state.is_world_process_zero and not is_finite(folder / ADAPTER_FILES[1])):
            if state.is_world_process_zero:
                shutil.rmtree(folder)
            self.stop(Ill(kind="no number", step=state.global_step, what="weights of the adapter are no numbers"))

    def stop(self, ill: Ill) -> None:
        """Leave DIVERGED.json and the best adapter, and raise ModelError. To be called by every process."""
        if processes().is_main_process:
            best = best_kept(self.path)
            if best:
                copy_adapter(best.folder, self.path / BEST_DIR, best.score)
            told = {"step": ill.step, "reason": ill.what, "best": best.score if best else None}
            write_json(self.path / DIVERGED_FILE, {**told, "advice": advice(ill, self.config)})
        processes().wait_for_everyone()  # a process that ends has the others ended, perhaps while they write
        raise ModelError(told_of(self.path))


def refuse_diverged(path: Path) -> None:
    """Raises ModelError when the run was stopped before: the same settings would take it there again."""
    if (path / DIVERGED_FILE).exists():
        raise ModelError(told_of(path))


def told_of(path: Path) -> str:
    """What DIVERGED.json says, as one message."""
    told = read_json(path / DIVERGED_FILE)
    best = told["best"]
    kept = (
        f"The best adapter, of step {best['step']:.0f} ({SCORE_FILE} beside it), is kept in {path / BEST_DIR}. "
        if best
        else "No adapter had been saved by then. "
    )
    return (
        f"{path}: stopped at step {told['step']}: {told['reason']}. {kept}{told['advice']} A changed setting is "
        f"another run; this one goes on from its last checkpoint when {DIVERGED_FILE} is deleted (settings under "
        "`guard` can be changed for that)"
    )


def advice(ill: Ill, config: TrainingConfig) -> str:
    """What to change, by how much, in the order in which to try it."""
    wanted = config.optimiser
    lower = f"Lower optimiser.learning_rate from {wanted.learning_rate:g} to {wanted.learning_rate / 10:g}"
    warmup = f"lengthen optimiser.warmup_ratio from {wanted.warmup_ratio:g} to {max(0.1, 2 * wanted.warmup_ratio):g}"
    labels = "Look at the prompts and which verdict is called right (`evenhand show`)"
    longer = f"if it only needs more time, raise guard.patience_steps from {config.guard.patience_steps}"
    match ill.kind:
        case "no number" if wanted.mixed_precision == "fp16":
            return (
                "Set optimiser.mixed_precision=bf16 and quantisation.compute_dtype=bfloat16: fp16 overflows where bf16 "
                f"does not. {lower}."
            )
        case "no number" if ill.step == 1:
            return (
                "No weight had been changed yet, so it is not the learning rate: look at the base model and these "
                'items, or compute in float32 (quantisation.compute_dtype: float32, optimiser.mixed_precision: "no").'
            )
        case "no number":
            return f"{lower}, and {warmup}. Should the same items do it again, look at them, or leave them out."
        case "collapsed":
            return f"{lower}, and {warmup}."
        case "never learnt":
            return f"{labels}. {lower}; {longer}."
        case "only memorised":
            return f"{labels}, take more items or fewer optimiser.epochs ({wanted.epochs:g}); {longer}."
        case "spikes":
            return (
                f"{lower}, and optimiser.max_grad_norm from {wanted.max_grad_norm:g} to {wanted.max_grad_norm / 3:.2g}."
            )


def gradient_norm(model: Any) -> float:
    """The norm of this process's gradients; once clipped, no number if any was none. 0 where an engine hides them."""
    gradients = [parameter.grad for _, parameter in trainable(model) if parameter.grad is not None]
    norm = torch.nn.utils.get_total_norm(gradients)
    return float(norm.full_tensor() if hasattr(norm, "full_tensor") else norm)  # FSDP's are parts of a whole


def in_any_process(flag: bool) -> bool:
    """Whether it is so in one of the processes: they stop together or not at all."""
    state = processes()
    if state.num_processes == 1:
        return flag
    return bool(reduce(torch.tensor(float(flag), device=state.device)).item() > 0)


def is_finite(file: Path) -> bool:
    """Whether every weight of a safetensors file is a number."""
    return all(bool(torch.isfinite(tensor).all()) for tensor in load_file(file).values())
