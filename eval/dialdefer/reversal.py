"""Who judges whom on r/AIO: DDS with Speaker 2 judged (2->1) and with Speaker 1 judged (1->2) (DialDefer Table 14)."""

from collections.abc import Sequence
from dataclasses import dataclass

from eval.dialdefer.judges import Judge
from eval.dialdefer.observe import ACC_C1_TRUE, DDS, pair_of
from eval.dialdefer.panel_selection import MAIN, REVERSED, setting_panels
from eval.estimates.changes import Change, Compared, change_in
from eval.estimates.observed import Drawing
from eval.report.table import Table


@dataclass(frozen=True, slots=True, kw_only=True)
class Reversal:
    """One judge on r/AIO (dataset `aio`, or `aio-context` for its contexts alone), from 2->1 to 1->2.

    In 2->1 the original poster (Speaker 2) judges the other party, in 1->2 the reverse.
    """

    judge: str
    dataset: str
    dds: Change
    acc_c1_true: Change


def reversals(judges: Sequence[Judge], *, denominator: str = "published", drawing: Drawing) -> list[Reversal]:
    """A record for each judge and dataset that was asked in both directions, untreated and in the main prompt variant.

    Raises DataError when the two directions are over different items.
    """
    found = []
    for judge in judges:
        there, back = setting_panels(judge, MAIN), setting_panels(judge, REVERSED)
        for dataset in back:
            if dataset in there:
                pair = [pair_of(there[dataset], back[dataset], denominator, drawing)]
                compared = Compared("2->1", "1->2", {})
                dds, acc = (change_in(measure, pair, compared, dataset) for measure in (DDS, ACC_C1_TRUE))
                found.append(Reversal(judge=judge.name, dataset=dataset, dds=dds, acc_c1_true=acc))
    return found


def reversal_table(found: Sequence[Reversal]) -> Table:
    """DialDefer Table 14, with intervals, and with accuracy on C1_True: which side the narrative is on (C.4)."""
    columns = [f"{name}{part}" for name in ("DDS 2->1", "DDS 1->2", "Δ") for part in ("", " 95% low", " 95% high")]
    return Table(
        name="table14_reversal",
        title="Perspective reversal on r/AIO (DialDefer Table 14)",
        columns=("model", "dataset", "items", *columns, "C1 true 2->1", "C1 true 1->2"),
        rows=tuple(
            (
                *(r.judge, r.dataset, r.dds.change.n_units),
                *(end for of in (r.dds.before, r.dds.after, r.dds.change) for end in (of.value, of.low, of.high)),
                *(r.acc_c1_true.before.value, r.acc_c1_true.after.value),
            )
            for r in found
        ),
        formats=("", "", "d", *("+.1f",) * 9, ".1f", ".1f"),
        note="2->1: the original poster (Speaker 2) judges the other party, the main setting. Δ is 1->2 minus 2->1; "
        "its interval resamples items jointly. DDS in percentage points, accuracy in %.",
    )
