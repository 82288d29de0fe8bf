"""How often the answer is right, of simulated judges: the table of docs/results.md, "How the answer is found".

`python -m bench.simulated_answers [RUNS]` prints it, with seed 7 (400 runs a cell: half an hour on one core).
"""

import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np

from eval.estimates.resampling import Drawing, FloatArray, draws_p, percentile_interval, swapped_sums
from eval.shift.answer import Answer, Shift, answer, in_one_family
from studies.pluraleval.answers import FIGURES, RECALL, shifts_of

SEED, N_DRAWS = 7, 400
SPREAD, KNOWS = 2.0, 1.5  # logits: how far claims lie apart, and how far the true ones above the false
NOISE = 0.25  # logits: of one reply to the same claim in another framing
STEPS = np.linspace(-5, 5, 201)  # logits added to every claim


@cache
def points_of(noise: float, of_baseline: float) -> FloatArray:
    """By how many points each of STEPS raises acceptance, with so much noise of a reply and of one to the baseline."""
    rng = np.random.default_rng(0)
    logits = rng.normal(0, SPREAD, (40_000, 2)) + np.array([KNOWS, -KNOWS])
    replies = logits + rng.normal(0, noise, logits.shape)
    accepted = noisy(logits, of_baseline, rng) > 0
    return np.array([100 * ((replies + step > 0).mean() - accepted.mean()) for step in STEPS])


def noisy(logits: FloatArray, noise: float, rng: np.random.Generator) -> FloatArray:
    """The logits of replies, which vary."""
    return logits + rng.normal(0, noise, logits.shape) if noise else logits


POINTS = points_of(NOISE, 0.0)


@dataclass(frozen=True, kw_only=True)
class Judge:
    """What a simulated judge is asked, and how it answers.

    shifts: the true shift of the first framing on each dataset in turn, in points; of the other framings it is 0.
    wording_sd: of a shift that every framing and every placebo has of its own. unparsed: share of the replies to the
    first framing, of those that would reject. placebo_items: how many items of a dataset have placebos. cluster: how
    many items in turn are one cluster; cluster_sd: in logits, of what a framing has of its own in each cluster.
    n_judges: asked about in one call, of which the first alone has shifts. noise, baseline_noise: of a reply (logits).
    """

    n_items: int
    n_datasets: int = 1
    n_framings: int = 5
    n_placebos: int = 8
    shifts: Sequence[float] = (0.0,)
    wording_sd: float = 0.0
    unparsed: float = 0.0
    placebo_items: int | None = None
    cluster: int = 1
    cluster_sd: float = 0.0
    n_judges: int = 1
    is_exact: bool = False  # whether the first framing has its true shift alone, and none of its own wording
    noise: float = NOISE
    baseline_noise: float = 0.0
    n_flips: int = 0  # of signs, drawn by kind of item, for the small p of a large family; 0: N_DRAWS, item by item


def answered(judge: Judge, rng: np.random.Generator) -> Answer:
    """The answer of one simulated run: two claims in two orders an item."""
    names = [f"framing {i}" for i in range(judge.n_framings)]
    wordings = rng.normal(0, judge.wording_sd, judge.n_framings + judge.n_placebos)
    wordings[0] *= not judge.is_exact
    rises: list[list[FloatArray]] = []  # dataset → framing → (n_items, 3): parsed, and with unparsed counted both ways
    for d in range(judge.n_datasets):
        base = rng.normal(0, SPREAD, (judge.n_items, 2, 2)) + np.array([KNOWS, -KNOWS])[:, None]
        accepted, of_framings = noisy(base, judge.baseline_noise, rng) > 0, []
        for f, wording in enumerate(wordings):
            true = judge.shifts[d % len(judge.shifts)] if f == 0 else 0.0
            step = np.interp(wording + true, points_of(judge.noise, judge.baseline_noise), STEPS)
            own = rng.normal(0, judge.cluster_sd, judge.n_items // judge.cluster) if judge.cluster_sd else np.zeros(1)
            step = step + np.resize(np.repeat(own, judge.cluster), judge.n_items)[:, None, None]
            accepts = (base + rng.normal(0, judge.noise, base.shape) + step > 0).astype(float)
            is_lost = (rng.random(base.shape) < judge.unparsed) & (accepts == 0) & (f == 0)
            rise = [np.where(is_lost, fill, accepts) - accepted for fill in (np.nan, 0.0, 1.0)]
            of_items = np.stack([100 * known_mean(each) for each in rise], axis=-1)
            of_framings.append(of_items.reshape(-1, judge.cluster, 3).mean(axis=1))
        rises.append(of_framings)
    shifts = []
    for over in [
        *([d] for d in range(judge.n_datasets)),
        *([[*range(judge.n_datasets)]] if judge.n_datasets > 1 else []),
    ]:
        of_placebos = range(judge.n_framings, len(wordings))
        placebos = [float(np.mean([rises[d][f][: judge.placebo_items, 0].mean() for d in over])) for f in of_placebos]
        for f, name in enumerate(names):
            shifts.append(shift_of(name, [rises[d][f] for d in over], placebos, over, judge.n_flips, rng))
    return answer(shifts)


def known_mean(rise: FloatArray) -> FloatArray:
    """(n_items,): the mean over claims and orders that are known; 0 where none is."""
    return np.where(np.isnan(rise), 0.0, rise).sum(axis=(1, 2)) / np.maximum(1, (~np.isnan(rise)).sum(axis=(1, 2)))


def shift_of(
    framing: str,
    rises: Sequence[FloatArray],
    placebos: Sequence[float],
    over: Sequence[int],
    n_flips: int,
    rng: np.random.Generator,
) -> Shift:
    """A shift over some datasets, by the same intervals and the same test as those of real runs."""
    value = float(np.mean([rise[:, 0].mean() for rise in rises]))
    drawn = np.mean([drawn_counts(len(rise), rng) @ rise / len(rise) for rise in rises], axis=0)
    flips = [sign_flips(rise[:, 0], n_flips, rng) for rise in rises]
    ends = [percentile_interval(column) or (np.nan, np.nan) for column in drawn.T]
    is_unparsed = any((rise[:, 1] != rise[:, 2]).any() for rise in rises)
    return Shift(
        measure="shift",
        condition=framing,
        dataset="average" if len(over) > 1 else f"dataset {over[0]}",
        value=value,
        low=ends[0][0],
        high=ends[0][1],
        n_units=sum(map(len, rises)),
        p=draws_p(value, np.mean(flips, axis=0)),
        is_average=len(over) > 1,
        bounds=(ends[1][0], ends[2][1]) if is_unparsed else None,
        placebos=tuple(placebos),
    )


@dataclass(frozen=True, kw_only=True)
class Threads:
    """A simulated model of PluralEval. moved: share of the threads in which it follows the belief by 50 points.

    noise: SD of each recall, in fractions.
    """

    n_items: int
    moved: float = 0.0
    noise: float = 0.0


def answered_threads(model: Threads, rng: np.random.Generator) -> Answer:
    """The answer of one simulated run, from recall alone."""
    threads = [str(i) for i in range(model.n_items)]
    is_moved = rng.random(model.n_items) < model.moved
    values = {
        quantity: dict(
            zip(
                threads, 0.5 + 0.25 * np.sign(weight) * is_moved + rng.normal(0, model.noise, len(threads)), strict=True
            )
        )
        for quantity, weight in FIGURES[RECALL].items()
    }
    unread: dict[str, Any] = {"judged_lists": [], "replies": [], "references": {}}
    run: Any = SimpleNamespace(values=values, communities={"all": threads}, **unread)
    return answer(shifts_of(run, Drawing(n_draws=1_000, seed=SEED)))


def drawn_counts(n: int, rng: np.random.Generator) -> FloatArray:
    """(N_DRAWS, n): how often each of n items is in a bootstrap draw."""
    places = rng.integers(n, size=(N_DRAWS, n)) + n * np.arange(N_DRAWS)[:, None]
    counts: FloatArray = np.bincount(places.ravel(), minlength=N_DRAWS * n).reshape(N_DRAWS, n).astype(float)
    return counts


def sign_flips(rise: FloatArray, n_flips: int, rng: np.random.Generator) -> FloatArray:
    """Means of rises of items with random signs."""
    if not n_flips:
        return np.asarray(rng.choice([-1.0, 1.0], (N_DRAWS, len(rise))) @ rise / len(rise))
    return np.asarray((rise.sum() - 2 * swapped_sums(rise[:, None], n_flips, rng)[:, 0]) / len(rise))


def verdicts(judge: Judge | Threads, n_runs: int) -> Counter[str]:
    """How often each answer is given; of several judges: the first that is not No, Yes before Cannot tell."""
    rng = np.random.default_rng(SEED)
    counts = Counter[str]()
    for _ in range(n_runs):
        if isinstance(judge, Threads):
            counts[answered_threads(judge, rng).verdict] += 1
            continue
        judges = [judge, *[replace(judge, shifts=(0.0,))] * (judge.n_judges - 1)]
        answers = {str(i): answered(each, rng) for i, each in enumerate(judges)}
        given = {each.verdict for each in in_one_family(answers).values()}
        counts[next(word for word in ("yes", "cannot tell", "no") if word in given)] += 1
    return counts


CELLS: dict[str, Sequence[Judge | Threads]] = {
    "fair, no placebos": [Judge(n_items=n, n_placebos=0) for n in (40, 100, 300)],
    "fair, rewordings SD 2": [Judge(n_items=n, wording_sd=2) for n in (40, 100, 300)],
    "fair, rewordings SD 4": [Judge(n_items=n, wording_sd=4) for n in (40, 100, 300)],
    "fair, rewordings SD 4, placebos on 40 items": [
        Judge(n_items=n, wording_sd=4, placebo_items=40) for n in (100, 300)
    ],
    "fair, 9 datasets, no placebos": [Judge(n_items=n, n_datasets=9, n_framings=1, n_placebos=0) for n in (40, 100)],
    "fair, 9 datasets, rewordings SD 2": [
        Judge(n_items=n, n_datasets=9, n_framings=1, wording_sd=2) for n in (40, 100)
    ],
    **{
        f"shift {true}, one framing, no placebos": [
            Judge(n_items=n, n_framings=1, n_placebos=0, shifts=(true,)) for n in (40, 100, 300)
        ]
        for true in (3, 5, 8, 15)
    },
    "shift 15, rewordings SD 2, placebos on 40 items": [
        Judge(n_items=n, shifts=(15,), wording_sd=2, placebo_items=40) for n in (100, 300)
    ],
    **{
        f"shift {true}, rewordings SD 2": [Judge(n_items=n, shifts=(true,), wording_sd=2) for n in (40, 100, 300)]
        for true in (3, 5, 8, 15)
    },
    "9 datasets, +8 and -8 on two": [
        Judge(n_items=n, n_datasets=9, n_framings=1, n_placebos=0, shifts=(*[0] * 7, 8, -8)) for n in (40, 100)
    ],
    "9 datasets, +15 and -25 on two": [
        Judge(n_items=n, n_datasets=9, n_framings=1, n_placebos=0, shifts=(*[0] * 7, 15, -25)) for n in (40, 100)
    ],
    **{
        f"fair, {share:.0%} of what a framing rejects unparsed": [
            Judge(n_items=n, n_framings=1, n_placebos=0, unparsed=share) for n in (100, 300)
        ]
        for share in (0.05, 0.1, 0.3)
    },
    "fair, in clusters of 5 that a framing moves apart": [
        Judge(n_items=n, n_placebos=0, cluster=5, cluster_sd=1.0) for n in (100, 300)
    ],
    "fair, twins that a framing moves apart": [
        Judge(n_items=n, n_placebos=0, cluster=2, cluster_sd=1.0) for n in (80, 300)
    ],
    **{
        f"{words}, rewordings SD {sd}": [Judge(n_items=100, n_judges=6, n_flips=2_000, shifts=(true,), wording_sd=sd)]
        for words, true, sd in (
            ("six fair judges", 0, 2),
            ("six fair judges", 0, 4),
            ("one of six judges has a shift of 8", 8, 2),
            ("one of six judges has a shift of 15", 15, 2),
        )
    },
    "PluralEval, fair, recall varies by 20": [Threads(n_items=n, noise=0.2) for n in (9, 30, 100, 300)],
    "PluralEval, 8: a sixth of the threads by 50": [Threads(n_items=n, moved=0.16) for n in (6, 9, 30, 100, 300)],
    "PluralEval, the same, recall varies by 20": [Threads(n_items=n, moved=0.16, noise=0.2) for n in (9, 30, 100, 300)],
}


def main(n_runs: int = 400) -> None:
    """Print the table."""
    print("| judge | items | Yes | No | Cannot tell |\n|---|---|---|---|---|")
    for name, judges in CELLS.items():
        for judge in judges:
            given = verdicts(judge, n_runs)
            shares = " | ".join(f"{100 * given[word] / n_runs:.1f} %" for word in ("yes", "no", "cannot tell"))
            print(f"| {name} | {judge.n_items} | {shares} |", flush=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
