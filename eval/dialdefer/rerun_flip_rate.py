"""How often a verdict changes when nothing does: the re-run flip rate, a floor under every flip rate."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from eval.dialdefer.accuracy import flips, majority
from eval.dialdefer.answer_orders import BOTH_ORDERS
from eval.dialdefer.judges import Judge
from eval.dialdefer.observe import answered_by_both
from eval.dialdefer.panels import ABSENT, ACCEPT, REJECT, Panel, named, refuse_unequal_items, without_errors
from eval.dialdefer.scores import grouped
from eval.estimates.resampling import wilson_interval
from eval.report.table import Table
from evenhand.errors import DataError

FloatArray = NDArray[np.float64]

ALL = "all"  # the row over all datasets of an arm


@dataclass(frozen=True, slots=True, kw_only=True)
class NoiseRow:
    """The re-run flip rate of one arm on one dataset, or on all of its prompts; rates in [0, 1], None is unknown.

    rerun_flip_rate: share of prompts (an item under a condition) whose verdict differs between two runs of one config,
    among those with a verdict in both; with several samples a prompt, the chance that two of them differ. Its interval
    is Wilson's over prompts.
    flip_rate: flips from C1 to C2 over items, as scores have it, mean over the runs (or samples). If C2 were but C1
    asked again, half of the changed verdicts would be losses, and each item has two claims to lose on: the flip rate to
    expect from noise alone *is* the re-run flip rate. noise_share is that part of the flip rate, at most 1.
    """

    judge: str
    arm: str
    roles: str
    variant: str
    dataset: str
    n_prompts: int  # with at least two verdicts
    n_left_out: int
    rerun_flip_rate: float | None
    ci_low_rate: float | None
    ci_high_rate: float | None
    flip_rate: float | None
    noise_share: float | None
    noise_share_low: float | None
    noise_share_high: float | None


@dataclass(frozen=True, slots=True)
class Count:
    """What one panel adds to a row."""

    n_prompts: int
    n_left_out: int
    n_differing: float
    n_items: int
    n_flips: float | None  # mean over the runs; None unless both framings were asked


def noise_between(first: Judge, second: Judge) -> list[NoiseRow]:
    """Rows of two runs of one config, for every arm and dataset that both have.

    Raises DataError when they are of two models, over unequal items or prompts, or share no panel.
    """
    if first.model != second.model:
        raise DataError(f"{first.name} and {second.name} are two models; a re-run asks the same one again")
    again = {(p.benchmark, p.dataset, p.factors): p for p in second.panels}
    reruns = {id(p): again.get((p.benchmark, p.dataset, p.factors)) for p in first.panels}
    shared = [panel for panel in first.panels if reruns[id(panel)] is not None]
    if not shared:
        raise DataError(f"{first.name} and {second.name} have no dataset and arm in common; run one config twice")
    rows: list[NoiseRow] = []
    for key, panels in grouped(shared, first.panels).items():
        counts = {p.dataset: count_between(p, other) for p in panels if (other := reruns[id(p)]) is not None}
        rows += noise_rows(first.name, key, counts)
    return rows


def noise_within(judge: Judge) -> list[NoiseRow]:
    """Rows of one run with several samples a prompt. Raises DataError when it has one."""
    # Both answer orders taken together are two prompts, not one asked twice.
    asked = [panel for panel in judge.panels if panel.factors.answer_order != BOTH_ORDERS]
    panels = [panel for panel in asked if panel.replies.shape[2] > 1]
    if not panels:
        raise DataError(f"{judge.name}: has one sample a prompt; set sampling.n to 2 or more, or run the config twice")
    rows: list[NoiseRow] = []
    for key, group in grouped(panels, judge.panels).items():
        rows += noise_rows(judge.name, key, {panel.dataset: count_within(panel) for panel in group})
    return rows


def count_between(first: Panel, second: Panel) -> Count:
    """The count of two runs, each with one verdict a prompt (the majority of its samples)."""
    name = f"{first.dataset}, arm {first.factors.arm}, first run against second"
    refuse_unequal_items(name, first, second)
    changed = (first.hashes != second.hashes).any(axis=1)
    if changed.any():
        ids = [first.item_ids[int(i)] for i in np.flatnonzero(changed)]
        raise DataError(f"{name}: {named(ids)} other prompts in the second; a re-run asks the same ones")
    n_asked = n_prompts_of(first)
    first, second = answered_by_both(first, second)
    return counted(
        np.stack([majority(first.replies), majority(second.replies)], axis=2), n_asked, first.has_c1 and first.has_c2
    )


def count_within(panel: Panel) -> Count:
    """The count of one run's samples, taken two at a time."""
    answered, _ = without_errors(panel)
    return counted(answered.replies, n_prompts_of(panel), panel.has_c1 and panel.has_c2)


def n_prompts_of(panel: Panel) -> int:
    """How many prompts were asked."""
    return int((panel.replies != ABSENT).any(axis=2).sum())


def counted(replies: NDArray[np.int8], n_asked: int, has_both_framings: bool) -> Count:
    """The count for replies of shape (n_items, 4, n_runs) and the number of prompts that were asked."""
    rates = differing_rates(replies)
    known = ~np.isnan(rates)
    n_prompts = int(known.sum())
    n_flips = None
    if has_both_framings:
        of_runs = [flips(replies[:, :, run]) for run in range(replies.shape[2])]
        n_flips = sum(found.n_deference + found.n_skepticism for found in of_runs) / len(of_runs)
    return Count(n_prompts, n_asked - n_prompts, float(rates[known].sum()), len(replies), n_flips)


def differing_rates(replies: NDArray[np.int8]) -> FloatArray:
    """The chance that two different ones of a prompt's verdicts disagree, (n_items, 4), for (n_items, 4, n_runs).

    NaN for a prompt with fewer than two verdicts: an unreadable reply or a tie is none.
    """
    n_accept, n_reject = (replies == ACCEPT).sum(axis=2), (replies == REJECT).sum(axis=2)
    n_pairs = (n_accept + n_reject) * (n_accept + n_reject - 1) / 2
    return np.where(n_pairs > 0, n_accept * n_reject / np.maximum(n_pairs, 1), np.nan)


def noise_rows(judge: str, key: tuple[str, str, str], counts: dict[str, Count]) -> Iterator[NoiseRow]:
    """A row for each dataset of an arm, and one over all of them."""
    for dataset, parts in [*((d, [count]) for d, count in counts.items()), (ALL, list(counts.values()))]:
        n_prompts = sum(part.n_prompts for part in parts)
        n_differing = sum(part.n_differing for part in parts)
        low, high = wilson_interval(n_differing, n_prompts) or (None, None)
        rate = n_differing / n_prompts if n_prompts else None
        n_flips = [part.n_flips for part in parts if part.n_flips is not None]
        flip_rate = sum(n_flips) / sum(p.n_items for p in parts) if len(n_flips) == len(parts) else None
        yield NoiseRow(
            judge=judge,
            arm=key[0],
            roles=key[1],
            variant=key[2],
            dataset=dataset,
            n_prompts=n_prompts,
            n_left_out=sum(part.n_left_out for part in parts),
            rerun_flip_rate=rate,
            ci_low_rate=low,
            ci_high_rate=high,
            flip_rate=flip_rate,
            noise_share=share(rate, flip_rate),
            noise_share_low=share(low, flip_rate),
            noise_share_high=share(high, flip_rate),
        )


def share(noise_rate: float | None, flip_rate: float | None) -> float | None:
    """The part of a flip rate that noise explains, at most 1; None where either is unknown or nothing flips."""
    return min(1.0, noise_rate / flip_rate) if noise_rate is not None and flip_rate else None


def noise_table(rows: Sequence[NoiseRow], name: str = "noise_floor") -> Table:
    """The rows as a table."""
    columns = ("judge", "arm", "prompt variant", "dataset", "prompts", "left out")
    rates = ("re-run flip rate", "95% low", "95% high", "flip rate")
    words = [(r.judge, r.arm, r.variant, r.dataset, r.n_prompts, r.n_left_out) for r in rows]
    values = [(r.rerun_flip_rate, r.ci_low_rate, r.ci_high_rate, r.flip_rate, r.noise_share) for r in rows]
    return Table(
        name=name,
        title="Noise floor: how often a verdict changes when nothing does",
        columns=(*columns, *rates, "part that is noise"),
        rows=tuple((*word, *value) for word, value in zip(words, values, strict=True)),
        note="Re-run flip rate: share of prompts whose verdict differs between two runs of one config, with Wilson's "
        "interval. It is also the flip rate (flips over items) to expect if C2 were C1 asked again.",
        formats=(*[""] * len(columns), *[".1%"] * len(rates), ".0%"),
    )
