"""How well judges agree on the primary code, and one judge with itself over samples: Cohen's κ, Krippendorff's α."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from eval.annotation.agreement import Pair, kappa_of, share_of
from eval.estimates.estimate import Estimate, estimate_of
from eval.estimates.observed import Drawing
from eval.estimates.resampling import FloatArray, percentile_interval, resampled_sums, rng_for
from eval.taxonomy.coded_flips import CodedFlip, CodedRun
from eval.taxonomy.shares import What, all_labels, labels_of
from studies.taxonomy.codebook import category_of

LEVELS: tuple[What, ...] = ("primary", "category")
ALL_JUDGES = "all judges"


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """Of some raters on the flips of one model."""

    judges: Sequence[CodedRun]  # who is compared: one judge's samples, or several judges
    raters: str  # what tables call them
    what: What
    n_flips: int  # with at least two ratings
    agreement: Estimate | None  # of two judges: the share of equal answers, in percent
    kappa: Estimate | None  # of two judges
    alpha: Estimate

    @property
    def model(self) -> str:
        """Whose flips they are of."""
        return self.judges[0].model


def alpha(coincidences: FloatArray) -> FloatArray:
    """Krippendorff's nominal α of coincidence matrices (..., k, k), shape (...); NaN where all say the same.

    α = 1 - (n - 1) Σ o(c, c') / Σ n(c) n(c') over c ≠ c' (Krippendorff, Computing Krippendorff's Alpha-Reliability,
    2011, section C). Matrices of units add up, so that a bootstrap over units needs nothing but their sums.
    """
    of_code = coincidences.sum(axis=-1)
    n = of_code.sum(axis=-1)
    seen = n - np.trace(coincidences, axis1=-2, axis2=-1)
    chance = n**2 - (of_code**2).sum(axis=-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.where(chance > 0, 1 - (n - 1) * seen / chance, np.nan))


def coincidence(ratings: Sequence[str], labels: Sequence[str]) -> FloatArray:
    """The matrix of one unit: each ordered pair of its m ratings counts 1 / (m - 1); zeros for fewer than two."""
    counts = np.array([sum(rating == label for rating in ratings) for label in labels], dtype=np.float64)
    if counts.sum() < 2:
        return np.zeros((len(labels), len(labels)))
    return np.asarray((np.outer(counts, counts) - np.diag(counts)) / (counts.sum() - 1))


def alpha_of(ratings: Mapping[str, Sequence[Sequence[str]]], labels: Sequence[str], drawing: Drawing) -> Estimate:
    """α with a percentile interval over items. ratings: item → the ratings of each of its flips."""
    matrices = np.array([sum(coincidence(of, labels) for of in flips) for flips in ratings.values()])
    sums = resampled_sums(matrices.reshape(len(matrices), -1), drawing.n_draws, rng_for(drawing.seed, "alpha"))
    draws = alpha(sums.reshape(-1, len(labels), len(labels)))
    value = float(alpha(matrices.sum(axis=0)))
    return estimate_of(value, percentile_interval(draws), len(matrices))


def agreements(found: Sequence[CodedRun], drawing: Drawing) -> list[Agreement]:
    """Of each judge with itself, where it judged several times, of every two judges of one model, and of all."""
    rows = list[Agreement]()
    for model in dict.fromkeys(one.model for one in found):
        judges = [one for one in found if one.model == model]
        for what in LEVELS:
            rows += repeats(judges, what, drawing)
            rows += two_judges(judges, what, drawing)
            if len(judges) > 2:
                rows += rated(judges, ALL_JUDGES, what, judges_ratings(judges, what), drawing)
    return rows


def repeats(judges: Sequence[CodedRun], what: What, drawing: Drawing) -> Iterator[Agreement]:
    """Each judge's samples of one flip."""
    for one in judges:
        ratings = [(flip, sample_labels(flip, what)) for flip in one.all_flips]
        yield from rated([one], f"{one.judge}, repeated", what, ratings, drawing)


def sample_labels(flip: CodedFlip, what: What) -> list[str]:
    """What each sample that could be read says."""
    primary = [one.primary for one in flip.samples if one.is_read]
    return primary if what == "primary" else [category_of()[code] for code in primary]


def judges_ratings(judges: Sequence[CodedRun], what: What) -> list[tuple[CodedFlip, list[str]]]:
    """Of each flip of any judge what the judges say that have a primary code."""
    by_flip: dict[str, list[CodedFlip]] = {}
    for one in judges:
        for flip in one.flips:
            by_flip.setdefault(flip.flip_id, []).append(flip)
    return [(flips[0], [next(iter(labels_of(flip, what))) for flip in flips]) for flips in by_flip.values()]


def two_judges(judges: Sequence[CodedRun], what: What, drawing: Drawing) -> Iterator[Agreement]:
    """Every two, over the flips that both have a primary code of."""
    for two in combinations(judges, 2):
        ratings = judges_ratings(two, what)
        for row in rated(two, pair_name(*two), what, ratings, drawing):
            yield with_pairs(row, [(flip.unit, said[0], said[1]) for flip, said in ratings if len(said) == 2])


def pair_name(ours: CodedRun, theirs: CodedRun) -> str:
    """Two judges; two runs of one judge by their names."""
    names = (ours.judge, theirs.judge) if ours.judge != theirs.judge else (ours.run.name, theirs.run.name)
    return " and ".join(names)


def with_pairs(row: Agreement, pairs: Sequence[Pair]) -> Agreement:
    """The same with what only two raters have."""
    agreement = share_of([(unit, first == second, 1.0) for unit, first, second in pairs])
    return replace(row, agreement=agreement, kappa=kappa_of(pairs, all_labels(row.what)))


def rated(
    judges: Sequence[CodedRun],
    raters: str,
    what: What,
    ratings: Sequence[tuple[CodedFlip, Sequence[str]]],
    drawing: Drawing,
) -> Iterator[Agreement]:
    """α over the flips with several ratings; nothing without any."""
    by_unit: dict[str, list[Sequence[str]]] = {}
    for flip, said in ratings:
        if len(said) > 1:
            by_unit.setdefault(flip.unit, []).append(said)
    if by_unit:
        yield Agreement(
            judges=judges,
            raters=raters,
            what=what,
            n_flips=sum(map(len, by_unit.values())),
            agreement=None,
            kappa=None,
            alpha=alpha_of(by_unit, all_labels(what), drawing),
        )
