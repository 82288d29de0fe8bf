"""How many votes lie between the two opinions of a pair (section 6.3.1, appendix A.6), and accuracy by that gap."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean

from eval.estimates.estimate import Estimate, clustered
from eval.pluraleval.findings import Measured
from eval.pluraleval.observe import MEASURES, Figure, observed

BOUNDS = (1, 10, 30, 100, 300)  # votes; the last one has no upper bound


@dataclass(frozen=True, slots=True, kw_only=True)
class VoteGaps:
    """The gaps of one pairing in one dataset; a thread counts with the mean of its pairs."""

    dataset: str
    pairing: str
    mean: float
    by_thread: Mapping[str, float]

    @property
    def n_threads(self) -> int:
        """How many threads have a pair."""
        return len(self.by_thread)


@dataclass(frozen=True, slots=True, kw_only=True)
class GapBin:
    """Accuracy over the threads whose gap is of one size."""

    words: str
    n_threads: int
    neutral: Estimate
    biased: Estimate


def gaps_of(one: Measured) -> list[VoteGaps]:
    """Of each dataset and pairing that has pairs."""
    found: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for reply in one.run.replies:
        factors = reply.factors
        if factors["task"] == "pairwise" and factors["framing"] == "neutral" and not factors["is_swapped"]:
            more, less = factors["votes"]
            found[factors["pairing"]][reply.thread_id].append(more - less)
    gaps = []
    for dataset, threads in one.datasets.items():
        for pairing, of_threads in found.items():
            of = {thread: fmean(of_threads[thread]) for thread in threads if thread in of_threads}
            if of:
                gaps.append(VoteGaps(dataset=dataset, pairing=pairing, mean=fmean(of.values()), by_thread=of))
    return gaps


def by_gap(one: Measured, gaps: VoteGaps) -> Iterator[GapBin]:
    """Accuracy from small gaps to large ones; bins without a thread are left out."""
    edges: Sequence[float] = (*BOUNDS, float("inf"))
    for low, high in pairwise(edges):
        threads = [thread for thread, gap in gaps.by_thread.items() if low <= gap < high]
        if threads:
            words = f"{low} and more" if high == float("inf") else f"{low} to {high - 1}"
            neutral, biased = (accuracy(one, gaps, framing, threads) for framing in ("neutral", "biased"))
            yield GapBin(words=words, n_threads=len(threads), neutral=neutral, biased=biased)


def accuracy(one: Measured, gaps: VoteGaps, framing: str, threads: Sequence[str]) -> Estimate:
    """Over some threads."""
    of_threads = one.values.get(Figure("pairwise", framing, "", gaps.pairing, "accuracy"), {})
    return clustered(MEASURES["accuracy"], observed(gaps.dataset, of_threads, threads))
