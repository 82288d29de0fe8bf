"""A judge: what one model decided, wherever its verdicts came from. Every analysis takes judges."""

from collections.abc import Mapping
from dataclasses import dataclass

from eval.dialdefer.averages import AIO
from eval.dialdefer.flip_examples import item_texts
from eval.dialdefer.panels import Panel
from eval.dialdefer.runs import JudgedRun


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Judge:
    """One model's verdicts: a sampling run's, or those of one model in external files."""

    name: str  # how tables call it: the model, or the run's name
    model: str
    panels: tuple[Panel, ...]  # one for each (dataset, factors)
    labels: Mapping[str, str]  # r/AIO item id → "OR" | "NOR", the verdict on the original poster; empty when unknown


def judge_of_run(run: JudgedRun, name: str = "") -> Judge:
    """A loaded run as a judge, called by its model unless a name is given.

    Labels come from the run's own data; they are empty when it has no r/AIO item, or its data is gone or has changed.
    """
    return Judge(name=name or run.model, model=run.model, panels=tuple(run.panels), labels=labels_of_run(run))


def labels_of_run(run: JudgedRun) -> dict[str, str]:
    """r/AIO item id → label, read again from the run's own data; empty where that has none."""
    if not any(panel.dataset.startswith(AIO) for panel in run.panels):
        return {}
    items = item_texts(run).values()
    return {item.item_id: str(item.meta["label"]) for item in items if item.dataset.startswith(AIO)}
