"""Which arms and judges are held against each other, and the table of their differences."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from eval.dialdefer.answer_orders import BOTH_ORDERS
from eval.dialdefer.compare import changes_over, paired_panels
from eval.dialdefer.judges import Judge
from eval.dialdefer.panels import Panel, named, refuse_unequal_items
from eval.dialdefer.prompt_variants import variant_of
from eval.dialdefer.scores import FIXED, OWN, fixed_panels, grouped, own_panels
from eval.estimates.changes import Change, Compared, adjusted
from eval.estimates.observed import Drawing
from eval.report.table import Table
from evenhand.errors import DataError

PANELS_BY_C1 = {OWN: own_panels, FIXED: fixed_panels}


@dataclass(frozen=True, slots=True)
class Side:
    """What stands on one side of a difference."""

    judge: str
    arm: str
    roles: str
    variant: str
    c1_source: str

    def __str__(self) -> str:
        return f"{self.judge}, arm {self.arm}{f', {self.variant}' if self.variant else ''}"


def judge_differences(judges: Sequence[Judge], denominator: str, drawing: Drawing) -> list[Change]:
    """Every pair of judges on every arm, dataset and average that both have, for own and for fixed C1; p_holm is over
    the pairs.

    Raises DataError when two judges are not over the same items of a dataset, naming five and the count.
    """
    rows: list[Change] = []
    for first, second in combinations(judges, 2):
        for c1_source, panels_of in PANELS_BY_C1.items():
            ours, theirs = list(panels_of(first.panels)), list(panels_of(second.panels))
            for group, pairs in paired_panels(ours, theirs, OWN, first.panels).items():
                sides = [Side(judge.name, *group, c1_source) for judge in (first, second)]
                rows += differences(sides[0], sides[1], pairs, denominator, drawing)
    return adjusted([rows])[0]


def arm_differences(judge: Judge, denominator: str, drawing: Drawing) -> list[Change]:
    """Every arm and prompt variant of a judge against its untreated arm, for own and for fixed C1; p_holm is over the
    arms of one variant.

    A treated arm is held against the untreated one in the same variant, another untreated variant against the main one.
    Raises DataError when an arm is not over the same items as the untreated one, naming five and the count.
    """
    untreated = [panel for panel in own_panels(judge.panels) if panel.factors.arm == "none"]
    rows: list[Change] = []
    for c1_source, panels_of in PANELS_BY_C1.items():
        for (arm, roles, variant), panels in grouped(list(panels_of(judge.panels)), judge.panels).items():
            if arm == "none" and not variant:
                continue
            base_variant = "" if arm == "none" else variant
            alike = [p for p in untreated if p.roles == roles and variant_of(p, judge.panels) == base_variant]
            bases = {panel.dataset: panel for panel in alike}
            pairs = [(bases[panel.dataset], panel) for panel in panels if panel.dataset in bases]
            # Reasoned replies in both answer orders are two a prompt; the main prompt variant alone has one.
            pairs = [(a, b) for a, b in pairs if a.replies.shape == b.replies.shape or not in_both_orders(b)]
            if pairs:
                first = Side(judge.name, "none", roles, base_variant, OWN)
                rows += differences(
                    first, Side(judge.name, arm, roles, variant, c1_source), pairs, denominator, drawing
                )
    return adjusted([rows], family=arm_family)[0]


def arm_family(row: Change) -> tuple[object, ...]:
    """What the arms that are adjusted for each other have in common."""
    return row.setting["c1_source"], row.setting["variant"], row.dataset, row.measure


def differences(
    first: Side, second: Side, pairs: Sequence[tuple[Panel, Panel]], denominator: str, drawing: Drawing
) -> list[Change]:
    """Second minus first for each dataset of the pairs and for each average over them; the setting is the second's.

    Raises DataError when a pair is over unequal items (the first five and the count) or numbers of samples.
    """
    for a, b in pairs:
        name = f"{first} against {second}, {a.dataset}"
        refuse_unequal_items(name, a, b)
        if a.replies.shape != b.replies.shape:
            raise DataError(f"{name}: unequal samples a prompt; sample both alike")
        refuse_other_prompts(name, a, b)
    setting = {
        "arm": second.arm,
        "roles": second.roles,
        "variant": second.variant,
        "c1_source": second.c1_source,
        "denominator": denominator,
    }
    return changes_over(pairs, Compared(str(first), str(second), setting), denominator, drawing)


def refuse_other_prompts(name: str, a: Panel, b: Panel) -> None:
    """Raises DataError when two panels of the same variant were asked other texts: their items have changed since.

    A panel from a file has no prompts to compare.
    """
    if a.factors != b.factors:
        return
    other = ((a.hashes != b.hashes) & (a.hashes != "") & (b.hashes != "")).any(axis=1)
    if other.any():
        ids = [a.item_ids[int(i)] for i in np.flatnonzero(other)]
        raise DataError(f"{name}: {named(ids)} other prompts on the two sides; sample both from the same data")


def in_both_orders(panel: Panel) -> bool:
    """Whether a panel is two answer orders taken together."""
    return panel.factors.answer_order == BOTH_ORDERS


def difference_table(rows: Sequence[Change], name: str = "differences") -> Table:
    """The rows as a table, each side in words; an average over one dataset would only repeat its row."""
    columns = ("first", "second", "C1", "dataset", "measure", "items")
    numbers = ("first value", "second value", "difference", "95% low", "95% high")
    shown = [row for row in rows if row.datasets == (row.dataset,) or len(row.datasets) > 1]
    sides = [(r.first, r.second, r.setting["c1_source"], r.dataset, r.measure, r.change.n_units) for r in shown]
    values = [
        (r.before.value, r.after.value, r.change.value, r.change.low, r.change.high, r.p, r.p_holm) for r in shown
    ]
    return Table(
        name=name,
        title="Differences over the same items, second minus first",
        columns=(*columns, *numbers, "p", "p Holm"),
        rows=tuple((*side, *value) for side, value in zip(sides, values, strict=True)),
        note="Percentage points. Intervals resample items jointly, within datasets in averages; p is a two-sided "
        "sign-flip test over items; p Holm: adjusted over the arms or judges.",
        formats=(*[""] * len(columns), "", "", "+.1f", "+.1f", "+.1f", "p", "p"),
    )
