"""Which arms and judges are held against each other, and the table of their differences."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

from benchmarks.records import Factors
from eval.compare import paired_panels
from eval.difference_rows import DifferenceRow, Drawing, Side, difference_rows
from eval.judges import Judge
from eval.panels import Panel
from eval.scores import FIXED, OWN, fixed_panels, grouped, own_panels
from eval.table import Table

PANELS_BY_C1 = {OWN: own_panels, FIXED: fixed_panels}


def judge_differences(judges: Sequence[Judge], drawing: Drawing) -> list[DifferenceRow]:
    """Every pair of judges on every arm, dataset and average that both have, for own and for fixed C1.

    Raises DataError when two judges are not over the same items of a dataset, naming five and the count.
    """
    rows: list[DifferenceRow] = []
    for first, second in combinations(judges, 2):
        for c1_source, panels_of in PANELS_BY_C1.items():
            ours, theirs = list(panels_of(first.panels)), list(panels_of(second.panels))
            for group, pairs in paired_panels(ours, theirs, OWN).items():
                sides = [Side(judge.name, *group, c1_source) for judge in (first, second)]
                rows += difference_rows(sides[0], sides[1], pairs, drawing)
    return rows


def arm_differences(judge: Judge, drawing: Drawing) -> list[DifferenceRow]:
    """Every arm and wording of a judge against its untreated arm, for own and for fixed C1.

    Raises DataError when an arm is not over the same items as the untreated one, naming five and the count.
    """
    untreated = [panel for panel in own_panels(judge.panels) if panel.factors.arm == "none"]
    base_groups = grouped(untreated, judge.panels)
    rows: list[DifferenceRow] = []
    for c1_source, panels_of in PANELS_BY_C1.items():
        for (arm, roles, variant), panels in grouped(list(panels_of(judge.panels)), judge.panels).items():
            pairs = [(base, panel) for panel in panels if (base := untreated_partner(panel, untreated)) is not None]
            if pairs:
                base_variant = next(key[2] for key, group in base_groups.items() if pairs[0][0] in group)
                first = Side(judge.name, "none", roles, base_variant, OWN)
                rows += difference_rows(first, Side(judge.name, arm, roles, variant, c1_source), pairs, drawing)
    return rows


def untreated_partner(panel: Panel, untreated: Sequence[Panel]) -> Panel | None:
    """The untreated panel that a panel is held against; None for the first untreated one itself, or without any.

    A treated panel is held against the same wording; where the arm renames the speakers, against the first that differs
    in nothing else. Another untreated wording is held against the untreated one that was asked first.
    """
    alike = [
        p
        for p in untreated
        if (p.dataset, p.roles, p.factors.answer_form) == (panel.dataset, panel.roles, panel.factors.answer_form)
    ]
    if panel.factors.arm == "none":
        return alike[0] if alike and alike[0] is not panel else None
    same = [p for p in alike if p.factors == replace(panel.factors, arm="none")]
    renamed = [p for p in alike if without_labels(p.factors) == without_labels(panel.factors)]
    return next(iter(same + renamed), None)


def without_labels(factors: Factors) -> Factors:
    """The factors but for the arm and what it may call the speakers."""
    return replace(factors, arm="none", speaker1="", speaker2="")


def difference_table(rows: Sequence[DifferenceRow], name: str = "differences") -> Table:
    """The rows as a table, each side in words."""
    columns = ("first", "second", "C1", "dataset", "measure", "items")
    numbers = ("first value", "second value", "difference", "95% low", "95% high")
    sides = [(str(r.first), str(r.second), r.second.c1_source, r.dataset, r.measure, r.n_items) for r in rows]
    values = [(r.first_pp, r.second_pp, r.difference_pp, r.ci_low_pp, r.ci_high_pp, r.p) for r in rows]
    return Table(
        name=name,
        title="Differences over the same items, second minus first",
        columns=(*columns, *numbers, "p"),
        rows=tuple((*side, *value) for side, value in zip(sides, values, strict=True)),
        note="Percentage points. Intervals resample items jointly, within datasets in averages; p is a two-sided "
        "sign-flip test over items.",
        formats=(*[""] * len(columns), *["+.1f"] * len(numbers), "p"),
    )
