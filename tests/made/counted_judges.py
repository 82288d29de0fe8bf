"""Five made-up judges whose verdicts have exactly the counts behind DialDefer's tables; and judges made by hand.

The accuracies of Table 20 and the flips of Table 26 say how many items of a dataset are won, lost and unmoved on true
and on false claims. Which items these are is free, within what the other tables print:
- Tables 24, 27 and 33: how many items flip in all judges, in none, in all but GPT-5-mini, and in GPT-5-mini alone;
- Table 25: how many items move on both claims at once, which is what its standard deviation tells;
- Tables 4 and 16: r/AIO's 30 OR items have their own counts, so that its two strata are built as two datasets.
"""

import csv
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache

import numpy as np
from numpy.typing import NDArray

from eval.dialdefer.measures import RIGHT
from eval.dialdefer.panels import MAIN_ROLES, Judge
from tests.made.made_panels import made_judge, made_panel
from tests.made.places import GOLDEN

JUDGES = ("GPT-4o-mini", "Qwen-2.5-7B-Instruct", "Gemma-3-12B-IT", "GPT-4o", "GPT-5-mini")  # GPT-5-mini is the last
CONDITION_COLUMNS = ("acc_c1_true", "acc_c1_false", "acc_c2_correct", "acc_c2_incorrect")
N_OR = 30

# Of r/AIO's 30 OR items, which no table tells: right on C1_False, deference flips and skepticism flips.
OR_C1_FALSE, OR_GAINS_FALSE, OR_SKEPTICISM = 21, 3, 1
OR_IN_ALL, OR_IN_ANY = 2, 22
# Items that flip in GPT-5-mini alone: 89, for 1,643 flip in none of the other four (Table 33) and 1,554 in none at all.
ONLY_LAST = {
    "advisorqa": 11,
    "amqa": 2,
    "bbq": 11,
    "gpqa": 9,
    "halueval": 10,
    "harp": 3,
    "plausibleqa": 10,
    "socialiqa": 10,
    "truthfulqa": 10,
    "OR": 3,
    "NOR": 10,
}
ALL_BUT_LAST = {"NOR": 33}  # 61 flip in the four (Table 33) and 28 in all five (Table 24)


def read_golden(name: str) -> list[dict[str, str]]:
    """The rows of a golden CSV file; lines that start with # are comments."""
    with (GOLDEN / name).open(encoding="utf-8") as file:
        return list(csv.DictReader(line for line in file if not line.startswith("#")))


class Cell:
    """The counts of one judge on one dataset, or one stratum of r/AIO."""

    def __init__(self, n_items: int, n_right: Sequence[int], n_deference: int, n_skepticism: int) -> None:
        self.n_items, self.n_right = n_items, tuple(n_right)
        self.n_deference, self.n_skepticism = n_deference, n_skepticism
        c1_true, c1_false, c2_correct, c2_incorrect = n_right
        self.n_won_true = c2_correct - c1_true + n_skepticism
        self.n_won_false = c2_incorrect - c1_false + n_deference

    @property
    def n_flips(self) -> int:
        """Items that flip: no item flips in both directions."""
        return self.n_deference + self.n_skepticism

    @property
    def n_moves(self) -> int:
        """Claims won or lost."""
        return self.n_flips + self.n_won_true + self.n_won_false

    @property
    def most_shared(self) -> int:
        """The most items that can move on both claims in one direction of acceptance."""
        return min(self.n_deference, self.n_won_true) + min(self.n_skepticism, self.n_won_false)

    @property
    def least_shared(self) -> int:
        """The fewest: where more claims move than there are items, some items move on both."""
        return max(0, self.n_moves - self.n_items)

    def less(self, other: "Cell") -> "Cell":
        """The rest of the items."""
        rest = [a - b for a, b in zip(self.n_right, other.n_right, strict=True)]
        flips = (self.n_deference - other.n_deference, self.n_skepticism - other.n_skepticism)
        return Cell(self.n_items - other.n_items, rest, *flips)


@cache
def cells() -> dict[str, dict[str, Cell]]:
    """Judge → dataset or stratum → counts."""
    flips = {(r["model"], r["dataset"]): r for r in read_golden("dialdefer_table26.csv")}
    n_items = {r["dataset"]: int(r["n_items"]) for r in read_golden("dialdefer_table27.csv")}
    found: dict[str, dict[str, Cell]] = {judge: {} for judge in JUDGES}
    for row in read_golden("dialdefer_table20.csv"):
        judge, dataset = row["model"], row["dataset"]
        if (judge, dataset) in flips:
            n, flipped = n_items[dataset], flips[judge, dataset]
            n_right = [count(row[column], n) for column in CONDITION_COLUMNS]
            found[judge][dataset] = Cell(n, n_right, int(flipped["n_deference"]), int(flipped["n_skepticism"]))
    for judge, of_judge in found.items():
        whole = of_judge.pop("aio")
        of_judge["OR"] = or_cell(judge, whole)
        of_judge["NOR"] = whole.less(of_judge["OR"])
    return found


def count(percentage: str, n_items: int) -> int:
    """The count that a printed percentage stands for: below 1,000 items only one rounds to it."""
    n = round(float(percentage) * n_items / 100)
    assert abs(100 * n / n_items - float(percentage)) < 0.0501
    return n


def or_cell(judge: str, whole: Cell) -> Cell:
    """The counts of the OR stratum: Table 4's on true claims, and a change on false ones that gives Table 16's DDS.

    Qwen's printed OR DDS would not leave Table 20's r/AIO counts; it gets what Table 16's NOR stratum leaves over.
    """
    (four,) = (row for row in read_golden("dialdefer_table4.csv") if row["model"] == judge)
    (sixteen,) = (row for row in read_golden("dialdefer_table16.csv") if row["model"] == judge)
    c1_true, c2_correct = count(four["or_c1"], N_OR), count(four["or_c2"], N_OR)
    c1t, c1f, c2c, c2i = whole.n_right
    n_nor = whole.n_items - N_OR
    n_dds = (c2c - c1t) - (c2i - c1f) - round(float(sixteen["dds_nor_pp"]) * n_nor / 100)
    c2_incorrect = OR_C1_FALSE + (c2_correct - c1_true) - n_dds
    n_deference = OR_GAINS_FALSE - (c2_incorrect - OR_C1_FALSE)
    return Cell(N_OR, (c1_true, OR_C1_FALSE, c2_correct, c2_incorrect), n_deference, OR_SKEPTICISM)


def flips_of_all(dataset: str, n_items: int, n_flips: Sequence[int]) -> NDArray[np.bool_]:
    """(n_items, 5): who flips on which item, with as many items flipping in all, in any and in GPT-5-mini alone as
    printed. The other flips are laid around a ring one judge after the other, so that they spread evenly.
    """
    n_all, n_any = (OR_IN_ALL, OR_IN_ANY) if dataset == "OR" else printed_overlap(dataset)
    n_four, n_last = ALL_BUT_LAST.get(dataset, 0), ONLY_LAST[dataset]
    flips = np.zeros((n_items, len(n_flips)), dtype=np.bool_)
    flips[:n_all] = True
    flips[n_all : n_all + n_four, :-1] = True
    flips[n_all + n_four : n_all + n_four + n_last, -1] = True
    start, size = n_all + n_four + n_last, n_any - n_all - n_four - n_last
    offset = 0
    for column, n in enumerate(n_flips):
        n_left = n - n_all - (n_last if column == len(n_flips) - 1 else n_four)
        flips[start + (offset + np.arange(n_left)) % size, column] = True
        offset += n_left
    return flips


def printed_overlap(dataset: str) -> tuple[int, int]:
    """(items that flip in all five, in any), as Table 24 prints them; NOR has what OR leaves."""
    (row,) = (r for r in read_golden("dialdefer_table27.csv") if r["dataset"] == {"NOR": "aio"}.get(dataset, dataset))
    n_all, n_any = int(row["n_in_all"]), int(row["n_items"]) - int(row["n_in_none"])
    return (n_all - OR_IN_ALL, n_any - OR_IN_ANY) if dataset == "NOR" else (n_all, n_any)


def shared_moves(judge: str) -> dict[str, int]:
    """Dataset → items that move on both claims, so that the item-level DDS spreads as Table 25 prints."""
    (row,) = (r for r in read_golden("dialdefer_table25.csv") if r["model"] == judge)
    of_judge = cells()[judge]
    n_items = int(row["n_items"])
    total = sum(c.n_right[2] - c.n_right[0] - c.n_right[3] + c.n_right[1] for c in of_judge.values())
    squares = (float(row["dds_std"]) ** 2 + (total / n_items) ** 2) * n_items
    shared = {dataset: cell.least_shared for dataset, cell in of_judge.items()}
    left = round((squares - sum(c.n_moves for c in of_judge.values())) / 2) - sum(shared.values())
    for dataset, cell in of_judge.items():
        more = min(cell.most_shared - shared[dataset], left)
        shared[dataset], left = shared[dataset] + more, left - more
    assert left == 0
    return shared


def replies_of(cell: Cell, flipped: NDArray[np.bool_], n_shared: int) -> NDArray[np.int8]:
    """(n_items, 4, 1) replies with the counts of a cell that flip where they should."""
    rows, still = np.flatnonzero(flipped), np.flatnonzero(~flipped)
    lost_false, lost_true = rows[: cell.n_deference], rows[cell.n_deference :]
    n_true = min(n_shared, cell.n_deference, cell.n_won_true)
    n_false = n_shared - n_true
    won_true = np.concatenate([lost_false[:n_true], still[: cell.n_won_true - n_true]])
    still = still[cell.n_won_true - n_true :]
    won_false = np.concatenate([lost_true[:n_false], still[: cell.n_won_false - n_false]])
    assert len(won_true) == cell.n_won_true
    assert len(won_false) == cell.n_won_false
    right = np.zeros((cell.n_items, 4), dtype=np.bool_)
    for c1, lost, won in ((0, lost_true, won_true), (1, lost_false, won_false)):
        unmoved = np.setdiff1d(np.arange(cell.n_items), np.concatenate([lost, won]))
        right[lost, c1] = True
        right[won, c1 + 2] = True
        right[unmoved[: cell.n_right[c1] - len(lost)], c1] = True
        right[unmoved[: cell.n_right[c1] - len(lost)], c1 + 2] = True
    assert tuple(right.sum(axis=0)) == cell.n_right
    return np.where(right, RIGHT, 3 - RIGHT).astype(np.int8)[:, :, None]


@cache
def five_judges() -> tuple[Judge, ...]:
    """The judges, over the 3,244 items of ten datasets."""
    datasets = list(cells()[JUDGES[0]])
    flips = {
        d: flips_of_all(d, cells()[JUDGES[0]][d].n_items, [cells()[judge][d].n_flips for judge in JUDGES])
        for d in datasets
    }
    made = []
    for column, judge in enumerate(JUDGES):
        shared = shared_moves(judge)
        replies = {d: replies_of(cells()[judge][d], flips[d][:, column], shared[d]) for d in datasets}
        aio = np.concatenate([replies.pop("OR"), replies.pop("NOR")])
        made.append(judge_of(judge, {**replies, "aio": aio}, labels=aio_labels()))
    return tuple(made)


def aio_labels() -> dict[str, str]:
    """r/AIO's labels: the first 30 items are OR."""
    return {item_id(row): "OR" if row < N_OR else "NOR" for row in range(280)}


def item_id(row: int) -> str:
    """Ids that sort as they are numbered."""
    return f"item-{row:04d}"


def judge_of(name: str, replies: Mapping[str, object], labels: Mapping[str, str] | None = None) -> Judge:
    """A judge from dataset → replies, (n_items, 4) or (n_items, 4, n_samples), to items item-0000, item-0001, ..."""
    panels = [
        made_panel(of, dataset=dataset, ids=map(item_id, range(len(of))), roles=MAIN_ROLES * dataset.startswith("aio"))
        for dataset, of in ((dataset, np.asarray(array)) for dataset, array in replies.items())
    ]
    return replace(made_judge(*panels, name=name, model=name), labels=labels or {})
