"""The losses: what each method asks of the log-probabilities of a prompt's answers.

All are functions of a few numbers per prompt, log P(answer | prompt) of its E prompts' K answers, so that a step costs
one forward pass over the prompts whatever the method. Logarithms are natural; a loss is given for each prompt.

Where prompts differ in their number of answers, those that a prompt lacks have log-probability NEVER. No loss knows of
them: their probability among the answers is exactly 0, and nothing of the model stands behind the number.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

import torch
from torch import Tensor
from torch.nn.functional import logsigmoid

from training.config import AnyRun, DPORun, LabelFreeRun, PairedRun

Branches = Literal["none", "right", "all"]
HOVER = 0.02  # nats by which label_free's loss may lie over the base's own, where that is next to none
NEVER = -1e4  # exp of it is 0 in every precision; -inf would make 0 x inf of the KL divergences, which is no number


@dataclass(frozen=True, slots=True, kw_only=True)
class Answers:
    """What a model says of E prompts with K answers each. Log-probabilities are over the whole vocabulary."""

    verdicts: Tensor  # (E, K) of each answer's one token; NEVER where a prompt has fewer than K
    right: Tensor  # (E,) index of the right answer
    groups: Tensor  # (E,) number of the group of prompts that should agree
    anchors: Tensor  # (E,) whether the prompt is its group's anchor (C1)
    n_tokens: Tensor | int = 1  # (E,) that the right answer's loss is a mean over
    rest: Tensor | None = None  # (E, K) of each answer's tokens behind its first, EOS too; 0 where they are not learnt
    reference: Tensor | None = None  # (E, K) of the whole answer, from the frozen base
    reference_verdicts: Tensor | None = None  # (E, K) of the one token, from the frozen base

    @property
    def totals(self) -> Tensor:
        """(E, K) log-probability of the whole answer as far as it is learnt."""
        return self.verdicts + (0 if self.rest is None else self.rest)


@dataclass(frozen=True, slots=True)
class Objective:
    """A method as the trainer needs it."""

    loss: Callable[[Answers], Tensor]  # answers → (E,)
    branches: Branches  # behind which answers EOS must be scored
    needs_reference: bool = False


def objective_of(config: AnyRun) -> Objective:
    """The objective that a config asks for."""
    if isinstance(config, LabelFreeRun):
        return Objective(label_free, "none", needs_reference=True)
    learns_eos = config.examples.loss_on_eos
    if isinstance(config, DPORun):
        return Objective(partial(dpo, beta=config.beta), "all" if learns_eos else "none", needs_reference=True)
    loss = partial(paired, weight=config.paired.weight) if isinstance(config, PairedRun) else cross_entropy
    return Objective(loss, "right" if learns_eos else "none")


def cross_entropy(answers: Answers) -> Tensor:
    """(E,) SFT: minus the mean log-probability of the right answer's tokens (DialDefer K.2), as transformers' mean.

    Of a name with a rest it is minus the sum: the probability that the name is written, as `verdict: options` reads it.
    """
    return -picked(answers.totals, answers.right) / answers.n_tokens


def paired(answers: Answers, *, weight: float) -> Tensor:
    """(E,) SFT's loss + weight x the divergence of each verdict distribution from its group's mean."""
    return cross_entropy(answers) + weight * divergence_in_groups(answers.verdicts, answers.groups)


def dpo(answers: Answers, beta: float) -> Tensor:
    """(E,) DPO on the margin: -log sigmoid(beta (margin - the reference's margin)) (DialDefer eq. 5 and 6)."""
    assert answers.reference is not None
    assert answers.totals.shape[1] == 2, "preferences are between two answers"
    rewards = answers.totals - answers.reference
    margin = picked(rewards, answers.right) - picked(rewards, 1 - answers.right)
    return -logsigmoid(beta * margin)


def label_free(answers: Answers) -> Tensor:
    """(E,) label-free: KL(the base's verdict distribution on the group's anchor || the verdict distribution here).

    The anchor (C1) is drawn to where it was, the other prompts (C2) to the same place; of several anchors that is their
    mean.
    """
    assert answers.reference_verdicts is not None
    base = answers.reference_verdicts.softmax(-1)
    targets = base.new_zeros(int(answers.groups.max()) + 1, base.shape[-1])
    groups = answers.groups[answers.anchors]
    targets.index_add_(0, groups, base[answers.anchors] / groups.bincount()[groups, None])
    target = targets[answers.groups]
    policy = answers.verdicts.log_softmax(-1)
    loss: Tensor = (torch.special.xlogy(target, target) - target * policy).sum(-1)
    return loss


def label_free_chance(base: Answers) -> float:
    """The loss of label_free for a uniform guesser, or for the base as it is, whichever is larger.

    base: its answers to all prompts, as verdicts and as reference_verdicts. A base unsure of its statements is nearly a
    guesser, and one that hardly bends is nearly at the goal already; a judge above both has been spoilt.
    """
    guesser = replace(base, verdicts=base.verdicts.masked_fill(base.verdicts > NEVER, 0.0))
    return max(label_free(judge).mean().item() for judge in (guesser, base)) + HOVER


def divergence_in_groups(verdicts: Tensor, groups: Tensor) -> Tensor:
    """(E,) KL divergence of each prompt's verdict distribution from its group's mean distribution, in nats.

    Its mean over a group's prompts is their Jensen-Shannon divergence: 0 where they agree, at most log(group's size).
    verdicts: (E, K) log-probabilities, of which only the ratios count. groups: (E,) numbers from 0.
    """
    logs = verdicts.log_softmax(-1)
    n_groups = int(groups.max()) + 1
    sums = torch.zeros(n_groups, logs.shape[-1], dtype=logs.dtype, device=logs.device).index_add(0, groups, logs.exp())
    sizes = torch.bincount(groups, minlength=n_groups).to(logs.dtype)
    means = (sums / sizes[:, None]).clamp_min(torch.finfo(logs.dtype).tiny).log()[groups]
    return (logs.exp() * (logs - means)).sum(-1)


def picked(values: Tensor, index: Tensor) -> Tensor:
    """(E,) values[e, index[e]]."""
    return values.gather(1, index[:, None])[:, 0]
