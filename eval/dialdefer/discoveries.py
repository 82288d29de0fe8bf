"""Which shifts of a grid of judges × datasets are discoveries: q-values under a controlled false-discovery rate."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from eval.dialdefer.acceptance_rises import acceptance_rises
from eval.dialdefer.accuracy import credit, discordant, majority
from eval.dialdefer.dds import dds_pp
from eval.dialdefer.judges import Judge
from eval.dialdefer.panel_selection import panels_by_judge
from eval.dialdefer.panels import Panel, without_errors
from eval.estimates.estimate import known
from eval.estimates.false_discovery import q_values
from eval.estimates.mcnemar import mcnemar_p
from eval.estimates.sign_flip import sign_flip_p
from eval.report.table import Table

LEVEL = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """The test of one judge's DDS on one dataset, as one of a family.

    p: exact sign-flip test over items of the rise in acceptance from C1 to C2, two-sided. McNemar's test on acceptance
    stands beside it; it takes an item's two claims for independent pairs, so the family is controlled by p.
    """

    judge: str
    dataset: str
    n_items: int
    dds_pp: float | None
    p: float
    mcnemar_p: float
    q: float


def grid_of_tests(judges: Sequence[Judge], *, denominator: str = "published") -> list[Cell]:
    """A cell for each judge and dataset in the main setting, with own C1; one family of tests.

    DDS is over the chosen denominator; the tests leave pairs with an unreadable side out, which neither accepts nor
    rejects. Averages are no further tests and not in the family. Raises DataError for a judge without
    a panel in the setting.
    """
    grid = panels_by_judge(judges)
    tested = [cell_of(judge, panel, denominator) for judge, panels in grid.items() for panel in panels.values()]
    found = q_values([cell.p for cell in tested])
    return [replace(cell, q=q) for cell, q in zip(tested, found, strict=True)]


def cell_of(judge: str, panel: Panel, denominator: str) -> Cell:
    """The test of one panel; its q is that of a family of one."""
    panel, _ = without_errors(panel)
    earned, counted = credit(panel.replies, denominator)
    one = majority(panel.replies)
    p = sign_flip_p(acceptance_rises(one))
    with np.errstate(invalid="ignore"):
        dds = dds_pp(earned.sum(axis=0) / counted.sum(axis=0))
    return Cell(
        judge=judge,
        dataset=panel.dataset,
        n_items=len(panel.item_ids),
        dds_pp=known(float(dds)),
        p=p,
        mcnemar_p=mcnemar_p(*discordant(one, denominator)["acceptance"]),
        q=p,
    )


def discovery_table(cells: Sequence[Cell]) -> Table:
    """The grid, the surest cells first, and how many are discoveries at a false-discovery rate."""
    ranked = sorted(cells, key=lambda cell: (cell.q, cell.p))
    n_found = sum(cell.q <= LEVEL for cell in cells)
    return Table(
        name="discoveries",
        title="Which shifts are discoveries",
        columns=("judge", "dataset", "items", "DDS", "p", "McNemar p", "q", f"q <= {LEVEL:g}"),
        rows=tuple((c.judge, c.dataset, c.n_items, c.dds_pp, c.p, c.mcnemar_p, c.q, c.q <= LEVEL) for c in ranked),
        note=f"{n_found} of {len(cells)} cells are discoveries at a false-discovery rate of {LEVEL:.0%}: of these "
        "about that share is expected to be false. p: exact sign-flip test over items on acceptance.",
        formats=("", "", "", "+.1f", "p", "p", "p", ""),
    )
