"""How the measures of the study move from one run to another: a base and a checkpoint made from it."""

from collections import defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eval.estimates.false_discovery import holm
from eval.estimates.resampling import N_DRAWS, SEED, rng_for
from eval.estimates.sign_flip import draws_p, swapped_sums
from eval.narrator.definitions import DEFAULT, Definitions
from eval.narrator.estimates import Estimate, Mean, Row, estimate, mean_of, minus
from eval.narrator.flips import corruption_rows
from eval.narrator.judged_runs import Judgment
from eval.narrator.measures import MEASURES, PARTS, Setting, by_setting, rows_of
from studies.narrator.records import OptionOrder, Task, Visibility

FloatArray = NDArray[np.float64]

CHANGED = (*MEASURES, "corruption")
CHANGED_PARTS: Mapping[str, tuple[str, ...]] = {**PARTS, "corruption": ("corruption",)}
LEVEL = 0.05  # of a change that is called one
ROUNDING = 1e-9  # a weight below this is none

Key = tuple[Task, Visibility, OptionOrder, str]
Move = tuple[float, FloatArray]  # by how much a mean rises, and what it would in each draw of the null, (n_draws,)


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectChange:
    """How one measure moved from a run to another, over the same conversations; the change in percentage points.

    p is a two-sided sign-flip test: under the null it does not matter which run gave which of a conversation's two sets
    of answers, so they are swapped at random. p_holm is adjusted over the runs that were held against the same one.
    """

    task: Task
    visibility: Visibility
    option_order: OptionOrder
    measure: str  # one of CHANGED
    before: Estimate
    after: Estimate
    change: Estimate  # paired by conversation
    p: float | None
    p_holm: float | None

    @property
    def key(self) -> Key:
        """What tells the changes of one run apart."""
        return self.task, self.visibility, self.option_order, self.measure

    @property
    def direction(self) -> int | None:
        """-1 or +1 for a fall or a rise that is shown, 0 where none is; None where it is unknown."""
        if self.p_holm is None or self.change.low is None or self.change.value is None:
            return None
        return 0 if self.p_holm >= LEVEL or not self.change.excludes(0) else (1 if self.change.value > 0 else -1)

    def as_dict(self) -> dict[str, Any]:
        """One flat row: before, after and change with _low and _high."""
        row: dict[str, Any] = {
            "task": self.task,
            "visibility": self.visibility,
            "option_order": self.option_order,
            "measure": self.measure,
            "n_conversations": self.change.n_clusters,
        }
        for name, found in (("before", self.before), ("after", self.after), ("change", self.change)):
            row |= {name: found.value, f"{name}_low": found.low, f"{name}_high": found.high}
        return {**row, "p": self.p, "p_holm": self.p_holm}


def effect_changes(
    before: Sequence[Judgment],
    after: Sequence[Judgment],
    d: Definitions = DEFAULT,
    *,
    n_draws: int = N_DRAWS,
    seed: int = SEED,
) -> list[EffectChange]:
    """Every measure's change between two judges, over the conversations that both judged.

    A measure that one of them has no row for (FAR in detection, corruption where nothing is correct) has no change.
    """
    paired = replace(d, clusters="conversation")
    shared = {judgment.conversation for judgment in before} & {judgment.conversation for judgment in after}
    first, second = (by_setting(j for j in judgments if j.conversation in shared) for judgments in (before, after))
    found: list[EffectChange] = []
    for setting in [setting for setting in first if setting in second]:
        start, end = (parts_of(judgments[setting], paired) for judgments in (first, second))
        found += changes_in(setting, start, end, n_draws, seed)
    return found


def levels_of(judgments: Sequence[Judgment], d: Definitions = DEFAULT) -> dict[Key, Estimate]:
    """Every measure of one judge; one that it has no row for is left out."""
    found = {}
    for setting, of_setting in by_setting(judgments).items():
        rows = parts_of(of_setting, d)
        for name in CHANGED:
            if all(rows.get(part) for part in CHANGED_PARTS[name]):
                found[(*setting, name)] = estimate(measure_of(rows, CHANGED_PARTS[name]))
    return found


def parts_of(judgments: Sequence[Judgment], d: Definitions) -> dict[str, list[Row]]:
    """The rows of every part of CHANGED_PARTS that one setting has."""
    return {**rows_of(judgments, d), "corruption": corruption_rows(judgments, d)}


def changes_in(
    setting: Setting, before: Mapping[str, list[Row]], after: Mapping[str, list[Row]], n_draws: int, seed: int
) -> Iterator[EffectChange]:
    """The changes of one setting."""
    task, visibility, option_order = setting
    both = {part: (before[part], after[part]) for part in before if before[part] and after.get(part)}
    if not both:  # one of them answered nothing here
        return
    moves = part_moves(both, n_draws, rng_for(seed, f"{setting}"))
    for name in CHANGED:
        parts = CHANGED_PARTS[name]
        if not all(part in both for part in parts):
            continue
        start, end = (measure_of(rows, parts) for rows in (before, after))
        p = swap_p([moves[part] for part in parts])
        yield EffectChange(
            task=task,
            visibility=visibility,
            option_order=option_order,
            measure=name,
            before=estimate(start),
            after=estimate(end),
            change=estimate(minus(end, start)),
            p=p,
            p_holm=p,
        )


def measure_of(rows: Mapping[str, list[Row]], parts: Sequence[str]) -> Mean:
    """A measure from the rows of its parts."""
    first, *others = (mean_of(rows[part]) for part in parts)
    return minus(first, others[0]) if others else first


def part_moves(
    both: Mapping[str, tuple[Sequence[Row], Sequence[Row]]], n_draws: int, rng: np.random.Generator
) -> dict[str, Move]:
    """Part → by how much its mean moves; both: part → its rows before and after.

    In a draw the same clusters are swapped in every part, so that differences of parts are swapped as one.
    """
    clusters = dict.fromkeys(cluster for pair in both.values() for rows in pair for cluster, _, _ in rows)
    place = {cluster: i for i, cluster in enumerate(clusters)}
    sums = {part: [cluster_sums(rows, place) for rows in pair] for part, pair in both.items()}
    heads = swapped_sums(np.hstack([after - before for before, after in sums.values()]), n_draws, rng)
    found = {}
    for i, (part, (before, after)) in enumerate(sums.items()):
        moved = heads[:, 2 * i : 2 * i + 2]
        start, end = before.sum(axis=0), after.sum(axis=0)
        found[part] = float(ratio(end) - ratio(start)), ratio(end - moved) - ratio(start + moved)
    return found


def swap_p(moves: Sequence[Move]) -> float | None:
    """p of a measure's change from the moves of the part that it is a mean of, or of both that it is the difference of.

    None where a draw leaves one of the means without rows.
    """
    observed, draws = moves[0]
    for other, drawn in moves[1:]:
        observed, draws = observed - other, draws - drawn
    return draws_p(observed, draws)


def cluster_sums(rows: Sequence[Row], place: Mapping[Hashable, int]) -> FloatArray:
    """Σ w v and Σ w of every cluster, shape (n_clusters, 2); cluster → its line."""
    sums = np.zeros((len(place), 2))
    for cluster, v, w in rows:
        if w > 0 and not np.isnan(v):  # as estimates.mean_of counts them
            sums[place[cluster]] += w * v, w
    return sums


def ratio(sums: FloatArray) -> FloatArray:
    """Σ w v / Σ w; NaN over nothing."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.where(sums[..., 1] > ROUNDING, sums[..., 0] / sums[..., 1], np.nan))


def adjusted(changes: Sequence[Sequence[EffectChange]]) -> list[list[EffectChange]]:
    """The changes of several runs against one, with p_holm over the runs for each measure by itself."""
    families: dict[Key, list[float]] = defaultdict(list)
    for change in (change for of_run in changes for change in of_run):
        if change.p is not None:
            families[change.key].append(change.p)
    lists = {key: iter(holm(ps)) for key, ps in families.items()}
    return [[c if c.p is None else replace(c, p_holm=next(lists[c.key])) for c in of_run] for of_run in changes]
