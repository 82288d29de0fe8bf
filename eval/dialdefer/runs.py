"""A finished sampling run on disk → verdicts and a judge. The only place where this study reads a run directory."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from eval.dialdefer.measures import ReadingMode, Verdict, judge_all
from eval.dialdefer.panels import Judge, Panel, panels_of, variant_of, with_both_orders
from eval.runs import FinishedRun, refuse_unfinished, run_config
from evenhand.completions import UNLIKELY, WAY_OUT, answer_doubts, read_answers
from evenhand.config import parse_config
from evenhand.errors import EvenhandError
from evenhand.run_directory import CONFIG_FILE, PROVENANCE_FILE, read_json
from studies.dialdefer.datasets import DatasetSpec, item_set_hash, load_items
from studies.dialdefer.records import Item, read_plan


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class JudgedRun(FinishedRun):
    """A complete run and what its judge decided."""

    plan: Sequence[Any]  # of studies.dialdefer.records
    reading: ReadingMode
    verdicts: Sequence[Verdict]
    panels: Sequence[Panel]  # of what was asked, then of both answer orders together where both were
    doubts: Sequence[str]  # what to know of its answers before believing a score


def load_run(path: Path, parser: str = "strict") -> JudgedRun:
    """The run at a path with its verdicts; `parser` is used where the run's verdicts are reasoned.

    Raises DataError when the folder is no run, a file in it is damaged, or a planned prompt has no completion.
    """
    config, plan = run_config(path), read_plan(path)
    n_samples = config["sampling"].get("n", 1)
    answers = read_answers(path)
    replies, rendered = answers.replies, answers.rendered
    refuse_unfinished(path, {planned.prompt_hash: n_samples for planned in plan}, replies)
    reading = ReadingMode(config["verdict"], parser if config["verdict"] == "reason" else None)
    verdicts = judge_all(plan, replies, n_samples, reading)
    panels = panels_of(verdicts)
    return JudgedRun(
        path=path,
        config=config,
        provenance=read_json(path / PROVENANCE_FILE),
        plan=plan,
        replies=replies,
        rendered=rendered,
        reading=reading,
        verdicts=verdicts,
        panels=with_both_orders(panels),
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
    cells = [
        f"{', '.join(filter(None, [panel.dataset, framing, variant_of(panel, panels), arm]))} ({p:.2g})"
        for panel in panels
        for arm in ["" if panel.factors.arm == "none" else f"arm {panel.factors.arm}"]
        for framing, p in panel.unlikely.items()
    ]
    return [
        f"the two answers together have a median probability below {UNLIKELY} on {'; '.join(cells)}: there the judge "
        f"would mostly say something else, so its margins say little and averages leave these datasets out. {WAY_OUT}"
    ] * bool(cells)
