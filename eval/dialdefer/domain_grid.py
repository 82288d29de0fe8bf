"""DDS of every judge on every domain, as DialDefer's Figures 4 (heat map) and 5 (spread over judges) draw it.

Figure 3's data are rows of scores as they are: each judge's headline.main_row of row_groups.main_rows_by_judge.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from eval.dialdefer.row_groups import is_dataset, main_rows_by_judge
from eval.dialdefer.rows import ScoreRow
from eval.report.table import Table


@dataclass(frozen=True, slots=True, kw_only=True)
class DomainScores:
    """DDS of several judges on one dataset, in percentage points; None where a judge was not asked or it is unknown.

    The five numbers of a box plot (quartiles interpolated linearly) and the mean are over the judges with a known DDS.
    """

    dataset: str
    dds_pp: tuple[float | None, ...]  # in the order of the grid's judges
    mean_pp: float | None
    min_pp: float | None
    lower_quartile_pp: float | None
    median_pp: float | None
    upper_quartile_pp: float | None
    max_pp: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class DomainGrid:
    """Domains × judges. Domains are in the order of their mean DDS, descending, as in Figure 4; unknown ones last."""

    judges: tuple[str, ...]
    domains: tuple[DomainScores, ...]


def domain_grid(rows: Sequence[ScoreRow]) -> DomainGrid:
    """The grid of all judges' main rows, averages left out.

    rows: as scores.score_panels gives them, of one reading and one denominator. Raises DataError when no judge has
    main rows.
    """
    judges = {
        judge: {row.dataset: row.dds_pp for row in of_judge if is_dataset(row)}
        for judge, of_judge in main_rows_by_judge(rows).items()
    }
    datasets = dict.fromkeys(dataset for scores in judges.values() for dataset in scores)
    domains = [domain_scores(name, [scores.get(name) for scores in judges.values()]) for name in datasets]
    ordered = sorted(domains, key=lambda domain: (domain.mean_pp is None, -(domain.mean_pp or 0.0)))
    return DomainGrid(judges=tuple(judges), domains=tuple(ordered))


def domain_scores(dataset: str, scores: Sequence[float | None]) -> DomainScores:
    """One dataset's record from the judges' DDS."""
    known = [score for score in scores if score is not None]
    five = np.percentile(known, [0, 25, 50, 75, 100]).tolist() if known else [None] * 5
    return DomainScores(
        dataset=dataset,
        dds_pp=tuple(scores),
        mean_pp=float(np.mean(known)) if known else None,
        min_pp=five[0],
        lower_quartile_pp=five[1],
        median_pp=five[2],
        upper_quartile_pp=five[3],
        max_pp=five[4],
    )


def domain_grid_table(grid: DomainGrid) -> Table:
    """The grid with the mean and the median over judges."""
    return Table(
        name="domain_grid",
        title="DDS by domain and model, pp (DialDefer Figures 4 and 5)",
        columns=("dataset", *grid.judges, "mean", "median", "min", "max"),
        rows=tuple((d.dataset, *d.dds_pp, d.mean_pp, d.median_pp, d.min_pp, d.max_pp) for d in grid.domains),
        formats=("", *("+.1f",) * (len(grid.judges) + 4)),
        note="Domains by falling mean over models. A dash: not asked, or unknown.",
    )
