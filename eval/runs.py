"""A finished sampling run on disk → verdicts. The only place where eval reads a run directory."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.answer_doubts import answer_doubts
from benchmarks.checkpoints import ModelConfig
from benchmarks.config import parse_config, read_yaml
from benchmarks.errors import DataError
from benchmarks.records import Completion
from benchmarks.rundir import CONFIG_FILE, PROVENANCE_FILE, Planned, read_json, read_plan, refuse_changed
from benchmarks.shards import read_completions
from benchmarks.terminal import say
from eval.orders import with_both_orders
from eval.panels import Panel, panels_of
from eval.verdicts import Reading, Verdict, judge_all


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class JudgedRun:
    """A complete run and what its judge decided."""

    path: Path
    config: Mapping[str, Any]  # config.yaml, as the inference package wrote it
    provenance: Mapping[str, Any]
    reading: Reading
    n_samples: int
    plan: Sequence[Planned]
    verdicts: Sequence[Verdict]
    panels: Sequence[Panel]  # of what was asked, then of both answer orders together where both were
    first_verdicts: Mapping[str, Verdict]  # prompt hash → the verdict of its first sample
    rendered: Mapping[str, str]  # prompt hash → what the model read; lacks prompts that a server rendered unseen
    doubts: Sequence[str]  # what to know of its answers before believing a score

    @property
    def name(self) -> str:
        """The run directory's name, which tells configs apart by their digest."""
        return self.path.name

    @property
    def model(self) -> str:
        """What tables call the model."""
        return parse_config(ModelConfig, dict(self.config["model"]), f"{self.path / CONFIG_FILE}: model").shown_as


def load_run(path: Path, parser: str = "strict") -> JudgedRun:
    """The run at a path with its verdicts; `parser` is used where the run's verdicts are reasoned.

    Raises DataError when the folder is no run, a file in it is damaged, or a planned prompt has no completion.
    """
    plan = read_plan(path)
    config = run_config(path)
    n_samples = config["sampling"].get("n", 1)
    completions = read_completions(path)
    refuse_unfinished(path, {planned.prompt_hash for planned in plan}, completions, n_samples)
    reading = Reading(config["verdict"], parser if config["verdict"] == "reason" else None)
    verdicts = judge_all(plan, completions, n_samples, reading)
    return JudgedRun(
        path=path,
        config=config,
        provenance=read_json(path / PROVENANCE_FILE),
        reading=reading,
        n_samples=n_samples,
        plan=plan,
        verdicts=verdicts,
        panels=with_both_orders(panels_of(verdicts)),
        first_verdicts={v.prompt_hash: v for v in verdicts if v.sample_index == 0},
        rendered={key[0]: c.rendered for key, c in completions.items() if c.rendered is not None},
        doubts=answer_doubts(completions.values(), config["verdict"]),
    )


def run_config(path: Path) -> dict[str, Any]:
    """A sampling run's config. Raises DataError when it was changed since the run was made, or is of something else."""
    refuse_changed(path)
    file = path / CONFIG_FILE
    config = read_yaml(file)
    lacking = [key for key in ("name", "model", "verdict", "sampling") if key not in config]
    if lacking:
        raise DataError(f"{file}: has no '{lacking[0]}', so it is not the config of a sampling run")
    for key in ("model", "sampling"):
        if not isinstance(config[key], dict):
            raise DataError(f"{file}: {key} is {config[key]!r}, expected keys and values; restore the file")
    for key, kinds, least in (("n", int, 1), ("temperature", int | float, 0)):
        value = config["sampling"].get(key, least)
        if not isinstance(value, kinds) or value < least:
            raise DataError(f"{file}: sampling.{key} is {value!r}, expected a number from {least} on; restore the file")
    return config


def doubts_of(runs: Mapping[str, JudgedRun]) -> list[str]:
    """A sentence for each doubt about the answers of some runs, by what they are called."""
    return [f"{label}: {doubt}" for label, run in runs.items() for doubt in run.doubts]


def say_warnings(runs: Mapping[str, JudgedRun]) -> None:
    """Print them."""
    for doubt in doubts_of(runs):
        say(f"Warning: {doubt}")


def refuse_unfinished(
    path: Path, hashes: Collection[str], completions: Mapping[tuple[str, int], Completion], n_samples: int
) -> None:
    """Raises DataError when a planned prompt lacks a completion: a score over part of the items is another score.

    hashes: of the planned prompts, each once.
    """
    if not hashes:
        raise DataError(f"{path}: its plan is empty, so there is nothing to score")
    n_missing = sum(any((h, k) not in completions for k in range(n_samples)) for h in hashes)
    if n_missing:
        raise DataError(
            f"{path}: {n_missing} of {len(hashes)} prompts have no completion; scores need them all.\n"
            f"  Continue the run with `evenhand sample {path / CONFIG_FILE}`."
        )
