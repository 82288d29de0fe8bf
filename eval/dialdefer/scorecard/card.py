"""Arms → the scorecard: a row for each, changes against other arms, and which arm's |DDS| is lowest."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from eval.dialdefer.scorecard.arms import Arm, with_unlikely
from eval.dialdefer.scorecard.calibrated import ORACLE
from eval.dialdefer.scorecard.changes import adjusted_by_key, changes_between
from eval.dialdefer.scorecard.rows import ArmRow, arm_row
from eval.dialdefer.scorecard.summaries import Scope, scope_of
from eval.dialdefer.scores import OWN
from eval.estimates.changes import Change
from eval.estimates.estimate import Estimate
from eval.estimates.observed import Drawing
from eval.report.change_cells import change_words
from eval.report.shown_numbers import percent
from eval.scorecard.seeds import has_seeds
from evenhand.errors import DataError

MAIN = "mean_abs_dds_own"  # the figure that arms are ranked by


@dataclass(frozen=True, slots=True, kw_only=True)
class Scorecard:
    """All rows, the base first, then the arms as given."""

    rows: tuple[ArmRow, ...]
    scope: Scope
    denominator: str
    drawing: Drawing
    against: Mapping[str, Mapping[str, Mapping[str, Change]]]  # another arm → arm → key → change
    # In MAIN from the second lowest arm in the running to the lowest; None unless there are two, and with seeds.
    lead: Change | None

    @property
    def base(self) -> ArmRow:
        """The row of the base."""
        return self.rows[0]

    @property
    def arms(self) -> tuple[ArmRow, ...]:
        """The rows of the others."""
        return self.rows[1:]

    @property
    def has_seeds(self) -> bool:
        """Whether an arm has several rows, its seeds."""
        return has_seeds([row.arm.arm for row in self.rows])

    def change(self, first: str, second: str) -> Estimate:
        """Of MAIN from one row to another."""
        arms = {row.name: row.arm for row in self.rows}
        return changes_between(arms[first], arms[second], self.scope, self.denominator, self.drawing)[MAIN].change

    def as_rows(self) -> list[dict[str, Any]]:
        """The rows as JSON has them."""
        shared = {"denominator": self.denominator, **asdict(self.drawing), "average": self.scope.average}
        return [{**row.as_dict(), **shared} for row in self.rows]

    def every_change(self) -> list[Change]:
        """All changes, against the base and then against the arms that were asked for."""
        others = [change for arms in self.against.values() for of_arm in arms.values() for change in of_arm.values()]
        return [*(change for row in self.arms for change in row.changes.values()), *others]


def make_scorecard(arms: Sequence[Arm], against: Sequence[str], denominator: str, drawing: Drawing) -> Scorecard:
    """The scorecard of some arms, of which the first is the base; `against` names arms that others are held against.

    Raises DataError for a name that no arm has, an arm that was asked no dataset of the base's average, or other items.
    """
    base, *others = arms = with_unlikely(arms)
    by_name = {arm.name: arm for arm in others}
    unknown = [name for name in against if name not in by_name]
    if unknown:
        raise DataError(f"--against '{unknown[0]}': no arm is called so; arms here: {', '.join(by_name)}")
    likely = {name: panel for name, panel in base.panels[OWN].items() if name not in base.unlikely}
    scope = scope_of(likely or base.panels[OWN])
    if likely:
        scope = replace(scope, left_out=(*scope.left_out, *base.unlikely))
    of_arms = [changes_of(base, arm, scope, denominator, drawing) for arm in others]
    unadjusted = [arm_row(arm, of_arm, scope) for arm, of_arm in zip(others, of_arms, strict=True)]
    unranked = [row.name for row in unadjusted if doubted(row)]
    of_arms = adjusted_by_key(of_arms, [arm.name in unranked for arm in others])
    rows = [arm_row(base, changes_between(base, base, scope, denominator, drawing), scope)]
    rows += [replace(row, changes=of_arm) for row, of_arm in zip(unadjusted, of_arms, strict=True)]
    # Of seeds none is the lowest; see eval.scorecard.seeds.
    ranked = [] if has_seeds([arm.arm for arm in arms]) else [row.arm for row in in_the_running(rows[1:])]
    lead = changes_between(ranked[1], ranked[0], scope, denominator, drawing)[MAIN] if len(ranked) > 1 else None
    return Scorecard(
        rows=tuple(rows),
        scope=scope,
        denominator=denominator,
        drawing=drawing,
        against={
            name: against_arm(by_name[name], others, scope, denominator, drawing, unranked)
            for name in dict.fromkeys(against)
        },
        lead=lead,
    )


def changes_of(base: Arm, arm: Arm, scope: Scope, denominator: str, drawing: Drawing) -> dict[str, Change]:
    """An arm's changes against the base. Raises DataError, naming the arm, when there are none on the average."""
    try:
        found = changes_between(base, arm, scope, denominator, drawing)
    except DataError as error:
        raise DataError(f"{arm.name} against {base.name}: {error}") from None
    if "acc_c2" not in found:
        raise DataError(f"{arm.name}: was asked none of {', '.join(scope.datasets)}, which the base's average is over")
    return found


def against_arm(
    reference: Arm, arms: Sequence[Arm], scope: Scope, denominator: str, drawing: Drawing, unranked: Sequence[str]
) -> dict[str, dict[str, Change]]:
    """Arm → changes from the reference to it, for every other arm."""
    others = [arm for arm in arms if arm is not reference]
    changes = [changes_between(reference, arm, scope, denominator, drawing) for arm in others]
    found = adjusted_by_key(changes, [arm.name in unranked for arm in others])
    return {arm.name: of_arm for arm, of_arm in zip(others, found, strict=True)}


def in_the_running(rows: Sequence[ArmRow]) -> list[ArmRow]:
    """The arms that may be called lowest, by rising mean |DDS| with own C1."""
    return sorted((row for row in rows if why_not(row) is None), key=lambda row: row.changes[MAIN].after.value or 0.0)


def unfit(row: ArmRow) -> str | None:
    """Why an arm's |DDS| cannot be ranked, whatever it costs in accuracy."""
    return "has no C1 of its own" if MAIN not in row.changes else doubted(row)


def doubted(row: ArmRow) -> str | None:
    """Why none of an arm's figures can be ranked: it is in no family of Holm's."""
    if row.arm.kind == ORACLE:
        return "knows the answers that it is scored on"
    if row.lacking:
        return f"was not asked {', '.join(row.lacking)}"
    if unlikely := [name for name in row.arm.unlikely if name in row.datasets]:
        return f"hardly gives an answer on {', '.join(unlikely)}"
    if row.doubts.is_unreadable:
        return f"{percent(row.doubts.unparsed_rate)} of its replies cannot be read"
    return "saturated" if row.doubts.saturated else None


def why_not(row: ArmRow) -> str | None:
    """Why an arm is not called lowest however low its |DDS| is; None for one that may be.

    A loss of accuracy is one when the 95 % interval of the change over C1 and C2, or over C2 alone, lies below 0: no
    adjustment over arms, which would let losses pass.
    """
    if reason := unfit(row):
        return reason
    own = row.changes[MAIN]
    for figure, words in (("acc", "accuracy"), ("acc_c2", "accuracy under C2")):
        change = row.changes[figure]
        rise = change.change
        if rise.high is None or own.after.value is None:
            return f"its {words} or DDS is unknown"
        if rise.high < 0:
            return f"{words} {change_words(change)}"
    return None
