"""A finished sampling run on disk → verdicts and a judge. The only place where this study reads a run directory."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from eval.dialdefer.panels import Judge, Panel, panels_of, variant_of, with_both_orders
from eval.dialdefer.parsing import Reading, Verdict, judge_all
from eval.runs import refuse_unfinished, run_config
from evenhand.answer_doubts import UNLIKELY, WAY_OUT, answer_doubts
from evenhand.checkpoints import ModelConfig
from evenhand.completion_shards import read_answers
from evenhand.config import parse_config
from evenhand.errors import DataError, EvenhandError
from evenhand.run_directory import CONFIG_FILE, PROVENANCE_FILE, read_json
from studies.dialdefer.datasets import DatasetSpec, item_set_hash, load_items
from studies.dialdefer.planned import Planned, read_plan
from studies.dialdefer.records import Item


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
    def judge(self) -> str:
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


def judge_of_run(run: JudgedRun, name: str = "") -> Judge:
    """A loaded run as a judge, called by its model unless a name is given.

    r/AIO's labels come from the run's own data; they are empty when it has none, or its data is gone or has changed.
    """
    has_aio = any(panel.dataset.startswith("aio") for panel in run.panels)
    items = item_texts(run).values() if has_aio else ()
    labels = {item.item_id: str(item.meta["label"]) for item in items if item.dataset.startswith("aio")}
    return Judge(name=name or run.judge, model=run.judge, panels=tuple(run.panels), labels=labels)


def refuse_several_readings(runs: Sequence[JudgedRun]) -> None:
    """Raises DataError when runs were judged in different ways."""
    if len({run.reading.mode for run in runs}) > 1:
        named = "; ".join(f"{run.name}: {run.reading.mode}" for run in runs)
        raise DataError(f"the two kinds of verdicts are never mixed in one table ({named}); report them apart")


def item_texts(run: JudgedRun) -> dict[str, Item]:
    """Item id → item, read again from the run's own data; empty when that is gone or no longer the same.

    The report then says that it cannot show questions; the verdicts do not depend on it.
    """
    where = str(run.path / CONFIG_FILE)
    try:
        specs = [parse_config(DatasetSpec, dict(spec), where) for spec in run.config["dialdefer"]["benchmarks"]]
        items = load_items(specs)
    except EvenhandError:
        return {}
    is_same = item_set_hash(items) == run.provenance.get("item_set_hash")
    return {item.item_id: item for item in items} if is_same else {}


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
