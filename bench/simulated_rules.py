"""Where free rules end on judges whose truth is known, and how often intervals hold it: docs/results.md, "Free rules".

`python -m bench.simulated_rules [RUNS] [ITEMS] [JUDGE ...]` prints it with seed 7: the levels of all rules; of
judges that are named also how often the contrast of a training with a rule is held, of one seed and over three, and
that of three seeds under the rule with the judge as asked.
"""

import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import product
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np

from bench.simulated_answers import KNOWS, NOISE, POINTS, SPREAD, STEPS
from bench.simulated_framings import section_with
from eval.calibration import nearest_threshold, share_of
from eval.estimates.changes import estimates_in, paired
from eval.estimates.estimate import Estimate, estimate
from eval.estimates.resampling import FloatArray
from eval.estimates.seeds import over_seeds
from eval.evaluation import Block
from eval.options import Options
from eval.runs import PlannedPrompt
from eval.scorecard.rules import BOTH_AND_THRESHOLD, BOTH_ORDERS, N_FOLDS, THRESHOLD
from studies.dialdefer.calibrate import cross_fitted
from studies.dialdefer.panels import with_both_orders
from studies.dialdefer.quantities import ACC_WORDINGS, WORDINGS, pair_of
from studies.framing.grids import FramedRun, Grid
from studies.framing.measures import EVERY, block, overall, shift_parts
from studies.framing.thresholds import under_rules
from tests.made.framing_runs import made_grid
from tests.made.made_panels import margin_panel

SEED, N_POPULATION = 7, 50_000  # items, of two claims in two orders each
NAMES, ANSWERS = ("plain", "expert", "user"), ("yes", "no")
AS_ASKED = "as asked"
OPTIONS = Options(n_draws=400, seed=1)
SECTION = section_with(NAMES, ANSWERS)


@dataclass(frozen=True, kw_only=True)
class Judge:
    """What an expert does to a judge: points that it accepts more; logits that the answer shown first gains.

    knows: logits of true claims above the middle, and of false ones below; for a user they are those of the baseline.
    """

    defers: float = 0.0
    pulled: float = 0.0
    knows: float = KNOWS


JUDGES = {
    "fair": Judge(),
    "defers by 30": Judge(defers=30),
    "pulled by position": Judge(pulled=1.5),
    "both": Judge(defers=30, pulled=1.5),
    "knows less": Judge(knows=0.3),
}


def claims(n_items: int, rng: np.random.Generator) -> FloatArray:
    """(n_items, 1, n_cases, 1): the part of a claim's log-odds that all judges, framings and orders share."""
    return rng.normal(0, SPREAD, (n_items, 1, 2, 1))


def log_odds(judge: Judge, shared: FloatArray, rng: np.random.Generator) -> FloatArray:
    """(n_items, n_framings, n_cases, n_orders)."""
    is_expert, signs = np.array([0, 1, 0])[:, None, None], np.array([1, -1])
    knows = KNOWS + is_expert * (judge.knows - KNOWS)
    added = is_expert * (np.interp(judge.defers, POINTS, STEPS) + judge.pulled * signs)
    spread = shared + rng.normal(0, 2 * NOISE, (len(shared), 3, 2, 2))
    return np.asarray(spread + knows * signs[:, None] + added)


def grid_of(odds: FloatArray) -> Grid:
    """What a judge with these log-odds answers."""
    grid = made_grid((odds > 0).astype(float), NAMES)
    return replace(grid, fields={**grid.fields, "odds": odds})


def run_of(grid: Grid, dataset: str) -> FramedRun:
    """A run with this grid. Its dataset's name seeds its draws."""
    plan = [
        PlannedPrompt(prompt_hash=item, item_id=item, dataset=dataset, condition="", factors=(("group", item),))
        for item in grid.items
    ]
    config: dict[str, Any] = {"verdict": "margin", "model": {"name": "made"}}
    facts: dict[str, Any] = {"config": config, "provenance": {}, "plan": plan, "replies": {}, "rendered": {}}
    return FramedRun(path=Path("made"), section=SECTION, judged={dataset: grid}, **facts)


MEASURES = ("shift", "mean_square_shift", "mean_abs_shift", "right")
Sides = tuple[Estimate, Estimate, Estimate]  # before, after, change


def columns(run: FramedRun) -> list[Block]:
    """What MEASURES are of: the expert's shift, and what is over both framings."""
    (grid,) = run.grids.values()
    parts = [("expert", next(shift_parts(SECTION, grid, "expert")))]
    parts += [(EVERY, part) for part in overall(SECTION, grid, NAMES[1:])]
    return [entry for framing, part in parts for entry in block(run, framing, part)]


def sides(first: Sequence[Block], second: Sequence[Block]) -> list[Sides]:
    """Of each of MEASURES."""
    pairs = [
        (before.measures, [paired(*before.parts.values(), *after.parts.values(), OPTIONS.drawing)])
        for before, after in zip(first, second, strict=True)
    ]
    by_measure = {m.name: estimates_in(m, pair) for measures, pair in pairs for m in measures if m.name in MEASURES}
    return [by_measure[name] for name in MEASURES]


def levels(blocks: Sequence[Block]) -> list[Estimate]:
    """Of each of MEASURES, as `score` has them."""
    by_measure = {
        measure.name: estimate(measure, [part], OPTIONS.drawing)
        for entry in blocks
        for part in entry.parts.values()
        for measure in entry.measures
        if measure.name in MEASURES
    }
    return [by_measure[name] for name in MEASURES]


def truth(odds: FloatArray, rule: str, population: FloatArray) -> FloatArray:
    """What a rule that is fitted on some items leaves in a population, of each of MEASURES."""
    if rule in (BOTH_ORDERS, BOTH_AND_THRESHOLD):
        odds, population = (np.broadcast_to(side.mean(-1, keepdims=True), side.shape) for side in (odds, population))
    limits = np.zeros((len(NAMES), 2))
    if rule in (THRESHOLD, BOTH_AND_THRESHOLD):  # fitted on all
        for framing, order in ((1, 0), (1, 1), (2, 0), (2, 1)):
            base, framed = ([*odds[:, row, :, order].T] for row in (0, framing))
            limits[framing, order] = nearest_threshold(framed, share_of(base, 0.0))
    accepts = 100 * (population > limits[:, None, :]).mean(axis=(0, 3))  # framings × cases
    shifts = (accepts[1:] - accepts[0]).mean(axis=1)
    right = (accepts[1:, 0] + 100 - accepts[1:, 1]).mean() / 2
    return np.array([shifts[0], np.square(shifts).mean(), np.abs(shifts).mean(), right])


def population_of(judge: Judge) -> FloatArray:
    """The log-odds of very many items."""
    rng = np.random.default_rng(SEED)
    return log_odds(judge, claims(N_POPULATION, rng), rng)


N_SEEDS, SEEDS_SD = 3, 3.0  # trainings, of which each is left with a shift of its own, in points


@cache
def trained_truth() -> FloatArray:
    """The mean over all seeds that could be trained, of each of MEASURES."""
    left = [NormalDist(0, SEEDS_SD).inv_cdf((i + 0.5) / 40) for i in range(40)]
    populations = [population_of(Judge(defers=points)) for points in left]
    return np.asarray(np.mean([truth(odds, AS_ASKED, odds) for odds in populations], axis=0))


@dataclass(frozen=True)
class Ended:
    """Of a rule on a judge, (4,) each, as MEASURES are: where it ends with a population to fit on, the mean of what is
    left in truth, the mean of the estimates, and in % how often the interval holds the truth: of the level, of the
    change to one training, to three seeds, and from the judge as asked to three seeds under the rule."""

    theory: FloatArray
    left: FloatArray
    estimated: FloatArray
    held: Mapping[str, FloatArray]


HELD = ("level", "training", "3 seeds", "3 seeds under it")


def ended(judge: Judge, n_items: int, n_runs: int, *, has_training: bool = False) -> dict[str, Ended]:
    """Rule → where it ended."""
    rng, straight = np.random.default_rng(SEED), population_of(Judge())
    population = log_odds(judge, claims(N_POPULATION, rng), rng)
    rng = np.random.default_rng(SEED) if has_training else rng  # the two tables were drawn apart
    left, held = defaultdict[str, list[FloatArray]](list), defaultdict[tuple[str, str], list[FloatArray]](list)
    unruled, fair = truth(population, AS_ASKED, population), truth(straight, AS_ASKED, straight)

    def hold(rule: str, figure: str, estimates: Sequence[Estimate], true: FloatArray) -> None:
        intervals = np.array([(level.low, level.high) for level in estimates])
        held[rule, figure].append((intervals[:, 0] <= true + 1e-9) & (true - 1e-9 <= intervals[:, 1]))

    def rows(odds: FloatArray, name: str) -> dict[str, list[Block]]:
        run = run_of(grid_of(odds), name)
        return {rule: columns(ruled) for rule, ruled in [(AS_ASKED, run), *under_rules(run, OPTIONS).items()]}

    for i in range(n_runs):
        shared = claims(n_items, rng)
        odds = log_odds(judge, shared, rng)
        base = rows(odds, f"made {i}")
        if has_training:
            trained = rows(log_odds(Judge(), shared, rng), f"made {i}")[AS_ASKED]
            judges = [Judge(defers=rng.normal(0, SEEDS_SD)) for _ in range(N_SEEDS)]
            seed_odds = [log_odds(of_seed, shared, rng) for of_seed in judges]
            seeds, populations = [rows(of_seed, f"made {i}") for of_seed in seed_odds], list(map(population_of, judges))
        for rule, ruled in base.items():
            true = truth(odds, rule, population)
            compared = sides(ruled, trained) if has_training else []
            values = [before for before, *_ in compared] or levels(ruled)
            left[rule].append(np.stack([true, np.array([level.value for level in values])]))
            hold(rule, HELD[0], values, true)
            if has_training:
                hold(rule, HELD[1], [change for *_, change in compared], fair - true)
                changes = [[change for *_, change in sides(ruled, of_seed[AS_ASKED])] for of_seed in seeds]
                hold(rule, HELD[2], list(map(over_seeds, zip(*changes, strict=True))), trained_truth() - true)
                under = [truth(sample, rule, whole) for sample, whole in zip(seed_odds, populations, strict=True)]
                changes = [[change for *_, change in sides(base[AS_ASKED], of_seed[rule])] for of_seed in seeds]
                under_truth = trained_truth() if rule in (AS_ASKED, BOTH_ORDERS) else np.mean(under, axis=0)
                hold(rule, HELD[3], list(map(over_seeds, zip(*changes, strict=True))), under_truth - unruled)
    return {
        rule: Ended(
            truth(population, rule, population),
            *np.mean(of_runs, axis=0),
            {figure: 100 * np.mean(held[rule, figure], axis=0) for figure in HELD if (rule, figure) in held},
        )
        for rule, of_runs in left.items()
    }


N_VARIANTS, BEND = 4, 2.0  # DialDefer's prompt variants, each in both orders; nats that a speaker adds in all of them
CARRIED = (WORDINGS[0], ACC_WORDINGS[0])  # d² and what is right over prompt variants


def variants(bend: float, shared: float, n_items: int, claims_of_items: FloatArray, rng: np.random.Generator) -> Any:
    """Panels of margins; shared: the part of the noise's variance that prompt variants have in common."""
    common = rng.normal(0, 2 * NOISE, (n_items, 4))
    panels = []
    for version, order in product(range(N_VARIANTS), ("yes_first", "no_first")):
        apart = rng.normal(0, 2 * NOISE, (n_items, 4))
        noise = np.sqrt(shared) * common + np.sqrt(1 - shared) * apart
        knows = KNOWS * np.array([1, -1, 1, -1]) + bend * np.array([0, 0, 1, 1])
        margins = np.tile(claims_of_items[:, 0, :, 0], 2) + knows + noise
        panels.append(margin_panel(margins, template=f"v{version}", answer_order=order))
    return panels


def carried(shared: float, n_items: int, n_runs: int) -> dict[str, FloatArray]:
    """What thresholds carried over from other prompt variants leave in truth, the mean of the estimates, and in % how
    often the interval holds the truth of the level and of the change to a straight judge: (2,) each, as CARRIED are."""
    rng, sums = np.random.default_rng(SEED), defaultdict[str, list[Any]](list)
    population = claims(N_POPULATION, np.random.default_rng(SEED))
    grids = [
        np.stack([panel.margins[:, :, 0] for panel in variants(bend, shared, N_POPULATION, population, rng)])
        for bend in (BEND, 0.0)
    ]

    def left(accepts: FloatArray) -> FloatArray:  # variants and orders × conditions
        dds = (accepts[:, 2:].sum(axis=1) - accepts[:, :2].sum(axis=1)).reshape(N_VARIANTS, 2).mean(axis=1)
        return np.array([np.square(dds).mean(), (accepts[:, [0, 2]] + 100 - accepts[:, [1, 3]]).mean() / 2])

    straight = left(100 * (grids[1] > 0).mean(axis=1))
    folds = {("bbq", f"bbq-{i:05}"): i % N_FOLDS for i in range(n_items)}
    for _ in range(n_runs):
        of_items = claims(n_items, rng)
        bent, fair = (variants(bend, shared, n_items, of_items, rng) for bend in (BEND, 0.0))
        ruled = [panel for panel in with_both_orders(cross_fitted(bent, folds, is_carried=True)) if panel.orders]
        trained = [panel for panel in with_both_orders(fair) if panel.orders]
        margins = np.stack([panel.margins[:, :, 0] for panel in bent]).reshape(N_VARIANTS, 2, n_items, 4)
        limits = np.zeros((N_VARIANTS, 2, 4))
        for variant, order in product(range(N_VARIANTS), (0, 1)):
            pooled = [of_variant[order] for i, of_variant in enumerate(margins) if i != variant]
            base, framed = ([*np.hstack([of_variant[:, at] for of_variant in pooled]).T] for at in ([0, 1], [2, 3]))
            limits[variant, order, 2:] = nearest_threshold(framed, share_of(base, 0.0))
        true = left(100 * (grids[0] > limits.reshape(-1, 1, 4)).mean(axis=1))
        pairs = pair_of("orders", ruled, trained, "answered", OPTIONS.drawing)
        compared = [estimates_in(measure, pairs) for measure in CARRIED]
        sums["left"].append(true)
        sums["estimated"].append([before.value for before, *_ in compared])
        for figure, side, expected in (("level", 0, true), ("training", 2, straight - true)):
            intervals = np.array([(three[side].low, three[side].high) for three in compared])
            sums[figure].append(100.0 * ((intervals[:, 0] <= expected) & (expected <= intervals[:, 1])))
    return {figure: np.mean(values, axis=0) for figure, values in sums.items()}


def main(n_runs: int = 200, n_items: int = 100, names: Sequence[str] = ()) -> None:
    """Print the table."""
    print(f"| judge | rule | {' | '.join(MEASURES)}: theory, left, estimated | {' | '.join(HELD)}: % held |")
    for shared in (0.0, 0.5, 1.0) if not names else ():
        cells = [
            f"{figure} {', '.join(f'{v:.1f}' for v in values)}"
            for figure, values in carried(shared, n_items, n_runs).items()
        ]
        print(f"| carried over, noise shared {shared} | {' | '.join(cells)} |", flush=True)
    for name in names or JUDGES:
        for rule, end in ended(JUDGES[name], n_items, n_runs, has_training=bool(names)).items():
            triples = zip(end.theory, end.left, end.estimated, strict=True)
            cells = [f"{theory:.1f}, {left:.1f}, {estimated:.1f}" for theory, left, estimated in triples]
            cells += [", ".join(f"{value:.0f}" for value in held) for held in end.held.values()]
            print(f"| {name} | {rule} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    numbers = [int(word) for word in sys.argv[1:] if word.isdigit()]
    main(*numbers[:2], *[100] * (len(numbers) == 1), names=[word for word in sys.argv[1:] if not word.isdigit()])
