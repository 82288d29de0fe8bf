"""Who judges whom on r/AIO: DDS with Speaker 2 judged (2->1) and with Speaker 1 judged (1->2) (DialDefer Table 14)."""

from collections.abc import Sequence
from dataclasses import dataclass

from eval.dialdefer.changes import PairedMeasures, paired_measures
from eval.dialdefer.dds import C1_TRUE, dds_pp
from eval.dialdefer.judges import Judge
from eval.dialdefer.panel_selection import MAIN, REVERSED, setting_panels
from eval.dialdefer.rows import known
from eval.estimates.resampling import percentile_interval
from eval.report.table import Table


@dataclass(frozen=True, slots=True, kw_only=True)
class Reversal:
    """One judge on r/AIO (dataset `aio`, or `aio-context` for its contexts alone) in both directions.

    In 2->1 the original poster (Speaker 2) judges the other party, in 1->2 the reverse. *_pp in percentage points,
    accuracies in percent; None is unknown.
    """

    judge: str
    dataset: str
    n_items: int
    main_dds_pp: float | None  # 2->1
    main_ci: tuple[float, float] | None
    reversed_dds_pp: float | None  # 1->2
    reversed_ci: tuple[float, float] | None
    difference_pp: float | None  # 1->2 minus 2->1
    difference_ci: tuple[float, float] | None  # paired: items are resampled jointly
    main_acc_c1_true: float | None
    reversed_acc_c1_true: float | None


def reversals(judges: Sequence[Judge], *, denominator: str = "published", n_draws: int, seed: int) -> list[Reversal]:
    """A record for each judge and dataset that was asked in both directions, untreated and in the main wording.

    Raises DataError when the two directions are over different items.
    """
    found = []
    for judge in judges:
        there, back = setting_panels(judge, MAIN), setting_panels(judge, REVERSED)
        for dataset in back:
            if dataset in there:
                pair = paired_measures(there[dataset], back[dataset], denominator, n_draws, seed)
                found.append(reversal_of(judge.name, pair))
    return found


def reversal_of(judge: str, pair: PairedMeasures) -> Reversal:
    """The reversal of a judge whose measures of the main direction come first in the pair."""
    scores, draws = dds_pp(pair.acc), dds_pp(pair.draws)
    return Reversal(
        judge=judge,
        dataset=pair.dataset,
        n_items=pair.n_items,
        main_dds_pp=known(scores[0]),
        main_ci=percentile_interval(draws[:, 0]),
        reversed_dds_pp=known(scores[1]),
        reversed_ci=percentile_interval(draws[:, 1]),
        difference_pp=known(scores[1] - scores[0]),
        difference_ci=percentile_interval(draws[:, 1] - draws[:, 0]),
        main_acc_c1_true=known(100 * pair.acc[0, C1_TRUE]),
        reversed_acc_c1_true=known(100 * pair.acc[1, C1_TRUE]),
    )


def reversal_table(found: Sequence[Reversal]) -> Table:
    """DialDefer Table 14, with intervals, and with accuracy on C1_True: which side the narrative is on (C.4)."""
    columns = [f"{name}{part}" for name in ("DDS 2->1", "DDS 1->2", "Δ") for part in ("", " 95% low", " 95% high")]
    return Table(
        name="table14_reversal",
        title="Perspective reversal on r/AIO (DialDefer Table 14)",
        columns=("model", "dataset", "items", *columns, "C1 true 2->1", "C1 true 1->2"),
        rows=tuple(
            (
                *(r.judge, r.dataset, r.n_items, r.main_dds_pp, *(r.main_ci or (None, None))),
                *(r.reversed_dds_pp, *(r.reversed_ci or (None, None))),
                *(r.difference_pp, *(r.difference_ci or (None, None))),
                *(r.main_acc_c1_true, r.reversed_acc_c1_true),
            )
            for r in found
        ),
        formats=("", "", "d", *("+.1f",) * 9, ".1f", ".1f"),
        note="2->1: the original poster (Speaker 2) judges the other party, the main setting. Δ is 1->2 minus 2->1; "
        "its interval resamples items jointly. DDS in percentage points, accuracy in %.",
    )
