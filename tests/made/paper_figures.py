"""The DialDefer paper's printed figures, and judges whose verdicts have the counts behind them."""

import csv
import gzip
from collections import defaultdict
from functools import cache

import numpy as np

from eval.estimates.resampling import Drawing
from studies.dialdefer.measures import ABSENT, RIGHT
from studies.dialdefer.panels import MAIN_ROLES
from studies.dialdefer.render import own_labels
from studies.dialdefer.scores import BENCH_DATASETS, score_judge, wide_frame
from tests.made.made_panels import made_judge, made_panel
from tests.made.places import GOLDEN

DATASETS = (*BENCH_DATASETS, "aio")
N_ITEMS = defaultdict(lambda: 300, truthfulqa=790, amqa=240, gpqa=134, aio=280)  # Table 8
COLUMNS = ("acc_c1_true", "acc_c1_false", "acc_c2_correct", "acc_c2_incorrect")
N_OR = 30  # of r/AIO's items, the first ones
ROUNDING = 0.0501  # half the last printed digit
MITIGATED = {"Qwen-2.5-7B-Instruct": 21, "Gemma-3-12B-IT": 22, "GPT-4o-mini": 23}  # model → its table

GEMMA = "Gemma-3-12B-IT"
N_NULLS = 2  # its unreadable replies to C1_False on r/AIO: right in its accuracies (212 of 280), wrong in its DDS (210)


def golden(name):
    """The rows of a golden CSV file; lines that start with # are comments."""
    text = (GOLDEN / name).read_bytes()
    lines = (gzip.decompress(text) if name.endswith(".gz") else text).decode().splitlines()
    return list(csv.DictReader(line for line in lines if not line.startswith("#")))


def models():
    """The five models, in the order of Table 20."""
    return list(dict.fromkeys(row["model"] for row in golden("dialdefer_table20.csv")))


def count(percentage, dataset):
    """The right answers that a printed percentage stands for: below 1,000 items only one count rounds to it."""
    n_items = N_ITEMS[dataset]
    n_right = round(float(percentage) * n_items / 100)
    assert abs(100 * n_right / n_items - float(percentage)) < ROUNDING, f"{percentage} % of {n_items} items is no count"
    return n_right


def counts_of_table_20(model):
    """Dataset → right answers in each condition of one model, in the order of CONDITIONS."""
    rows = [row for row in golden("dialdefer_table20.csv") if row["model"] == model and row["dataset"] in DATASETS]
    return {row["dataset"]: [count(row[c], row["dataset"]) for c in COLUMNS] for row in rows}


def counts_of_mitigations(model):
    """Arm → dataset → right answers of one model under C2; C1 was not asked."""
    arms = defaultdict(dict)
    for row in golden(f"dialdefer_table{MITIGATED[model]}.csv"):
        if row["dataset"] in DATASETS and row["arm"] != "none":
            c2 = [count(row[c], row["dataset"]) for c in COLUMNS[2:]]
            arms[row["arm"]][row["dataset"]] = [None, None, *c2]
    return arms


def panels_with(counts, arm="none", labels=None, **factors):
    """A panel for each dataset with so many right answers in each condition, on items drawn apart for each."""
    panels = []
    for dataset, n_right in counts.items():
        rng, n_items = np.random.default_rng(7), N_ITEMS[dataset]
        replies = np.full((n_items, 4), ABSENT, dtype=np.int8)
        for column, n in enumerate(n_right):
            if n is not None:
                is_right = rng.permutation(n_items) < n
                replies[:, column] = np.where(is_right, RIGHT[column], 3 - RIGHT[column])
        speaker1, speaker2 = labels or own_labels(dataset, arm)
        ids = (f"{dataset}-{i:04}" for i in range(n_items))
        asked = {"arm": arm, "speaker1": speaker1, "speaker2": speaker2, **factors}
        panels.append(made_panel(replies, dataset=dataset, ids=ids, **asked))
    return panels


def frame_of(model, panels, n_draws=20):
    """The wide frame of a model's scores."""
    return wide_frame(scores_of(model, panels, n_draws))


def scores_of(model, panels, n_draws=20):
    """The scores that the product gives for a model's panels."""
    return score_judge(made_judge(*panels, model=model), ["published"], Drawing(n_draws=n_draws, seed=1))


@cache
def paper_frame():
    """The scores of all five models and their arms."""
    scores = []
    for model in models():
        panels = panels_with(counts_of_table_20(model))
        if model in MITIGATED:
            panels += [p for arm, c2 in counts_of_mitigations(model).items() for p in panels_with(c2, arm)]
        scores += scores_of(model, panels)
    return wide_frame(scores)


def lines(table, *keys):
    """The lines of a table by some of their cells."""
    found = [dict(zip(table.columns, row, strict=True)) for row in table.rows]
    by_key = {tuple(str(line[key]) for key in keys): line for line in found}
    assert len(by_key) == len(found), f"{table.name}: {keys} name no single line"
    return by_key


def agrees(value, cell):
    """Whether a number rounds to a printed cell."""
    assert isinstance(value, float)
    return abs(value - float(cell)) < ROUNDING


def item_id(row):
    """Ids that sort as they are numbered."""
    return f"item-{row:04d}"


def judge_of(name, replies, labels=None):
    """A judge from dataset → replies, (n_items, 4) or (n_items, 4, n_samples), to items item-0000, item-0001, ..."""
    panels = [
        made_panel(of, dataset=dataset, ids=map(item_id, range(len(of))), roles=MAIN_ROLES * dataset.startswith("aio"))
        for dataset, of in ((dataset, np.asarray(array)) for dataset, array in replies.items())
    ]
    return made_judge(*panels, model=name, labels=labels or {})


@cache
def five_judges():
    """Judges over the 3,244 items whose verdicts have the counts behind the tables; see golden/README.md."""
    replies = defaultdict(dict)
    for row in golden("dialdefer_verdicts.csv.gz"):
        columns = [list(map(int, row[name])) for name in ("c1_true", "c1_false", "c2_correct", "c2_incorrect")]
        replies[row["model"]][row["dataset"]] = np.transpose(columns)
    labels = {item_id(row): "OR" if row < N_OR else "NOR" for row in range(N_ITEMS["aio"])}
    return tuple(judge_of(model, of_model, labels) for model, of_model in replies.items())
