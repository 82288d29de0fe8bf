"""What a run's log shows of its health: nothing learnt, learnt and lost, numbers that are none, gradients that explode.

All of it is read from the log's records in their order, so that a continued run, which has them in its checkpoint,
knows what it knew before.
"""

import math
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import fmean, median
from typing import Literal

from training.config import TrainingConfig

Kind = Literal["no number", "never learnt", "collapsed", "only memorised", "spikes"]
N_NORMS = 100  # gradient norms that the median is taken of
MIN_NORMS = 10  # with fewer nothing is called a spike
EXPLODED = 1.25  # a loss this many times chance is no judge without a clue, but one that steps too far


@dataclass(frozen=True, slots=True, kw_only=True)
class Ill:
    """Why a run is to be stopped."""

    kind: Kind
    step: int
    what: str  # for a person: "for 200 steps ..."


class Signs:
    """Reads the log's records one after the other.

    chance: the loss of a judge that tosses a coin; inf where that is not known. slope: by how much the loss falls there
    for each nat by which the right answer gains on the wrong one. luck: how often a guess is right. n_dev: prompts of
    the dev split, 0 without one. n_warmup: steps in which the learning rate rises, and in which nothing is to be learnt
    yet.
    """

    def __init__(
        self,
        config: TrainingConfig,
        chance: float,
        *,
        slope: float = 0.5,
        luck: float = 0.5,
        n_dev: int = 0,
        n_warmup: int = 0,
    ) -> None:
        self.settings = config.guard
        self.first_step = config.guard.patience_steps + n_warmup  # nothing is called unlearnt before
        self.wanted = chance - slope * config.guard.chance_margin
        # Of conversations it counts themselves: the verdicts on one hang together.
        batch = config.optimiser.per_device_batch_size * config.optimiser.gradient_accumulation_steps
        self.n_judged = config.guard.patience_steps * batch * config.optimiser.n_processes
        self.fp16 = config.optimiser.mixed_precision == "fp16"  # gradients may overflow: its scaler leaves the step out
        self.clipped_at = config.optimiser.max_grad_norm
        self.chance = chance
        self.luck = luck
        self.n_dev = n_dev
        # Steps, losses and accuracies logged within the last patience_steps.
        self.losses: deque[tuple[int, float, float | None]] = deque()
        self.was_good = False
        self.dev_was_good = False
        self.norms: deque[float] = deque(maxlen=N_NORMS)
        self.n_spikes = 0

    def take(self, record: Mapping[str, float]) -> Ill | None:
        """What is wrong after one more record of the log, which holds `step` and what was measured."""
        step = int(record["step"])
        for name in ("loss", "eval_loss", "grad_norm"):
            value = record.get(name)
            if value is not None and not math.isfinite(value) and not (name == "grad_norm" and self.fp16):
                return Ill(kind="no number", step=step, what=f"the {NAMES[name]} is {value}")
        if "eval_loss" in record:
            return self.dev(step, record["eval_loss"], record["eval_accuracy"])
        if "loss" in record:
            of_verdicts = record["loss"] - record.get("rest_loss", 0.0)  # a guess is held against no name's rest
            return self.loss(step, of_verdicts, record.get("accuracy")) or self.norm(
                step, record.get("grad_norm", math.nan)
            )
        return None

    def loss(self, step: int, loss: float, accuracy: float | None = None) -> Ill | None:
        """Whether the mean loss of the last patience_steps is no better than chance, nor that of their last quarter.

        Means, because single batches of a dozen examples are often lucky. The last quarter, because a run that has
        just begun to learn is to go on. A loss over twice chance counts as that, so that a bad start is soon forgotten.
        Verdicts right more often than a coin are learning too: the loss of a few sure mistakes can hide it.
        """
        patience = self.settings.patience_steps
        self.losses.append((step, loss, accuracy))
        while self.losses[0][0] <= step - patience:
            self.losses.popleft()
        mean = fmean(min(value, 2 * self.chance) for _, value, _ in self.losses)
        recent = fmean(value for at, value, _ in self.losses if at > step - patience / 4)
        exploded = recent > EXPLODED * self.chance
        judged = [right for *_, right in self.losses if right is not None]
        is_no_coin = bool(judged) and fmean(judged) > above_luck(self.n_judged, self.luck)
        if step < self.first_step or min(mean, recent) < self.wanted or (is_no_coin and not exploded):
            self.was_good |= mean < self.wanted and step >= patience / 2
            return None
        what = f"for {patience} steps the mean loss has been at chance ({self.chance:.3f}) or above, now {recent:.3f}"
        return Ill(kind="collapsed" if self.was_good or exploded else "never learnt", step=step, what=what)

    def norm(self, step: int, norm: float) -> Ill | None:
        """Whether the gradients, before they are clipped, have exploded and stay so.

        Where all is learnt they are tiny, and one hard item's are many times as large; those that clipping lets pass
        are no spikes.
        """
        if not math.isfinite(norm):
            return None  # not logged, or left out by fp16's scaler
        usual = median(self.norms) if len(self.norms) >= MIN_NORMS else math.inf
        if norm <= max(self.settings.spike_factor * usual, self.clipped_at):
            self.norms.append(norm)
            self.n_spikes = 0
            return None
        self.n_spikes += 1
        if self.n_spikes < self.settings.spike_patience:
            return None
        what = (
            f"for {self.n_spikes} logged steps in a row the gradients' norm, before clipping, has been over "
            f"{self.settings.spike_factor:g} times its median of {usual:.3g}, now {norm:.3g}"
        )
        return Ill(kind="spikes", step=step, what=what)

    def dev(self, step: int, loss: float, accuracy: float) -> Ill | None:
        """Whether the dev items have never been judged better than by a coin, however low the training loss."""
        if loss < self.wanted or accuracy > above_luck(self.n_dev, self.luck):
            self.dev_was_good = True
        if self.dev_was_good or step < self.first_step:
            return None
        what = (
            f"after {step} steps the dev items are judged no better than by a coin (loss {loss:.3f}, chance "
            f"{self.chance:.3f}; accuracy {accuracy:.2f})"
        )
        return Ill(kind="only memorised", step=step, what=what)


def above_luck(n: int, luck: float = 0.5) -> float:
    """The accuracy two standard errors above that of guesses, over n verdicts."""
    return luck + (2 * math.sqrt(luck * (1 - luck) / n) if n else 0.0)


NAMES = {"loss": "loss", "eval_loss": "dev loss", "grad_norm": "gradients' norm"}
