"""How many verdicts the dialogue framing costs, and in which direction (DialDefer appendices I.1, I.2 and J.1)."""

from collections.abc import Sequence
from dataclasses import dataclass

from eval.dialdefer.accuracy import flip_masks, majority
from eval.dialdefer.judges import Judge
from eval.dialdefer.panel_selection import panels_by_judge
from eval.dialdefer.panels import Panel, without_errors
from eval.report.table import Cell, Table

ALL = "all"  # what stands for the datasets, or the judges, of a sum


@dataclass(frozen=True, slots=True, kw_only=True)
class FlipCount:
    """One judge's flips on one dataset, or sums of them.

    Flips are losses only: a right verdict in C1 and the opposite, wrong one in C2. An unreadable reply or a tie is
    never a flip. An item can flip in both directions at once, and then counts twice in `n_flips`, as in the paper.
    """

    judge: str
    dataset: str
    n_items: int  # without those lost to engine errors
    n_deference: int  # C1_False rejected, C2_Incorrect accepted
    n_skepticism: int  # C1_True accepted, C2_Correct rejected
    n_items_flipped: int  # items with either, or both

    @property
    def n_flips(self) -> int:
        """Deference and skepticism flips."""
        return self.n_deference + self.n_skepticism

    @property
    def flip_rate(self) -> float:
        """Flips per item; above 1 only if items flip in both directions."""
        return self.n_flips / self.n_items

    @property
    def deference_rate(self) -> float | None:
        """The share of flips that are deference; None without flips."""
        return self.n_deference / self.n_flips if self.n_flips else None


def count_flips(judges: Sequence[Judge]) -> list[FlipCount]:
    """One count for each judge and dataset."""
    panels = panels_by_judge(judges)
    return [flip_count(judge, panel) for judge, by_dataset in panels.items() for panel in by_dataset.values()]


def flip_count(judge: str, panel: Panel) -> FlipCount:
    """The flips of one panel; of several samples of a prompt the majority counts."""
    panel, _ = without_errors(panel)
    deference, skepticism = flip_masks(majority(panel.replies))
    return FlipCount(
        judge=judge,
        dataset=panel.dataset,
        n_items=len(panel.item_ids),
        n_deference=int(deference.sum()),
        n_skepticism=int(skepticism.sum()),
        n_items_flipped=int((deference | skepticism).sum()),
    )


def summed(counts: Sequence[FlipCount], judge: str) -> FlipCount:
    """The sum of counts, called by a judge's name or `all`."""
    return FlipCount(
        judge=judge,
        dataset=ALL,
        n_items=sum(c.n_items for c in counts),
        n_deference=sum(c.n_deference for c in counts),
        n_skepticism=sum(c.n_skepticism for c in counts),
        n_items_flipped=sum(c.n_items_flipped for c in counts),
    )


def totals(counts: Sequence[FlipCount]) -> list[FlipCount]:
    """Each judge's flips over all its datasets: items are pooled, datasets are not averaged."""
    return [summed([c for c in counts if c.judge == name], name) for name in dict.fromkeys(c.judge for c in counts)]


def flips_by_domain(counts: Sequence[FlipCount]) -> list[Table]:
    """Table 26: flip rates in percent, and flips as deference/skepticism, by dataset (rows) and judge (columns)."""
    judges = tuple(dict.fromkeys(c.judge for c in counts))
    datasets = tuple(dict.fromkeys(c.dataset for c in counts))
    at = {(c.dataset, c.judge): c for c in counts}
    rates: list[tuple[Cell, ...]] = []
    directions: list[tuple[Cell, ...]] = []
    for dataset in datasets:
        found = [at.get((dataset, judge)) for judge in judges]
        rates.append((dataset, *(100 * c.flip_rate if c else None for c in found)))
        directions.append((dataset, *(f"{c.n_deference}/{c.n_skepticism}" if c else None for c in found)))
    note = "Flips are losses from C1 to C2 only; an unreadable reply is never one. Rate: flips per item."
    return [
        Table(
            name="table26_flip_rates",
            title="Flip rate by domain and model, % (DialDefer Table 26)",
            columns=("dataset", *judges),
            rows=tuple(rates),
            note=note,
        ),
        Table(
            name="table26_flip_directions",
            title="Deference/skepticism flips by domain and model (DialDefer Table 26)",
            columns=("dataset", *judges),
            rows=tuple(directions),
            note=note,
        ),
    ]


def flip_totals(counts: Sequence[FlipCount]) -> Table:
    """Table 28: flips by judge and direction, and their sum over the judges."""
    lines = [*totals(counts), summed(counts, "total")]
    return Table(
        name="table28_flip_totals",
        title="Flips by model and direction (DialDefer Table 28)",
        columns=("model", "deference", "skepticism", "flips", "deference, % of flips", "items flipped"),
        rows=tuple(
            (c.judge, c.n_deference, c.n_skepticism, c.n_flips, percent(c.deference_rate), c.n_items_flipped)
            for c in lines
        ),
        note="An item that flips in both directions counts as two flips and one item. "
        "In the last row an item counts once for each model.",
    )


def percent(rate: float | None) -> float | None:
    """A fraction in percent; what is unknown stays unknown."""
    return None if rate is None else 100 * rate
