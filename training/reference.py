"""The frozen base's log-probabilities of every example, computed once and kept: reference of DPO, target of
label-free training; and the loss and accuracy of guesses on a run's examples, with which learning is compared.

`<run.root>/reference/<digest>/` holds it in shards, so that a killed pass continues, several processes share the work,
and every run with the same base, precision and examples reads it. The base is the trained model with its adapter off.
"""

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

import torch
from tqdm import tqdm

from evenhand.errors import DataError
from evenhand.files import read_jsonl, write_jsonl
from evenhand.records import digest
from evenhand.terminal import note_progress
from training.batches import Collator, LogProbs, answers_of, cut, groups_of, n_tokens, numbers_of, padded_logs
from training.config import AnyRun, BCTRun, DPORun, LabelFreeRun, RightRepliesRun, TrainingConfig
from training.examples import Example
from training.objectives import Answers, label_free_chance
from training.processes import agreed, processes
from training.qlora import autocast

REFERENCE_DIR = "reference"
SHARD = "{:05d}.jsonl"
SHARD_SIZE = 2048  # examples; a killed pass loses at most one shard a process
# Tokens of a forward pass, whatever the batch that is trained on: no gradient keeps what they compute. A CPU is busy
# with fewer.
AT_ONCE = {"cuda": 16384, "cpu": 1024}


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """The base's answers, and the time that they took."""

    answers: Mapping[Example, LogProbs]
    seconds: float  # of each process, in whichever run the base was asked; without those of a killed pass


def reference_of(
    examples: Sequence[Example], config: TrainingConfig, model: Any, base_facts: Mapping[str, Any], pad: int
) -> Reference:
    """The base's log-probabilities of every example's answers, read from the cache or asked now. Raises DataError for a
    shard that is damaged or short.

    model: base with adapter, on its device and not yet wrapped. base_facts: the base's fingerprint.
    """
    folder = config.run.root / REFERENCE_DIR / reference_digest(examples, config, base_facts)
    shards = [examples[start : start + SHARD_SIZE] for start in range(0, len(examples), SHARD_SIZE)]
    state = processes()
    # What is missing is dealt out, so that no process waits for another's whole share after a kill. Only the first
    # process looks: on NFS a file that was looked for too early stays absent for a while.
    numbers = range(len(shards)) if state.is_main_process else ()
    missing = agreed([number for number in numbers if not (folder / SHARD.format(number)).exists()])
    mine = missing[state.process_index :: state.num_processes]
    if mine:
        bar = tqdm(total=sum(len(shards[n]) for n in mine), desc="reference", disable=not state.is_main_process)
        with bar, torch.no_grad(), model.disable_adapter():
            for number in mine:
                began = time.monotonic()
                answers = ask(shards[number], config, model, pad, bar)
                seconds = (time.monotonic() - began) / len(answers)
                write_jsonl(folder / SHARD.format(number), ({**row._asdict(), "seconds": seconds} for row in answers))
                note_progress()
    state.wait_for_everyone()
    logs: dict[Example, LogProbs] = {}
    total_seconds = 0.0
    for number, shard in enumerate(shards):
        file = folder / SHARD.format(number)
        try:
            for example, (_, row) in zip(shard, read_jsonl(file), strict=True):
                logs[example] = LogProbs(tuple(row["verdicts"]), tuple(row["totals"]))
                total_seconds += row["seconds"]
        except (DataError, KeyError, TypeError, ValueError) as error:
            raise DataError(f"{file}: is damaged ({error}); delete it, and the base is asked again") from None
    return Reference(answers=logs, seconds=total_seconds / state.num_processes)


def reference_digest(examples: Sequence[Example], config: TrainingConfig, base_facts: Mapping[str, Any]) -> str:
    """The fingerprint of what the reference's numbers depend on: base, precision, and every token asked about. How many
    are asked about at once is no part of it.
    """
    return digest(
        {
            "base": dict(base_facts),
            "quantisation": config.quantisation.model_dump(mode="json"),
            "mixed_precision": config.optimiser.mixed_precision,
            "examples": digest([[e.prompt_ids, e.choices, e.rests, e.end] for e in examples], 16),
            "shard_size": SHARD_SIZE,
        },
        16,
    )


def ask(examples: Sequence[Example], config: TrainingConfig, model: Any, pad: int, bar: "tqdm[Any]") -> list[LogProbs]:
    """A model's log-probabilities of some examples' answers, in their order."""
    collator = Collator(
        pad=pad,
        branches="all" if examples[0].end else "none",
        row_tokens=config.optimiser.row_tokens,
        device=model.device.type,
    )
    # Those of like length together: where each has a row of its own, that is what keeps padding short.
    groups = sorted(groups_of(examples, "item"), key=n_tokens)
    was_training = model.training
    model.eval()
    logs: dict[int, LogProbs] = {}
    lengths = [n_tokens(group) for group in groups]
    for taken in cut(lengths, lengths, AT_ONCE[model.device.type]):
        batch = {name: tensor.to(model.device) for name, tensor in collator(groups[taken]).items()}
        with autocast(config, model):
            answers = answers_of(model, batch)
        members = [example for group in groups[taken] for example in group]
        for example, verdicts, totals in zip(members, answers.verdicts.tolist(), answers.totals.tolist(), strict=True):
            n = len(example.choices)  # what follows is padding
            logs[id(example)] = LogProbs(tuple(verdicts[:n]), tuple(totals[:n]))
        bar.update(len(members))
    model.train(was_training)
    return [logs[id(example)] for example in examples]


@dataclass(frozen=True, slots=True, kw_only=True)
class Chance:
    """What a uniform guesser reaches on a run's examples: a run that learns is better."""

    loss: float
    slope: float = 0.0  # by how much the loss falls there for each nat that the right answer gains on all others
    accuracy: float  # how often a guess is right


def chance_of(
    config: AnyRun, examples: Sequence[Example], reference: Mapping[Example, LogProbs] | None, vocabulary: int
) -> Chance:
    """What guesses reach. Of whole replies they are guesses at each token of a vocabulary of that size.

    reference: the base's answers to the examples, on which the chance of label_free depends.
    """
    n_choices = [len(example.choices) for example in examples]
    accuracy = fmean(1 / n for n in n_choices)
    if isinstance(config, DPORun):
        return Chance(loss=math.log(2), slope=config.beta / 2, accuracy=accuracy)
    if isinstance(config, BCTRun | RightRepliesRun):
        return Chance(loss=math.log(vocabulary), accuracy=accuracy)
    if isinstance(config, LabelFreeRun):
        assert reference is not None
        verdicts = padded_logs([reference[example].verdicts for example in examples])
        base = Answers(
            verdicts=verdicts,
            right=torch.tensor([example.right for example in examples]),
            groups=torch.tensor(numbers_of(example.group for example in examples)),
            anchors=torch.tensor([example.is_anchor for example in examples]),
            reference_verdicts=verdicts,
        )
        return Chance(loss=label_free_chance(base), accuracy=accuracy)
    # A uniform guesser gives each of K answers 1/K. As the right one gains on all others by g nats there, the loss
    # log(1 + (K - 1) exp(-g)) falls by (1 - 1/K) g. Neither contains the tokens of a name behind its first.
    n_learnt = 1 + bool(examples[0].end)
    loss, slope = fmean(math.log(n) for n in n_choices), fmean(1 - 1 / n for n in n_choices)
    return Chance(loss=loss / n_learnt, slope=slope / n_learnt, accuracy=accuracy)
