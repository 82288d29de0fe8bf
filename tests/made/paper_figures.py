"""The DialDefer paper's printed figures, and judges whose verdicts have the counts behind them."""

import csv
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
import pandas as pd

from eval.dialdefer.measures import ABSENT, PARSERS
from eval.dialdefer.panels import Panel
from eval.dialdefer.scores import BENCH_DATASETS, Scored, score_panels, wide_frame
from eval.estimates.changes import Score
from eval.estimates.estimate import Drawing
from eval.report.tables import Cell, TableSpec
from studies.dialdefer.records import Factors
from studies.dialdefer.render import own_labels
from tests.made.places import GOLDEN

DATASETS = (*BENCH_DATASETS, "aio")
N_ITEMS = defaultdict(lambda: 300, truthfulqa=790, amqa=240, gpqa=134, aio=280)  # Table 8
COLUMNS = ("acc_c1_true", "acc_c1_false", "acc_c2_correct", "acc_c2_incorrect")
ROUNDING = 0.0501  # half the last printed digit
MITIGATED = {"Qwen-2.5-7B-Instruct": 21, "Gemma-3-12B-IT": 22, "GPT-4o-mini": 23}  # model → its table

GEMMA = "Gemma-3-12B-IT"
N_NULLS = 2  # its unreadable replies to C1_False on r/AIO: right in its accuracies (212 of 280), wrong in its DDS (210)

Counts = Mapping[str, Sequence[int | None]]  # dataset → right answers per condition; None was not asked


def golden(name: str) -> list[dict[str, str]]:
    """The rows of a golden CSV file; its first line is a comment."""
    with (GOLDEN / name).open(encoding="utf-8") as file:
        return list(csv.DictReader(line for line in file if not line.startswith("#")))


def models() -> list[str]:
    """The five models, in the order of Table 20."""
    return list(dict.fromkeys(row["model"] for row in golden("dialdefer_table20.csv")))


def count(percentage: str, dataset: str) -> int:
    """The right answers that a printed percentage stands for: below 1,000 items only one count rounds to it."""
    n_items = N_ITEMS[dataset]
    n_right = round(float(percentage) * n_items / 100)
    assert abs(100 * n_right / n_items - float(percentage)) < ROUNDING, f"{percentage} % of {n_items} items is no count"
    return n_right


def counts_of_table_20(model: str) -> dict[str, list[int]]:
    """Dataset → right answers in each condition of one model, in the order of CONDITIONS."""
    rows = [row for row in golden("dialdefer_table20.csv") if row["model"] == model and row["dataset"] in DATASETS]
    return {row["dataset"]: [count(row[c], row["dataset"]) for c in COLUMNS] for row in rows}


def counts_of_mitigations(model: str) -> dict[str, dict[str, list[int | None]]]:
    """Arm → dataset → right answers of one model under C2; C1 was not asked."""
    arms: dict[str, dict[str, list[int | None]]] = defaultdict(dict)
    for row in golden(f"dialdefer_table{MITIGATED[model]}.csv"):
        if row["dataset"] in DATASETS and row["arm"] != "none":
            c2 = [count(row[c], row["dataset"]) for c in COLUMNS[2:]]
            arms[row["arm"]][row["dataset"]] = [None, None, *c2]
    return arms


def panels_with(
    counts: Counts, arm: str = "none", labels: tuple[str, str] | None = None, **factors: Any
) -> list[Panel]:
    """A panel for each dataset with so many right answers in each condition, on items drawn apart for each."""
    panels = []
    for dataset, n_right in counts.items():
        speaker1, speaker2 = labels or own_labels(dataset, arm)
        asked = Factors(arm=arm, speaker1=speaker1, speaker2=speaker2, **factors)
        panels.append(panel_with(dataset, n_right, asked, N_ITEMS[dataset]))
    return panels


def panel_with(dataset: str, n_right: Sequence[int | None], factors: Factors, n_items: int) -> Panel:
    """A panel with so many right answers in each condition."""
    rng = np.random.default_rng(7)
    replies = np.full((n_items, 4, 1), ABSENT, dtype=np.int8)
    for column, n in enumerate(n_right):
        if n is not None:
            right = rng.permutation(n_items) < n
            replies[:, column, 0] = np.where(right, 1, 2) if column % 2 == 0 else np.where(right, 2, 1)
    return Panel(
        benchmark="dialdefer",
        dataset=dataset,
        factors=factors,
        item_ids=tuple(f"{dataset}-{i:04}" for i in range(n_items)),
        replies=replies,
        unread={parser: np.zeros(replies.shape, dtype=np.bool_) for parser in PARSERS},
        margins=np.full(replies.shape, np.nan),
        hashes=np.full((n_items, 4), "same", dtype="<U16"),
    )


def frame_of(model: str, panels: Sequence[Panel], n_draws: int = 20) -> pd.DataFrame:
    """The wide frame of a model's scores."""
    return wide_frame(scores_of(model, panels, n_draws))


def scores_of(model: str, panels: Sequence[Panel], n_draws: int = 20) -> list[Score]:
    """The scores that the product gives for a model's panels."""
    drawing = Drawing(n_draws=n_draws, seed=1)
    scored = Scored(run=model, model=model, verdict="reason", parser="lenient", drawing=drawing)
    return score_panels(panels, scored, ["published"])


@cache
def paper_frame(n_draws: int = 20) -> pd.DataFrame:
    """The scores of all five models and their arms."""
    scores: list[Score] = []
    for model in models():
        panels = panels_with(counts_of_table_20(model))
        if model in MITIGATED:
            panels += [p for arm, c2 in counts_of_mitigations(model).items() for p in panels_with(c2, arm)]
        scores += scores_of(model, panels, n_draws)
    return wide_frame(scores)


def lines(table: TableSpec, *keys: str) -> dict[tuple[str, ...], dict[str, Cell]]:
    """The lines of a table by some of their cells."""
    found = [dict(zip(table.columns, row, strict=True)) for row in table.rows]
    by_key = {tuple(str(line[key]) for key in keys): line for line in found}
    assert len(by_key) == len(found), f"{table.name}: {keys} name no single line"
    return by_key


def agrees(value: Cell, cell: str) -> bool:
    """Whether a number rounds to a printed cell."""
    assert isinstance(value, float)
    return abs(value - float(cell)) < ROUNDING
