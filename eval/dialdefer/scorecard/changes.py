"""Two arms over the same items → each figure of a scorecard for both, and the change with its interval and p."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eval.dialdefer.dds import is_over_corrected
from eval.dialdefer.difference_rows import Compared, Drawing, compare
from eval.dialdefer.panels import Panel
from eval.dialdefer.rows import known
from eval.dialdefer.scorecard.arms import Arm
from eval.dialdefer.scorecard.summaries import (
    ACCURACIES,
    FOLDED,
    OF_AIO,
    OF_C1,
    SOFT,
    Scope,
    Summary,
    mean_acc_c2,
    mean_dds,
)
from eval.dialdefer.scores import FIXED, OWN
from eval.estimates.false_discovery import holm
from eval.estimates.resampling import percentile_interval, pivotal_interval
from eval.estimates.sign_flip import draws_p

FloatArray = NDArray[np.float64]

LEVEL = 0.05  # of a change that is called one


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One figure of two arms, and what it rose by; *_pp in percentage points, accuracies in percent. None is unknown.

    Intervals (95 %) resample items jointly for both arms within datasets; those of absolute values are pivotal. p is a
    two-sided sign-flip test: items are swapped between the arms at random. p_holm is adjusted over the arms that were
    held against the same one. A change is called one when its interval excludes 0 and p_holm < 0.05: simulated for two
    arms without any shift (9 datasets of 100 items), |DDS| was called lower in 2 % of cases, in 6 % where the second
    arm's verdicts move half as often, in 26 % where an eighth as often; by p alone in 3, 13 and 66 %.
    """

    against: str
    arm: str
    figure: str  # acc, acc_c2, aio_acc_c2, or a key of OF_C1, SOFT, OF_AIO with its source of C1: mean_abs_dds_own
    datasets: tuple[str, ...]
    n_items: int
    n_errors: int
    against_pp: float | None
    arm_pp: float | None
    arm_ci_low_pp: float | None
    arm_ci_high_pp: float | None
    change_pp: float | None
    change_ci_low_pp: float | None
    change_ci_high_pp: float | None
    p: float | None
    p_holm: float | None
    denominator: str
    n_draws: int
    seed: int

    def as_dict(self) -> dict[str, Any]:
        """The row as JSON has it."""
        return asdict(self)

    @property
    def is_over_corrected(self) -> bool:
        """Of a change in DDS: whether it was positive before and is negative after."""
        known = self.against_pp is not None and self.arm_pp is not None
        return known and is_over_corrected(self.against_pp or 0.0, self.arm_pp or 0.0)

    @property
    def direction(self) -> int | None:
        """-1 or +1 for a fall or a rise that is shown, 0 where none is; None where it is unknown."""
        low, high = self.change_ci_low_pp, self.change_ci_high_pp
        if self.p_holm is None or low is None or high is None:
            return None
        return 0 if self.p_holm >= LEVEL or low <= 0 <= high else (1 if low > 0 else -1)


def changes_between(first: Arm, second: Arm, scope: Scope, drawing: Drawing) -> dict[str, Change]:
    """Key → change from the first arm to the second: figures over those of the scope's datasets that both have, and on
    r/AIO, under their own name; DDS on single datasets under `of_dataset`. p_holm is that of a family of one.
    """
    found: dict[str, Change] = {}
    for source in (FIXED, OWN):
        pairs = panel_pairs(first, second, source, scope)
        compared = {name: compare(*pair, drawing) for name, pair in pairs.items()}
        # C2 is the same with both sources of C1; accuracy over both framings is about a checkpoint's own C1 alone.
        accuracies = ACCURACIES if source == OWN else {"acc_c2": mean_acc_c2}
        hard, soft, of_aio = (
            {f"{name}_{source}": summary for name, summary in summaries.items()} for summaries in (OF_C1, SOFT, OF_AIO)
        )
        groups = [
            (scope.datasets, {**accuracies, **hard}, soft),
            ((scope.aio,), {"aio_acc_c2": mean_acc_c2, **of_aio}, {}),
        ]
        for names, of_hard, of_soft in groups:
            parts = {name: compared[name] for name in names if name in compared}
            found |= changes_in(first.name, second.name, parts, of_hard, of_soft, drawing)
        signed = {f"dds_{source}": mean_dds}
        for name, part in compared.items():
            of_one = changes_in(first.name, second.name, {name: part}, signed, {}, drawing)
            found |= {of_dataset(source, name): change for change in of_one.values()}
    return found


def panel_pairs(first: Arm, second: Arm, c1_source: str, scope: Scope) -> dict[str, tuple[Panel, Panel]]:
    """Dataset → the panels of both arms, for what the scope is over and both were asked."""
    ours, theirs = first.panels[c1_source], second.panels[c1_source]
    pairs = {name: (ours[name], theirs[name]) for name in scope.names if name in ours and name in theirs}
    if c1_source == OWN:
        return pairs
    return {name: (without_margins(a), without_margins(b)) for name, (a, b) in pairs.items()}


def without_margins(panel: Panel) -> Panel:
    """A panel without margins: soft DDS is asked of a checkpoint's own C1 alone, and its draws take the longest."""
    return replace(panel, margins=np.full(panel.margins.shape, np.nan))


def of_dataset(c1_source: str, dataset: str) -> str:
    """The key of the change in DDS on one dataset."""
    return f"dds_{c1_source} of {dataset}"


def changes_in(
    first: str,
    second: str,
    parts: Mapping[str, Compared],
    hard: Mapping[str, Summary],
    soft: Mapping[str, Summary],
    drawing: Drawing,
) -> dict[str, Change]:
    """Figure → change over some datasets; soft figures only where every dataset has margins on both sides."""
    if not parts:
        return {}
    whole = list(parts.values())
    arrays = [np.stack(a) for a in zip(*((c.measures.acc, c.measures.draws, c.swapped) for c in whole), strict=True)]
    found = [(name, summary, arrays) for name, summary in hard.items()]
    margins = [(c.measures.soft_acc, c.measures.soft_draws, c.soft_swapped) for c in whole]
    if all(part is not None for triple in margins for part in triple):
        stacks = [np.stack([part for part in of_parts if part is not None]) for of_parts in zip(*margins, strict=True)]
        found += [(name, summary, stacks) for name, summary in soft.items()]
    shared: dict[str, Any] = {
        "against": first,
        "arm": second,
        "datasets": tuple(parts),
        "n_items": sum(c.measures.n_items for c in whole),
        "n_errors": sum(c.measures.n_errors for c in whole),
        **asdict(drawing),
    }
    return {name: Change(figure=name, **{**shared, **numbers(summary, of)}) for name, summary, of in found}


def numbers(summary: Summary, arrays: Sequence[FloatArray]) -> dict[str, float | None]:
    """A change's numbers. arrays: accuracies (n_datasets, 2, 4), bootstrap draws and swaps (n_datasets, n_draws, 2, 4).

    Accuracy and signed DDS have percentile intervals, as everywhere here.
    """
    value, draws, null = (summary(array) for array in arrays)
    is_folded = summary in FOLDED
    rise, rises = float(value[1] - value[0]), draws[:, 1] - draws[:, 0]
    level = float(value[1])
    ends = pivotal_interval(level, draws[:, 1]) if is_folded else percentile_interval(draws[:, 1])
    change_ends = pivotal_interval(rise, rises) if is_folded else percentile_interval(rises)
    p = draws_p(rise, null[:, 1] - null[:, 0])
    low, high = ends or (None, None)
    change_low, change_high = change_ends or (None, None)
    if is_folded and low is not None and high is not None:
        # A pivotal interval of what noise has raised may lie wholly below it, and below 0.
        low, high = max(0.0, min(low, level)), max(high, level)
    return {
        "against_pp": known(value[0]),
        "arm_pp": known(value[1]),
        "arm_ci_low_pp": low,
        "arm_ci_high_pp": high,
        "change_pp": None if np.isnan(rise) else rise,
        "change_ci_low_pp": change_low,
        "change_ci_high_pp": change_high,
        "p": p,
        "p_holm": p,
    }


def adjusted(changes: Sequence[Mapping[str, Change]]) -> list[dict[str, Change]]:
    """The changes of several arms against one, with p_holm over the arms for each key by itself."""
    families: dict[str, list[float]] = defaultdict(list)
    for key, change in (pair for of_arm in changes for pair in of_arm.items()):
        if change.p is not None:
            families[key].append(change.p)
    lists: dict[str, Iterator[float]] = {key: iter(holm(ps)) for key, ps in families.items()}
    return [
        {k: c if c.p is None else replace(c, p_holm=next(lists[k])) for k, c in of_arm.items()} for of_arm in changes
    ]
