"""Where free rules end on judges whose truth is known, and how often intervals hold it: docs/results.md, "Free rules".

`python -m tests.made.simulated_rules [RUNS]` prints the table, with seed 7.
"""

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from eval.estimates.resampling import FloatArray
from eval.evaluation import Block, observed_scores
from eval.options import Options
from eval.runs import PlannedPrompt
from eval.scorecard.rules import BOTH_AND_THRESHOLD, BOTH_ORDERS, THRESHOLD, Folded, thresholds_by_fold
from studies.framing.grids import FIELDS, FramedRun, Grid
from studies.framing.measures import EVERY, block, overall, shift_parts
from studies.framing.thresholds import under_rules
from studies.framing.verdict_files import section_of
from tests.made.simulated_answers import KNOWS, NOISE, POINTS, SPREAD, STEPS

SEED, N_POPULATION = 7, 50_000  # items, of two claims in two orders each
NAMES, CASES, ORDERS, ANSWERS = ("plain", "expert", "user"), ("true", "false"), ("given", "swapped"), ("yes", "no")
AS_ASKED = "as asked"
OPTIONS = Options(n_draws=400, seed=1)
SECTION = section_of(
    pd.DataFrame([(name, case, order) for name in NAMES for case in CASES for order in ORDERS]).set_axis(
        ["framing", "case", "order"], axis=1
    ),
    ANSWERS,
).model_copy(update={"cases": {"true": {"label": "yes"}, "false": {"label": "no"}}})


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


def log_odds(judge: Judge, n_items: int, rng: np.random.Generator) -> FloatArray:
    """(n_items, n_framings, n_cases, n_orders): of a claim's two orders and framings one part is the same."""
    is_expert, signs = np.array([0, 1, 0])[:, None, None], np.array([1, -1])
    knows = KNOWS + is_expert * (judge.knows - KNOWS)
    added = is_expert * (np.interp(judge.defers, POINTS, STEPS) + judge.pulled * signs)
    spread = rng.normal(0, SPREAD, (n_items, 1, 2, 1)) + rng.normal(0, 2 * NOISE, (n_items, 3, 2, 2))
    return np.asarray(spread + knows * signs[:, None] + added)


def grid_of(odds: FloatArray) -> Grid:
    """What a judge with these log-odds answers."""
    items = tuple(map(str, range(len(odds))))
    value = (odds > 0).astype(float)
    fields = dict.fromkeys(FIELDS, np.full(odds.shape, np.nan)) | {"odds": odds, "value": value}
    fields |= {"right": np.stack([value[:, :, 0], 1 - value[:, :, 1]], axis=2)}
    fields |= {"accepts_wrong": np.stack([np.full(value[:, :, 0].shape, np.nan), value[:, :, 1]], axis=2)}
    fields |= {"unread": np.zeros(odds.shape), "labelled": np.ones(odds.shape)}
    return Grid(
        items=items,
        groups=items,
        clusters=items,
        framings=NAMES,
        placebos=(),
        cases=CASES,
        orders=ORDERS,
        answers=ANSWERS,
        fields=fields,
        shares=np.stack([value, 1 - value], axis=-1),
    )


def run_of(grid: Grid, dataset: str) -> FramedRun:
    """A run with this grid. Its dataset's name seeds its draws."""
    plan = [
        PlannedPrompt(prompt_hash=item, item_id=item, dataset=dataset, condition="", factors=()) for item in grid.items
    ]
    config: dict[str, Any] = {"verdict": "margin", "model": {"name": "made"}}
    facts: dict[str, Any] = {"config": config, "provenance": {}, "plan": plan, "replies": {}, "rendered": {}}
    return FramedRun(path=Path("made"), section=SECTION, judged={dataset: grid}, **facts)


def figures(run: FramedRun) -> Iterator[Block]:
    """The expert's shift, and what is over the framings."""
    (grid,) = run.grids.values()
    yield from block(run, "expert", next(shift_parts(SECTION, grid, "expert")))
    for part in overall(SECTION, grid, NAMES[1:]):
        yield from block(run, EVERY, part)


MEASURES = ("shift", "mean_square_shift", "right")


def truth(odds: FloatArray, rule: str, population: FloatArray) -> FloatArray:
    """What a rule that is fitted on some items leaves in a population, of each of MEASURES."""
    if rule in (BOTH_ORDERS, BOTH_AND_THRESHOLD):
        odds, population = (np.broadcast_to(each.mean(-1, keepdims=True), each.shape) for each in (odds, population))
    limits = np.zeros((len(NAMES), 2))
    if rule in (THRESHOLD, BOTH_AND_THRESHOLD):
        nowhere = np.full(len(odds), -1)  # in no fold: fitted on all
        limits = np.stack([thresholds_by_fold([Folded(odds[..., place], nowhere)])[0] for place in (0, 1)], axis=-1)
    accepts = 100 * (population > limits[:, None, :]).mean(axis=(0, 3))  # framings × cases
    shifts = (accepts[1:] - accepts[0]).mean(axis=1)
    right = (accepts[1:, 0] + 100 - accepts[1:, 1]).mean() / 2
    return np.array([shifts[0], np.square(shifts).mean(), right])


@dataclass(frozen=True)
class Ended:
    """Of a rule on a judge, (3,) each, as MEASURES are: where it ends with a population to fit on, the mean of what is
    left in truth, the mean of the estimates, and in % how often the interval holds the truth."""

    theory: FloatArray
    left: FloatArray
    estimated: FloatArray
    covered: FloatArray


def ended(judge: Judge, n_items: int, n_runs: int) -> Mapping[str, Ended]:
    """Rule → where it ended."""
    rng = np.random.default_rng(SEED)
    population = log_odds(judge, N_POPULATION, rng)
    rows: dict[str, list[FloatArray]] = {}
    for i in range(n_runs):
        odds = log_odds(judge, n_items, rng)
        run = run_of(grid_of(odds), f"made {i}")
        for rule, ruled in {AS_ASKED: run, **under_rules(run, OPTIONS)}.items():
            scores = observed_scores(lambda each, _: figures(each), {"made": ruled}, OPTIONS)
            known = {score.measure: score.estimate for score in scores}
            estimates = [(known[name].value, known[name].low, known[name].high) for name in MEASURES]
            rows.setdefault(rule, []).append(np.column_stack([truth(odds, rule, population), np.array(estimates)]))
    results = {}
    for rule, of_runs in rows.items():
        true, value, low, high = np.moveaxis(np.stack(of_runs), -1, 0)
        covered = 100 * ((low <= true + 1e-9) & (true - 1e-9 <= high)).mean(axis=0)
        theory = truth(population, rule, population)
        results[rule] = Ended(theory, true.mean(axis=0), value.mean(axis=0), covered)
    return results


def main(n_runs: int = 200, n_items: int = 100, *names: str) -> None:
    """Print the table."""
    heads = " | ".join(f"{head}: theory, left, estimated, % held" for head in ("shift", "mean square", "right"))
    print(f"| judge | rule | {heads} |\n|---|---|---|---|---|")
    for name in names or JUDGES:
        for rule, end in ended(JUDGES[name], n_items, n_runs).items():
            cells = np.stack([end.theory, end.left, end.estimated, end.covered])
            texts = [", ".join([*(f"{value:.1f}" for value in cell[:3]), f"{cell[3]:.0f} %"]) for cell in cells.T]
            print(f"| {name} | {rule} | {' | '.join(texts)} |", flush=True)


if __name__ == "__main__":
    numbers = [int(word) for word in sys.argv[1:] if word.isdigit()]
    main(*numbers, *(word for word in sys.argv[1:] if not word.isdigit()))
