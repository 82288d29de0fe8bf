"""What the frozen base says of every example, asked once and kept: reference of DPO, IPO, KTO, target of own C1.

`<run.root>/reference/<digest>/` holds it in shards, so that a killed pass continues, several processes share the work,
and every run with the same base, precision and examples reads it. The base is the trained model with its adapter off.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from tqdm import tqdm

from evenhand.errors import DataError
from evenhand.job_signs import note_progress
from evenhand.jsonl import read_jsonl, write_json, write_jsonl
from evenhand.records import digest
from evenhand.run_directory import read_json
from training.batches import Bundle, Collator, LogProbs
from training.config import TrainingConfig
from training.examples import Example, by_item
from training.fitting import Fitting, size
from training.forward import answers_of
from training.objectives import Answers, Branches
from training.run import agreed, processes

REFERENCE_DIR = "reference"
SHARD_SIZE = 2048  # examples; a killed pass loses at most one shard a process
# Tokens of a forward pass, whatever the batch that is trained on: no gradient keeps what they compute. A CPU is busy
# with fewer, and its eager attention takes time by the square of a row.
AT_ONCE = {"cuda": 16384, "cpu": 1024}


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """What the base says, and what it cost to ask."""

    answers: Mapping[Example, LogProbs]
    seconds: float  # of each process, in whichever run it was asked; without what a killed pass had taken


def reference_of(
    examples: Sequence[Example], config: TrainingConfig, model: Any, base_facts: Mapping[str, Any], pad: int
) -> Reference:
    """The base's log-probabilities of every example's answers, read from the cache or asked now.

    model: base with adapter, on its device and not yet wrapped. base_facts: the base's fingerprint.
    """
    folder = config.run.root / REFERENCE_DIR / reference_digest(examples, config, base_facts)
    shards = [examples[start : start + SHARD_SIZE] for start in range(0, len(examples), SHARD_SIZE)]
    state = processes()
    # What is missing is dealt out, so that no process waits for another's whole share after a kill. Only the first
    # process looks: on NFS a file that was looked for too early stays absent for a while.
    numbers = range(len(shards)) if state.is_main_process else ()
    missing = agreed([number for number in numbers if not shard_file(folder, number).exists()])
    mine = missing[state.process_index :: state.num_processes]
    if mine:
        bar = tqdm(total=sum(len(shards[n]) for n in mine), desc="reference", disable=not state.is_main_process)
        with bar, torch.no_grad(), model.disable_adapter():
            for number in mine:
                began = time.monotonic()
                found = ask(shards[number], config, model, pad, bar)
                # The seconds first: a shard that is there is never asked again, so whatever goes with it must be there.
                write_json(seconds_file(folder, number), {"seconds": round(time.monotonic() - began, 3)})
                write_jsonl(shard_file(folder, number), (log_probs._asdict() for log_probs in found))
                note_progress()
    state.wait_for_everyone()
    kept: dict[Example, LogProbs] = {}
    seconds = 0.0
    for number, shard in enumerate(shards):
        kept.update(zip(shard, read_shard(shard_file(folder, number), len(shard)), strict=True))
        seconds += float(read_json(seconds_file(folder, number))["seconds"])
    return Reference(answers=kept, seconds=seconds / state.num_processes)


def read_shard(file: Path, n_examples: int) -> list[LogProbs]:
    """A shard's answers. Raises DataError for one that is damaged, short or empty, with the way out."""
    try:
        found = [LogProbs(tuple(record["verdicts"]), tuple(record["totals"])) for _, record in read_jsonl(file)]
    except (DataError, KeyError, TypeError) as error:
        raise DataError(f"{file}: is damaged ({error}); delete it, and the same command asks the base again") from None
    if len(found) != n_examples:
        raise DataError(
            f"{file}: holds {len(found)} of {n_examples} examples; delete it, and the same command asks the base again"
        )
    return found


def shard_file(folder: Path, number: int) -> Path:
    """Where a shard lies."""
    return folder / f"{number:05d}.jsonl"


def seconds_file(folder: Path, number: int) -> Path:
    """Where it lies what a shard has taken."""
    return folder / f"{number:05d}.seconds.json"


def reference_digest(examples: Sequence[Example], config: TrainingConfig, base_facts: Mapping[str, Any]) -> str:
    """The fingerprint of what the reference's numbers depend on: base, precision, and every token asked about. How many
    are asked about at once is no part of it.
    """
    asked = digest([[e.prompt_ids, e.choices, e.end] for e in examples], 16)
    quantisation = config.quantisation.model_dump(mode="json", exclude={"hold"})
    return digest(
        {
            "base": dict(base_facts),
            "quantisation": quantisation,
            "mixed_precision": config.optimiser.mixed_precision,
            "examples": asked,
            "shard_size": SHARD_SIZE,
        },
        16,
    )


def ask(examples: Sequence[Example], config: TrainingConfig, model: Any, pad: int, bar: "tqdm[Any]") -> list[LogProbs]:
    """A model's log-probabilities of some examples' answers, in their order."""
    branches: Branches = "all" if examples[0].end else "none"
    collator = Collator(pad=pad, branches=branches, row_tokens=config.optimiser.row_tokens)
    # Those of like length together: where each has a row of its own, that is what keeps padding short.
    bundles = sorted(by_item(examples), key=lambda bundle: size([bundle]))
    fitting = Fitting(AT_ONCE[model.device.type])
    was_training = model.training
    model.eval()
    found: dict[int, LogProbs] = {}
    numbers = {id(example): number for number, example in enumerate(examples)}

    def one_pass(some: Sequence[Bundle]) -> None:
        batch = {name: tensor.to(model.device) for name, tensor in collator(some).items()}
        with autocast(model, config):
            answers = answers_of(model, batch)
        asked = [example for bundle in some for example in bundle]
        for example, log_probs in zip(asked, listed(answers, asked), strict=True):
            found[numbers[id(example)]] = log_probs

    for some in fitting.passes(bundles):
        fitting.in_passes(some, one_pass, undo=lambda: None)
        bar.update(sum(map(len, some)))
    model.train(was_training)
    return [found[number] for number in range(len(examples))]


def autocast(model: Any, config: TrainingConfig) -> torch.autocast:
    """The precision that training computes in, for a model that the trainer has not wrapped."""
    precision = {"bf16": torch.bfloat16, "fp16": torch.float16}.get(config.optimiser.mixed_precision)
    return torch.autocast(model.device.type, precision or torch.bfloat16, enabled=precision is not None)


def listed(answers: Answers, examples: Sequence[Example]) -> list[LogProbs]:
    """Tensors as plain numbers, an example each, without what pads them."""
    rows = zip(answers.verdicts.tolist(), answers.totals.tolist(), map(len, (e.choices for e in examples)), strict=True)
    return [LogProbs(tuple(verdicts[:n]), tuple(totals[:n])) for verdicts, totals, n in rows]
