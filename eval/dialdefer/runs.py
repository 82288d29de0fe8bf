"""A finished sampling run on disk → verdicts. The only place where eval reads a run directory."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from eval.dialdefer.answer_orders import with_both_orders
from eval.dialdefer.panels import Panel, panels_of
from eval.dialdefer.prompt_variants import variant_of
from eval.dialdefer.verdicts import Reading, Verdict, judge_all
from eval.sampling_runs import refuse_unfinished, run_config
from evenhand.answer_doubts import UNLIKELY, WAY_OUT, answer_doubts
from evenhand.checkpoints import ModelConfig
from evenhand.completion_shards import read_answers
from evenhand.config import parse_config
from evenhand.run_directory import CONFIG_FILE, PROVENANCE_FILE, read_json
from evenhand.terminal import say
from studies.dialdefer.planned import Planned, read_plan


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
    rendered: Mapping[str, str]  # prompt hash → digest of what the model read; lacks what a server rendered unseen
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
    config = run_config(path)
    plan = read_plan(path)
    n_samples = config["sampling"].get("n", 1)
    replies, rendered = read_answers(path)
    refuse_unfinished(path, {planned.prompt_hash: n_samples for planned in plan}, replies)
    reading = Reading(config["verdict"], parser if config["verdict"] == "reason" else None)
    verdicts = judge_all(plan, replies, n_samples, reading)
    panels = panels_of(verdicts)
    return JudgedRun(
        path=path,
        config=config,
        provenance=read_json(path / PROVENANCE_FILE),
        reading=reading,
        n_samples=n_samples,
        plan=plan,
        verdicts=verdicts,
        panels=with_both_orders(panels),
        first_verdicts={v.prompt_hash: v for v in verdicts if v.sample_index == 0},
        rendered=rendered,
        doubts=[*answer_doubts(chain.from_iterable(replies.values())), *unlikely_cells(panels)],
    )


def unlikely_cells(panels: Sequence[Panel]) -> list[str]:
    """That the two answers together have little probability in some framing of a dataset."""
    cells = []
    for panel in panels:
        words = [variant_of(panel, panels), "" if panel.factors.arm == "none" else f"arm {panel.factors.arm}"]
        cells += [
            ", ".join(filter(None, [panel.dataset, c, *words])) + f" ({p:.2g})" for c, p in panel.unlikely.items()
        ]
    return [
        f"the two answers together have a median probability below {UNLIKELY} on {'; '.join(cells)}: there the judge "
        f"would mostly say something else, so its margins say little and averages leave these datasets out. {WAY_OUT}"
    ] * bool(cells)


def doubts_of(runs: Mapping[str, JudgedRun]) -> list[str]:
    """A sentence for each doubt about the answers of some runs, by what they are called."""
    return [f"{label}: {doubt}" for label, run in runs.items() for doubt in run.doubts]


def say_warnings(runs: Mapping[str, JudgedRun]) -> None:
    """Print them."""
    for doubt in doubts_of(runs):
        say(f"Warning: {doubt}")
