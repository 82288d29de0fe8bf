"""Replies to framed prompts as arrays of items × framings × cases × orders, and the measures over them.

A reply that names no answer is unknown and counts nowhere; how many there are is a measure of its own. Of a tie each
answer gets its part. Every figure is a mean over cases and orders of means over items, and intervals resample items.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit

from eval.estimates.estimate import Measure, Observed
from eval.estimates.resampling import FloatArray
from eval.evaluation import Block
from eval.runs import FinishedRun
from evenhand.completions import answer_doubts, read_excluded
from evenhand.records import Completion
from studies.framing.asking import GIVEN
from studies.framing.replies import CHOSEN, ERROR, TIE, choice_in
from studies.framing.section import FramingSection

ALL = "(all)"  # groups; no name of the user's has brackets around it
EVERY = "(every framing)"  # of the measure over all of them
FEWEST_IN_GROUP, MOST_GROUPS = 5, 20
AVERAGE = "(average)"
EVEN = 1e-9  # two shares that differ by less are a tie
SURE = 50.0  # nats; a log-odds beyond is as good as certain, and an infinite one has no mean
FIELDS = ("value", "first", "right", "accepts_wrong", "soft", "odds", "unread")


@dataclass(frozen=True, kw_only=True, eq=False)
class Grid:
    """What a judge said of one dataset: arrays (n_items, n_framings, n_cases, n_orders), NaN where it is not known.

    value: of the first answer 1 or 0, or a scale's number. first: whether the answer shown first was named. right and
    accepts_wrong (the first answer where another is right) need labels; soft (the probability of the first answer, or
    the expected number) and odds (its log-odds, of two answers) need log-probabilities.
    """

    items: tuple[str, ...]
    groups: tuple[str, ...]  # of each item
    framings: tuple[str, ...]  # the baseline first
    placebos: tuple[str, ...]  # those among them that should change nothing
    cases: tuple[str, ...]
    orders: tuple[str, ...]
    answers: tuple[str, ...]
    fields: Mapping[str, FloatArray]
    shares: FloatArray  # of each answer, with an axis of answers behind
    n_errors: int = 0

    def at(self, name: str) -> int:
        """A framing's place."""
        return self.framings.index(name)

    @cached_property
    def named(self) -> FloatArray:
        """(n_items, n_framings, n_cases, n_orders): the place of the answer that most replies name; NaN for none."""
        ordered = np.sort(self.shares, axis=-1)
        is_one = ordered[..., -1] - ordered[..., -2] > EVEN  # False where unknown
        return np.where(is_one, np.argmax(np.nan_to_num(self.shares), axis=-1), math.nan)


class Read(NamedTuple):
    """What a prompt's replies say together."""

    fields: Mapping[str, float]
    shares: Sequence[float]
    n_errors: int


def read_prompt(replies: Sequence[Completion], factors: Mapping[str, Any], run: "FramedRun") -> Read:
    """The means over a prompt's replies that can be read."""
    symbols, names, label, answers = factors["symbols"], factors["names"], factors["label"], run.answers
    chosen = [choice_in(reply, symbols, run.verdict, factors["texts"]) for reply in replies]
    said = [one for one in chosen if one.state in (CHOSEN, TIE)]
    known = [one for one in chosen if one.state != ERROR]
    fields = dict.fromkeys(FIELDS, math.nan)
    shares = np.full(len(answers), math.nan)
    if known:
        fields["unread"] = 1 - len(said) / len(known)
    if said:
        by_name = dict.fromkeys(names, 0.0)
        for one in said:
            for place in one.places:
                by_name[names[place]] += 1 / len(one.places)
        shares = np.array([by_name[name] / len(said) for name in answers])
        fields["value"] = float(shares @ run.values)
        fields["first"] = by_name[factors["first"]] / len(said)
        if label is not None:
            fields["right"] = by_name[label] / len(said)
            if label != answers[0]:
                fields["accepts_wrong"] = float(shares[0])
    logs = replies[0].answer_logprobs if replies else None
    if logs is not None and all(symbol in logs for symbol in symbols):
        log = np.array([logs[symbols[names.index(name)]] for name in answers])
        with np.errstate(invalid="ignore"):
            p = np.exp(log - log.max())
            fields["soft"] = float(p @ run.values / p.sum())
            if len(log) == 2:
                fields["odds"] = float(np.clip(log[0] - log[1], -SURE, SURE))
    return Read(fields, [*shares], len(chosen) - len(known))


@dataclass(frozen=True, kw_only=True)
class FramedRun(FinishedRun):
    """A finished run of a study in YAML."""

    section: FramingSection
    # (framing, order) → the log-odds above which it gives the first answer, in the place of 0; see eval.calibration
    thresholds: Mapping[tuple[str, str], float] = field(default_factory=dict)

    @property
    def verdict(self) -> str:
        """How its replies were had."""
        return str(self.config["verdict"])

    @cached_property
    def doubts(self) -> list[str]:
        """What to know of its answers before believing a figure."""
        n_excluded = len(read_excluded(self.path))
        left_out = [f"{n_excluded} items are left out, since they do not fit the context window."] if n_excluded else []
        return [*left_out, *answer_doubts(chain.from_iterable(self.replies.values()), self.verdict)]

    @cached_property
    def answers(self) -> tuple[str, ...]:
        """The answers' names; of the first one shares and shifts are."""
        return tuple(self.section.answer_texts)

    @cached_property
    def values(self) -> FloatArray:
        """What each answer counts: a scale's number, else 1 for the first and 0 for the others."""
        if self.section.scale:
            return np.array([float(name) for name in self.answers])
        return np.array([1.0, *[0.0] * (len(self.answers) - 1)])

    @cached_property
    def grids(self) -> dict[str, Grid]:
        """Dataset → what was said of it."""
        wordings, section = self.section.wordings, self.section
        framings = tuple(dict.fromkeys([section.baseline, *(wording.name for wording in wordings)]))
        cases, orders = tuple(section.cases) or ("",), section.order_names
        place = {
            name: {key: i for i, key in enumerate(keys)}
            for name, keys in (("f", framings), ("c", cases), ("o", orders))
        }
        by_dataset: dict[str, list[Any]] = {}
        for prompt in self.plan:
            by_dataset.setdefault(prompt.dataset, []).append(prompt)
        grids = {}
        for dataset, prompts in by_dataset.items():
            items = {item: i for i, item in enumerate(sorted({prompt.item_id for prompt in prompts}))}
            shape = (len(items), len(framings), len(cases), len(orders))
            fields = {name: np.full(shape, math.nan) for name in FIELDS}
            shares, groups, n_errors = np.full((*shape, len(self.answers)), math.nan), [""] * len(items), 0
            for prompt in prompts:
                factors = dict(prompt.factors)
                at = (
                    items[prompt.item_id],
                    place["f"][prompt.condition],
                    place["c"][factors["case"]],
                    place["o"][factors["order"]],
                )
                read = read_prompt(self.replies[prompt.prompt_hash], factors, self)
                for name, value in read.fields.items():
                    fields[name][at] = value
                shares[at], groups[at[0]], n_errors = read.shares, factors["group"], n_errors + read.n_errors
            grid = Grid(
                items=tuple(items),
                groups=tuple(groups),
                framings=framings,
                placebos=tuple(name for name in framings if name not in section.framings),
                cases=cases,
                orders=orders,
                answers=self.answers,
                fields=fields,
                shares=shares,
                n_errors=n_errors,
            )
            grids[dataset] = judged_above(grid, self.thresholds) if self.thresholds else grid
        return grids


def judged_above(grid: Grid, thresholds: Mapping[tuple[str, str], float]) -> Grid:
    """A grid of two answers as thresholds judge it. Where there are no log-odds the reply stays what it was; of a
    framing without a threshold nothing is known."""
    at = [[thresholds.get((framing, order), math.nan) for order in grid.orders] for framing in grid.framings]
    moved = np.array(at)[None, :, None, :]
    fields, odds = dict(grid.fields), grid.fields["odds"] - moved
    is_known, is_first = ~np.isnan(odds), np.array([order == GIVEN for order in grid.orders])

    def judged(value: FloatArray, was: FloatArray) -> FloatArray:
        return np.where(is_known, value, np.where(np.isnan(moved), math.nan, was))

    value = judged((np.sign(odds) + 1) / 2, fields["value"])
    is_wrong = ~np.isnan(fields["accepts_wrong"])
    fields["first"] = np.where(is_first, value, 1 - value)
    fields["right"] = np.where(np.isnan(fields["right"]), math.nan, np.where(is_wrong, 1 - value, value))
    fields["accepts_wrong"] = np.where(is_wrong, value, math.nan)
    fields["soft"] = judged(expit(odds), fields["soft"])
    shares = np.stack([value, 1 - value], axis=-1)
    return replace(grid, fields={**fields, "value": value, "odds": odds}, shares=shares)


def columns(dataset: str, grid: Grid, parts: Sequence[FloatArray], rows: Any = None) -> Observed:
    """Parts, each (n_items, ...) with NaN for unknown, as columns side by side. rows: of some items alone."""
    kept = np.arange(len(grid.items)) if rows is None else rows
    flat = np.hstack([part[kept].reshape(len(kept), -1) for part in parts])
    is_known = ~np.isnan(flat)
    units = tuple(grid.items[i] for i in kept)
    return Observed(
        dataset=dataset,
        units=units,
        earned=np.where(is_known, flat, 0.0),
        counted=is_known.astype(float),
        n_errors=grid.n_errors,
    )


@dataclass(frozen=True, slots=True)
class Sides:
    """How the columns of a block lie: some sides (framings) × cases × orders, and what statistics take of them."""

    n_sides: int
    n_cases: int
    n_orders: int
    scale: float = 100.0

    def by_cell(self, means: FloatArray) -> FloatArray:
        """(..., n_sides, n_cases, n_orders)."""
        cells = means.reshape(*means.shape[:-1], self.n_sides, self.n_cases, self.n_orders)
        return np.asarray(self.scale * cells)

    def level(self, means: FloatArray) -> FloatArray:
        """The first side's mean over cases and orders."""
        return np.asarray(self.by_cell(means)[..., 0, :, :].mean(axis=(-1, -2)))

    def levels_of_known(self, means: FloatArray) -> FloatArray:
        """(..., n_sides): means over the cases that are known: a case may have no label, or none of another answer."""
        cells = self.by_cell(means).mean(axis=-1)
        is_known = ~np.isnan(cells)
        with np.errstate(invalid="ignore"):
            return np.asarray(np.where(is_known, cells, 0.0).sum(axis=-1) / is_known.sum(axis=-1))

    def level_of_known(self, means: FloatArray) -> FloatArray:
        """The mean of these over the sides."""
        return np.asarray(self.levels_of_known(means).mean(axis=-1))

    def rise_of_known(self, means: FloatArray) -> FloatArray:
        """The first of these less the second."""
        first, second = np.moveaxis(self.levels_of_known(means), -1, 0)
        return np.asarray(first - second)

    def rises(self, means: FloatArray) -> FloatArray:
        """(..., n_orders): the first side less the second."""
        sides = self.by_cell(means).mean(axis=-2)
        return np.asarray(sides[..., 0, :] - sides[..., 1, :])

    def shift(self, means: FloatArray) -> FloatArray:
        """The rise over orders: d where both were asked."""
        return np.asarray(self.rises(means).mean(axis=-1))

    def pull(self, means: FloatArray) -> FloatArray:
        """Half of what the rise differs by between the orders: p, the pull of the answer that is shown first."""
        rises = self.rises(means)
        return (rises[..., 0] - rises[..., 1]) / 2

    def in_sd(self, means: FloatArray) -> FloatArray:
        """The shift of log-odds in standard deviations over items of the baseline's, within case and order.

        The third side holds these squared.
        """
        side, base, squares = np.moveaxis(self.by_cell(means), -3, 0)
        with np.errstate(invalid="ignore", divide="ignore"):
            spread = np.sqrt((squares - base**2).mean(axis=(-1, -2)))
            return np.asarray((side - base).mean(axis=(-1, -2)) / spread)

    def mean_absolute(self, means: FloatArray) -> FloatArray:
        """The mean of |shift| over pairs of sides, a framing's and the baseline's."""
        sides = self.by_cell(means).mean(axis=(-1, -2))
        return np.asarray(np.abs(sides[..., ::2] - sides[..., 1::2]).mean(axis=-1))


class Piece(NamedTuple):
    """Measures of a framing, and the arrays whose columns they are made of: dataset's grid → parts."""

    measures: Sequence[Measure]
    parts: Any


def together(*sides: FloatArray) -> list[FloatArray]:
    """Arrays of one shape, each known only where all of them are: what is compared is compared item by item."""
    is_known = ~np.isnan(np.stack(sides)).any(axis=0)
    return [np.where(is_known, side, math.nan) for side in sides]


def blocks_of(run: FramedRun) -> Iterator[Block]:
    """Everything that is measured of a run, framing by framing."""
    grids = run.grids
    any_grid = next(iter(grids.values()))
    for framing in any_grid.framings:
        yield from of_framing(run, grids, framing)
    moved = [name for name in any_grid.framings[1:] if name not in any_grid.placebos]
    if moved:
        for piece in overall(run, any_grid, moved):
            yield from block(run, grids, EVERY, piece)


def blocks_moved(run: FramedRun, measure: str) -> list[Block]:
    """A measure of how each framing but the placebos moves the judge, over all items."""
    grids = run.grids
    grid = next(iter(grids.values()))
    asked = [name for name in grid.framings[1:] if name not in grid.placebos]
    pieces = ((name, piece) for name in asked for piece in shift_pieces(run, grid, name))
    return [
        made for name, piece in pieces if piece.measures[0].name == measure for made in block(run, grids, name, piece)
    ]


def block(run: FramedRun, grids: Mapping[str, Grid], framing: str, piece: Piece, group: str = ALL) -> Iterator[Block]:
    """A piece over each dataset of which it is known, and their average."""
    parts = {}
    for dataset, grid in grids.items():
        rows = None if group == ALL else np.flatnonzero(np.array(grid.groups) == group)
        if rows is None or len(rows) >= FEWEST_IN_GROUP:
            observed = columns(dataset, grid, piece.parts(grid), rows)
            if observed.counted.any():
                parts[dataset] = observed
    if parts:
        setting = {"framing": framing, "group": group, "verdict": run.verdict}
        averages = {AVERAGE: [*parts]} if len(parts) > 1 else {}
        yield Block(setting=setting, measures=piece.measures, parts=parts, averages=averages)


def of_framing(run: FramedRun, grids: Mapping[str, Grid], framing: str) -> Iterator[Block]:
    """The blocks of one framing: levels, what is right, and, of others than the baseline, shifts."""
    grid = next(iter(grids.values()))
    for piece in levels(run, grid, framing):
        yield from block(run, grids, framing, piece)
    if framing == grid.framings[0]:
        return
    shifts = [*shift_pieces(run, grid, framing)]
    for piece in shifts:
        yield from block(run, grids, framing, piece)
    groups = sorted({group for each in grids.values() for group in each.groups})
    if 1 < len(groups) <= MOST_GROUPS:
        for group in groups:
            yield from block(run, grids, framing, shifts[0], group)


def levels(run: FramedRun, grid: Grid, framing: str) -> Iterator[Piece]:
    """What was said in one framing."""
    n_cases, n_orders, is_scale = len(grid.cases), len(grid.orders), run.section.scale is not None
    sides = Sides(1, n_cases, n_orders)
    plain = Sides(1, n_cases, n_orders, 1.0)
    in_percent: dict[str, Any] = {"unit": "%", "statistic": sides.level, "is_share": True}

    def of(name: str) -> Any:
        return lambda grid: [grid.fields[name][:, grid.at(framing)]]

    value: dict[str, Any] = {"unit": "points", "statistic": plain.level} if is_scale else in_percent
    yield Piece([Measure(name="value", **value)], of("value"))
    if not is_scale and len(grid.answers) > 2:
        for i, name in enumerate(grid.answers):
            yield Piece(
                [Measure(name=f"share of {name}", **in_percent)],
                lambda grid, i=i: [grid.shares[:, grid.at(framing), ..., i]],
            )
    yield Piece([Measure(name="unread", **in_percent)], of("unread"))
    yield Piece([Measure(name="soft", **value)], of("soft"))
    if n_orders > 1:
        yield Piece([Measure(name="first", **in_percent)], of("first"))
        alone = Sides(1, n_cases, 1)
        steady = Measure(name="consistent", unit="%", statistic=alone.level, is_share=True)
        yield Piece([steady], lambda grid: [agreement(grid.named[:, grid.at(framing)])])
    over_known: dict[str, Any] = {"unit": "%", "statistic": sides.level_of_known, "is_share": True}
    for name in ("right", "accepts_wrong"):
        yield Piece([Measure(name=name, **over_known)], of(name))


def agreement(best: FloatArray) -> FloatArray:
    """1 where both orders have one answer, (n_items, n_cases, 1); NaN where one is not known."""
    first, second = best[..., 0], best[..., 1]
    return np.where(np.isnan(first + second), math.nan, first == second)[..., None]


def shift_pieces(run: FramedRun, grid: Grid, framing: str) -> Iterator[Piece]:
    """By how much one framing moves the judge from the baseline."""
    shape, is_scale = (len(grid.cases), len(grid.orders)), run.section.scale is not None
    scale, unit = (1.0, "points") if is_scale else (100.0, "pp")
    two = Sides(2, *shape, scale)
    base = grid.framings[0]

    def both(name: str) -> Any:
        return lambda grid: together(grid.fields[name][:, grid.at(framing)], grid.fields[name][:, grid.at(base)])

    def against_placebos(grid: Grid, of: Callable[[str], FloatArray]) -> list[FloatArray]:
        return together(of(framing), known_mean([of(name) for name in grid.placebos]))

    shifts = [Measure(name="shift", unit=unit, statistic=two.shift)]
    if len(grid.orders) > 1:
        shifts.append(Measure(name="pull", unit=unit, statistic=two.pull))
    if is_claim(run.section):
        shifts.append(Measure(name="dds", unit=unit, statistic=lambda means: 2 * two.shift(means)))
    yield Piece(shifts, both("value"))
    yield Piece([Measure(name="soft_shift", unit=unit, statistic=two.shift)], both("soft"))
    in_percent = Sides(2, *shape)
    yield Piece([Measure(name="right_shift", unit="pp", statistic=in_percent.rise_of_known)], both("right"))
    moved = Measure(name="changed", unit="%", statistic=Sides(1, *shape).level, is_share=True)
    yield Piece([moved], lambda grid: [changed(grid, framing)])
    if grid.placebos and framing not in grid.placebos:
        net = Measure(name="net_shift", unit=unit, statistic=two.shift)
        yield Piece([net], lambda grid: against_placebos(grid, lambda name: grid.fields["value"][:, grid.at(name)]))
        right = Measure(name="net_right", unit="pp", statistic=in_percent.rise_of_known)
        yield Piece([right], lambda grid: against_placebos(grid, lambda name: grid.fields["right"][:, grid.at(name)]))
        more = Measure(name="net_changed", unit="pp", statistic=in_percent.shift)
        yield Piece([more], lambda grid: against_placebos(grid, lambda name: changed(grid, name)))
    three = Sides(3, *shape, 1.0)
    in_sd = Measure(name="shift_in_sd", unit="SD", statistic=three.in_sd, is_linear=False)
    yield Piece([in_sd], lambda grid: [*(pair := both("odds")(grid)), pair[1] ** 2])


def known_mean(arrays: Sequence[FloatArray]) -> FloatArray:
    """The mean over those arrays that are known in a place."""
    values = np.stack(arrays)
    n_known = (~np.isnan(values)).sum(axis=0)
    return np.where(n_known > 0, np.nansum(values, axis=0) / np.maximum(n_known, 1), math.nan)


def overall(run: FramedRun, grid: Grid, moved: Sequence[str]) -> Iterator[Piece]:
    """By how much all framings together move the judge, whichever way, and how often it is right in them."""
    scale, unit = (1.0, "points") if run.section.scale else (100.0, "pp")
    shape = (len(grid.cases), len(grid.orders))
    sides = Sides(2 * len(moved), *shape, scale)
    measure = Measure(name="mean_abs_shift", unit=unit, statistic=sides.mean_absolute, is_linear=False)

    def parts(grid: Grid) -> list[FloatArray]:
        values = grid.fields["value"]
        return [side for name in moved for side in together(values[:, grid.at(name)], values[:, 0])]

    yield Piece([measure], parts)
    share: dict[str, Any] = {"unit": "%", "statistic": Sides(len(moved), *shape).level_of_known, "is_share": True}
    right = Measure(name="right", **share)
    yield Piece([right], lambda grid: [grid.fields["right"][:, grid.at(name)] for name in moved])


def is_claim(section: FramingSection) -> bool:
    """Whether each item is asked as a true and a false claim, so that twice the shift is DialDefer's DDS."""
    names = [*section.answer_texts]
    labels = [case.get("label") for case in section.cases.values()]
    return len(names) == 2 and len(labels) == 2 and {*labels} == {*names}


def changed(grid: Grid, framing: str) -> FloatArray:
    """(n_items, n_cases, n_orders): 1 where a framing's answer is not the baseline's; NaN where one is unknown."""
    before, after = grid.named[:, 0], grid.named[:, grid.at(framing)]
    return np.where(np.isnan(before + after), math.nan, before != after)


def flips(grid: Grid) -> Iterator[tuple[str, str, str, str, str, str]]:
    """(framing, item, case, order, the baseline's answer, the framing's) where these are two answers."""
    best = grid.named
    for at, framing in enumerate(grid.framings[1:], start=1):
        for i, case, order in np.argwhere(changed(grid, framing) == 1):
            pair = (grid.answers[int(best[i, side, case, order])] for side in (0, at))
            yield framing, grid.items[i], grid.cases[case], grid.orders[order], *pair
