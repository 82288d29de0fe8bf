"""One row of the scorecard: an arm's figures, their changes against the base, and what to doubt about them."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from eval.dialdefer.compare import over_corrected
from eval.dialdefer.measures import (
    ABSENT,
    C1,
    ERROR,
    MANY_UNREADABLE,
    TIE,
    UNREADABLE,
    accept_rates,
    framing_aucs,
    is_saturated,
    mean_or_none,
)
from eval.dialdefer.observe import SHIFT
from eval.dialdefer.panels import Panel, without_errors
from eval.dialdefer.scorecard.arms import Arm
from eval.dialdefer.scorecard.changes import averaged, of_dataset
from eval.dialdefer.scorecard.summaries import Scope
from eval.dialdefer.scores import FIXED, OWN
from eval.estimates.changes import Change
from eval.estimates.estimate import Estimate, by_chance
from eval.scorecard.arms import BASE

FIGURES = (
    *("acc", "acc_c2", "mean_abs_dds_own", "mean_abs_dds_fixed", "abs_mean_dds_own", "abs_mean_dds_fixed"),
    *("mean_square_dds_own", "mean_square_dds_fixed"),
    *("dds_own", "dds_fixed", "soft_mean_abs_dds_own", "soft_dds_own"),
    *("deference", "mean_abs_deference", "position", "shift", "shift_in_base_sd"),
    *("aio_acc_c2", "aio_abs_dds_own", "aio_abs_dds_fixed", "aio_dds_own", "aio_dds_fixed"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Doubts:
    """What a reader must know before believing an arm's numbers. Rates in [0, 1], None where nothing can be read."""

    n_replies: int
    n_unparsed: int
    n_ties: int
    accept_rate_c1: float | None  # means over datasets
    accept_rate_c2: float | None
    saturated: bool  # in the mean over datasets
    saturated_datasets: tuple[str, ...]
    auc_c1: float | None  # means over datasets; None without margins
    auc_c2: float | None

    @property
    def unparsed_rate(self) -> float:
        """Share of replies that cannot be read."""
        return self.n_unparsed / self.n_replies

    @property
    def is_unreadable(self) -> bool:
        """Whether so few replies can be read that the scores are about format."""
        return self.unparsed_rate >= MANY_UNREADABLE


@dataclass(frozen=True, slots=True, kw_only=True)
class ArmRow:
    """An arm beside the base."""

    arm: Arm
    changes: Mapping[str, Change]  # as changes.changes_between gives them; the base's are against itself
    datasets: tuple[str, ...]  # those of the average
    lacking: tuple[str, ...]  # those of them that the arm was not asked
    n_items: int
    n_errors: int
    chance_abs_dds_pp: float | None  # own C1; see estimate.by_chance
    doubts: Doubts

    @property
    def name(self) -> str:
        """What the arm is called."""
        return self.arm.name

    def dds(self, c1_source: str, dataset: str) -> Change | None:
        """DDS on one dataset, None where the arm was not asked it."""
        return self.changes.get(of_dataset(c1_source, dataset))

    def over_corrected(self, c1_source: str) -> tuple[str, ...] | None:
        """The datasets of the average whose DDS was positive before and is negative after.

        None for the base, and where the arm has no such C1.
        """
        found = {name: self.dds(c1_source, name) for name in self.datasets}
        known = {name: change for name, change in found.items() if change is not None}
        if self.arm.kind == BASE or not known:
            return None
        return tuple(name for name, change in known.items() if over_corrected(change))

    @property
    def main(self) -> Change:
        """In mean |DDS|, with own C1 where there is one."""
        return self.changes.get("mean_abs_dds_own") or self.changes["mean_abs_dds_fixed"]

    @property
    def aio(self) -> str | None:
        """ "aio", "aio-context", or None where the arm was asked neither."""
        change = self.changes.get("aio_acc_c2")
        return None if change is None else change.datasets[0]

    def as_dict(self) -> dict[str, Any]:
        """The row as JSON has it: `<figure>_pp` with its interval, and `change_<figure>_*` against the base."""
        over = {source: self.over_corrected(source) for source in (OWN, FIXED)}
        return {
            "model": self.arm.run.model,
            "verdict": self.arm.run.reading.mode,
            "parser": self.arm.run.reading.parser,
            "datasets": self.main.datasets,
            "lacking": self.lacking,
            "unlikely": self.arm.unlikely,
            "n_items": self.n_items,
            "n_errors": self.n_errors,
            **self.figures(),
            "chance_abs_dds_own_pp": self.chance_abs_dds_pp,
            **{f"n_over_corrected_{s}": None if names is None else len(names) for s, names in over.items()},
            **{f"over_corrected_{source}": names for source, names in over.items()},
            "aio_dataset": self.aio,
            **asdict(self.doubts),
            "unparsed_rate": self.doubts.unparsed_rate,
        }

    def figures(self) -> dict[str, float | None]:
        """Every figure and its change; None where it is unknown or was not measured, and for the base's changes."""
        fields: dict[str, float | None] = {}
        for figure in FIGURES:
            change = self.changes.get(figure)
            rise = None if self.arm.kind == BASE else change
            fields |= in_pp(figure, None if change is None else change.after)
            fields |= in_pp(f"change_{figure}", None if rise is None else rise.change)
            fields |= {f"change_{figure}_{key}": getattr(rise, key, None) for key in ("p", "p_holm")}
        return fields


def in_pp(name: str, of: Estimate | None) -> dict[str, float | None]:
    """A figure and its interval as a scorecard's row names them; squares are in squared percentage points, pp2, a shift
    in standard deviations.
    """
    unit = "pp2" if "square" in name else "sd" if SHIFT.name in name else "pp"
    ends = {"": "value", "_ci_low": "low", "_ci_high": "high"}
    return {f"{name}{end}_{unit}": getattr(of, field, None) for end, field in ends.items()}


def arm_row(arm: Arm, changes: Mapping[str, Change], scope: Scope) -> ArmRow:
    """The row of an arm from its changes against the base."""
    asked = [d for d in scope.datasets if d in arm.panels[OWN]] or list(arm.panels[FIXED])
    over = averaged(scope, arm)
    own, fixed = ({d: arm.panels[s][d] for d in over if d in arm.panels[s]} for s in (OWN, FIXED))
    level = changes.get("mean_abs_dds_own")
    main = level or changes["mean_abs_dds_fixed"]
    return ArmRow(
        arm=arm,
        changes=changes,
        datasets=scope.datasets,
        lacking=tuple(d for d in scope.datasets if d not in asked),
        n_items=main.change.n_units,
        n_errors=main.n_errors,
        chance_abs_dds_pp=None if level is None else by_chance(level.after),
        doubts=doubts_about(list(own.values()) or [c2_alone(panel) for panel in fixed.values()]),
    )


def c2_alone(panel: Panel) -> Panel:
    """A panel without its C1, which is another judge's."""
    replies, margins = panel.replies.copy(), panel.margins.copy()
    replies[:, C1], margins[:, C1] = ABSENT, np.nan
    return replace(panel, replies=replies, margins=margins)


def doubts_about(panels: Sequence[Panel]) -> Doubts:
    """What is to be doubted about an arm's answers on some datasets."""
    answered = [without_errors(panel)[0] for panel in panels]
    rates = {panel.dataset: accept_rates(panel.replies) for panel in answered}
    aucs = [framing_aucs(panel.margins[:, :, 0]) for panel in answered]
    c1, c2 = (mean_or_none([of_framing[i] for of_framing in rates.values()]) for i in (0, 1))
    return Doubts(
        n_replies=sum(int((panel.replies > ERROR).sum()) for panel in answered),
        n_unparsed=sum(int((panel.replies == UNREADABLE).sum()) for panel in answered),
        n_ties=sum(int((panel.replies == TIE).sum()) for panel in answered),
        accept_rate_c1=c1,
        accept_rate_c2=c2,
        saturated=is_saturated((c1, c2)),
        saturated_datasets=tuple(d for d, pair in rates.items() if is_saturated(pair)),
        auc_c1=mean_or_none([pair[0] for pair in aucs]),
        auc_c2=mean_or_none([pair[1] for pair in aucs]),
    )
