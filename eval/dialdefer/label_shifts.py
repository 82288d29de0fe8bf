"""DDS under other speaker labels against the usual ones: what DialDefer's Figure 7 draws (§5.2).

variant_tables.label_table has the same figures as a table; here each shift has an interval, paired by item.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from eval.dialdefer.judges import Judge
from eval.dialdefer.observe import DDS, pair_of
from eval.dialdefer.panel_selection import MAIN, setting_panels
from eval.dialdefer.panels import Panel, with_c1_of
from eval.estimates.changes import Change, Compared, change_in
from eval.estimates.observed import Drawing


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelShift:
    """One judge on one dataset under other speaker labels; nothing else differs."""

    judge: str
    dataset: str
    speaker1: str
    speaker2: str  # who is judged in the Q/A datasets
    dds: Change  # from the main prompt variant's labels ("Speaker 1", "Speaker 2") to these


def label_shifts(judges: Sequence[Judge], *, denominator: str = "published", drawing: Drawing) -> list[LabelShift]:
    """A record for each judge, dataset and pair of labels beside the main ones, untreated, in the main roles.

    Where only C2 was asked under other labels, C1 is the main variant's: a Q/A statement names no speaker. Raises
    DataError when labels were tried over other items than the base.
    """
    return [
        shift_of(judge, base, panel, denominator, drawing)
        for judge in judges
        for base in setting_panels(judge, MAIN).values()
        for panel in relabelled(judge, base)
    ]


def relabelled(judge: Judge, base: Panel) -> Iterator[Panel]:
    """The judge's panels that differ from the base in nothing but speaker labels, each with both framings."""
    f = base.factors
    for panel in judge.panels:
        renamed_back = replace(panel.factors, speaker1=f.speaker1, speaker2=f.speaker2)
        is_relabelled = panel.factors != f and renamed_back == f
        if panel.dataset == base.dataset and is_relabelled and panel.has_c2:
            yield panel if panel.has_c1 else with_c1_of(panel, base)


def shift_of(judge: Judge, base: Panel, panel: Panel, denominator: str, drawing: Drawing) -> LabelShift:
    """The shift from the base's labels to a panel's."""
    usual, others = (f"{f.speaker1} / {f.speaker2}" for f in (base.factors, panel.factors))
    return LabelShift(
        judge=judge.name,
        dataset=base.dataset,
        speaker1=panel.factors.speaker1,
        speaker2=panel.factors.speaker2,
        dds=change_in(DDS, [pair_of(base, panel, denominator, drawing)], Compared(usual, others, {}), base.dataset),
    )
