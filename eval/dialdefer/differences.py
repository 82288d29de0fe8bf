"""Which arms and judges are held against each other, and the table of their differences."""

from collections.abc import Sequence
from itertools import combinations

from eval.dialdefer.answer_orders import BOTH_ORDERS
from eval.dialdefer.compare import paired_panels
from eval.dialdefer.difference_rows import DifferenceRow, Drawing, Side, difference_rows
from eval.dialdefer.judges import Judge
from eval.dialdefer.panels import Panel
from eval.dialdefer.prompt_variants import variant_of
from eval.dialdefer.scores import FIXED, OWN, fixed_panels, grouped, own_panels
from eval.report.table import Table

PANELS_BY_C1 = {OWN: own_panels, FIXED: fixed_panels}


def judge_differences(judges: Sequence[Judge], drawing: Drawing) -> list[DifferenceRow]:
    """Every pair of judges on every arm, dataset and average that both have, for own and for fixed C1.

    Raises DataError when two judges are not over the same items of a dataset, naming five and the count.
    """
    rows: list[DifferenceRow] = []
    for first, second in combinations(judges, 2):
        for c1_source, panels_of in PANELS_BY_C1.items():
            ours, theirs = list(panels_of(first.panels)), list(panels_of(second.panels))
            for group, pairs in paired_panels(ours, theirs, OWN, first.panels).items():
                sides = [Side(judge.name, *group, c1_source) for judge in (first, second)]
                rows += difference_rows(sides[0], sides[1], pairs, drawing)
    return rows


def arm_differences(judge: Judge, drawing: Drawing) -> list[DifferenceRow]:
    """Every arm and wording of a judge against its untreated arm, for own and for fixed C1.

    A treated arm is held against the untreated one in the same wording, another untreated wording against the main one.
    Raises DataError when an arm is not over the same items as the untreated one, naming five and the count.
    """
    untreated = [panel for panel in own_panels(judge.panels) if panel.factors.arm == "none"]
    rows: list[DifferenceRow] = []
    for c1_source, panels_of in PANELS_BY_C1.items():
        for (arm, roles, variant), panels in grouped(list(panels_of(judge.panels)), judge.panels).items():
            if arm == "none" and not variant:
                continue
            base_variant = "" if arm == "none" else variant
            alike = [p for p in untreated if p.roles == roles and variant_of(p, judge.panels) == base_variant]
            bases = {panel.dataset: panel for panel in alike}
            pairs = [(bases[panel.dataset], panel) for panel in panels if panel.dataset in bases]
            # Reasoned replies in both answer orders are two a prompt; the main wording alone has one.
            pairs = [(a, b) for a, b in pairs if a.replies.shape == b.replies.shape or not in_both_orders(b)]
            if pairs:
                first = Side(judge.name, "none", roles, base_variant, OWN)
                rows += difference_rows(first, Side(judge.name, arm, roles, variant, c1_source), pairs, drawing)
    return rows


def in_both_orders(panel: Panel) -> bool:
    """Whether a panel is two answer orders taken together."""
    return panel.factors.answer_order == BOTH_ORDERS


def difference_table(rows: Sequence[DifferenceRow], name: str = "differences") -> Table:
    """The rows as a table, each side in words; an average over one dataset would only repeat its row."""
    columns = ("first", "second", "C1", "dataset", "measure", "items")
    numbers = ("first value", "second value", "difference", "95% low", "95% high")
    shown = [row for row in rows if row.datasets == (row.dataset,) or len(row.datasets) > 1]
    sides = [(str(r.first), str(r.second), r.second.c1_source, r.dataset, r.measure, r.n_items) for r in shown]
    values = [(r.first_pp, r.second_pp, r.difference_pp, r.ci_low_pp, r.ci_high_pp, r.p) for r in shown]
    return Table(
        name=name,
        title="Differences over the same items, second minus first",
        columns=(*columns, *numbers, "p"),
        rows=tuple((*side, *value) for side, value in zip(sides, values, strict=True)),
        note="Percentage points. Intervals resample items jointly, within datasets in averages; p is a two-sided "
        "sign-flip test over items.",
        formats=(*[""] * len(columns), "", "", "+.1f", "+.1f", "+.1f", "p"),
    )
