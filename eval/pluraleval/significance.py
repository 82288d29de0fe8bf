"""Wilcoxon's signed-rank test of each figure of experiment 1 against neutral (Tables 4 to 6), with Holm beside it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from eval.estimates.false_discovery import holm
from eval.pluraleval.observe import GROUPS, OPPOSING, TOWARD, Figure, Values

MARKED = ("precision", "recall", "f1")  # what the tables have a mark at


@dataclass(frozen=True, slots=True, kw_only=True)
class Signed:
    """One test, two-sided, over threads."""

    p: float
    p_holm: float  # over the 18 of one model and community
    n_threads: int  # that both prompts have a value of


def against_neutral(values: Values, threads: Iterable[str]) -> dict[Figure, Signed]:
    """The test of each biased figure over some threads; none of one without a thread in both framings."""
    chosen = set(threads)
    pairs: dict[Figure, tuple[list[float], list[float]]] = {}
    for framing in (TOWARD, OPPOSING):
        for group in GROUPS:
            for measure in MARKED:
                figure = Figure("generation", framing, group, "", measure)
                found = paired_values(values, figure, chosen)
                if found[0]:
                    pairs[figure] = found
    ps = [signed_rank_p(neutral, biased) for neutral, biased in pairs.values()]
    return {
        figure: Signed(p=p, p_holm=adjusted, n_threads=len(pairs[figure][0]))
        for figure, p, adjusted in zip(pairs, ps, holm(ps), strict=True)
    }


def paired_values(values: Values, figure: Figure, threads: set[str]) -> tuple[list[float], list[float]]:
    """Neutral and biased values of the threads that have both."""
    neutral: Mapping[str, float] = values.get(figure._replace(framing="neutral"), {})
    biased: Mapping[str, float] = values.get(figure, {})
    shared = [thread for thread in biased if thread in neutral and thread in threads]
    return [neutral[thread] for thread in shared], [biased[thread] for thread in shared]


def signed_rank_p(first: list[float], second: list[float]) -> float:
    """Two-sided p; threads without a difference are left out (Wilcoxon), and without any other it is 1.

    Differences are rounded to 9 digits: 1/3 from two computations is one value, and equal ranks are equal.
    """
    from scipy.stats import wilcoxon  # takes half a second to import

    rises = [rise for one, other in zip(first, second, strict=True) if (rise := round(other - one, 9))]
    return float(wilcoxon(rises).pvalue) if rises else 1.0
