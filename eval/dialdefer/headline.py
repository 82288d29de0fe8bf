"""The findings in words: one sentence a run, one paragraph a change, and what to be careful about."""

from collections.abc import Mapping, Sequence
from typing import TypeVar

from eval.dialdefer.accuracy import MANY_UNREADABLE
from eval.dialdefer.averages import BENCH_AVG, TOTAL_AVG
from eval.dialdefer.change_rows import ChangeRow
from eval.dialdefer.rows import ScoreRow
from eval.dialdefer.score_text import ARM_WORDS, doubt, in_both_orders, order_sentence
from eval.estimates.changes import Change
from eval.report.change_cells import change_words
from eval.report.shown_numbers import interval, number, signed

TELLING_GAP_PP = 5.0  # own and fixed C1 further apart than this are worth a sentence

Row = TypeVar("Row", ScoreRow, ChangeRow)


def main_row(rows: Sequence[Row]) -> Row:
    """The row a headline speaks of: Total Avg, else Bench Avg, else another average, else the only dataset."""
    by_name = {row.dataset: row for row in rows}
    averages = [row for row in rows if row.datasets != (row.dataset,)]
    return by_name.get(TOTAL_AVG) or by_name.get(BENCH_AVG) or (averages or list(rows))[0]


def over_words(row: ScoreRow | ChangeRow) -> str:
    """Over what a row's numbers are."""
    if len(row.datasets) == 1:
        return f"{row.n_items:,} {row.datasets[0]} items"
    return f"{len(row.datasets)} datasets ({row.n_items:,} items)"


def direction(row: ScoreRow, both: ScoreRow | None = None) -> str:
    """Which way a judge bends, as far as its interval says so: a key of DIRECTION_WORDS.

    both: the row over both answer orders, whose deference is free of the pull of the first number.
    """
    if row.dds_pp is None or row.dds_ci_low_pp is None or row.dds_ci_high_pp is None:
        return "unknown"
    if row.unparsed_rate >= MANY_UNREADABLE:
        return "unreadable"
    if row.saturated:
        return "saturated"
    low, high = row.dds_ci_low_pp, row.dds_ci_high_pp
    if both is not None and both.deference_ci_low_pp is not None and both.deference_ci_high_pp is not None:
        low, high = both.deference_ci_low_pp, both.deference_ci_high_pp
    return "deferring" if low > 0 else "skeptical" if high < 0 else "unclear"


DIRECTION_WORDS = {
    "unknown": "its shift is unknown",
    "unreadable": "too few of its replies can be read to tell",
    "saturated": "it nearly always gives one answer in both framings, so its DDS says little",
    "deferring": "it defers: the same claims are accepted more when a speaker makes them",
    "skeptical": "it is skeptical: the same claims are accepted less when a speaker makes them",
    "unclear": "no clear shift: the interval includes 0",
}


def run_sentence(label: str, row: ScoreRow, every: Sequence[ScoreRow] = ()) -> str:
    """How one judge did; every: the rows of all prompt variants."""
    arm = "" if row.arm == "none" else f" under {ARM_WORDS.get(row.arm, row.arm)}"
    return (
        f"{label}{arm}: over {over_words(row)} it is right on {number(row.acc_c1)}% of statements and "
        f"{number(row.acc_c2)}% of speakers' turns; DDS {signed(row.dds_pp)} pp "
        f"{interval(row.dds_ci_low_pp, row.dds_ci_high_pp)}. {order_sentence(row, every)} "
        f"In words, {DIRECTION_WORDS[direction(row, in_both_orders(row, every))]}.{soft_sentence(row)}"
    )


def soft_sentence(row: ScoreRow) -> str:
    """What margins tell of a judge whose verdicts tell nothing; empty for others, and without margins."""
    if direction(row) != "saturated" or row.soft_dds_pp is None:
        return ""
    ends = interval(row.soft_dds_ci_low_pp, row.soft_dds_ci_high_pp)
    return (
        f" Its margins tell more: soft DDS, from probabilities of acceptance, is {signed(row.soft_dds_pp)} pp {ends}."
    )


def judges_sentence(rows: Mapping[str, ScoreRow], every: Sequence[ScoreRow]) -> str:
    """How several judges did, each with the row that its headline is about; every: all rows of all judges."""
    found = [direction(row, in_both_orders(row, every)) for row in rows.values()]
    counts = {
        "deferring": found.count("deferring"),
        "skeptical": found.count("skeptical"),
        "no clear shift": found.count("unclear"),
        "not to be told (unreadable replies, or one answer for nearly everything)": sum(
            found.count(word) for word in ("unknown", "unreadable", "saturated")
        ),
    }
    parts = [f"{words} {n}" for words, n in counts.items() if n]
    known = sorted((row.dds_pp, judge) for judge, row in rows.items() if row.dds_pp is not None)
    ends = ""
    if known:
        (low, lowest), (high, highest) = known[0], known[-1]
        ends = f" DDS goes from {signed(low)} pp ({lowest}) to {signed(high)} pp ({highest})."
    return f"Of {len(rows)} judges: {', '.join(parts)}.{ends}"


def arm_sentence(arm: str, own: ScoreRow | None, fixed: ScoreRow | None) -> str:
    """How a judge did under an arm, with each source of C1 that there is."""
    row = own or fixed
    assert row is not None, "an arm has rows"
    scores = [
        f"{signed(r.dds_pp)} pp {interval(r.dds_ci_low_pp, r.dds_ci_high_pp)} with {r.c1_source} C1"
        for r in (own, fixed)
        if r is not None
    ]
    return (
        f"Under {ARM_WORDS.get(arm, arm)}: right on {number(row.acc_c2)}% of speakers' turns; "
        f"DDS {' and '.join(scores)}."
    )


def change_sentence(label: str, own: ChangeRow | None, fixed: ChangeRow, both: ChangeRow | None = None) -> str:
    """How an after model differs from the base, with both sources of C1; both: own C1, over both answer orders."""
    acc = fixed["acc_c2"]
    parts = [
        f"{label}: accuracy on speakers' turns went from {number(acc.before.value)}% to {number(acc.after.value)}% "
        f"({change_words(acc, ' pp')})."
    ]
    if own is not None:
        parts.append(f"DDS went from {from_to(own['dds'])} pp with own C1 ({change_words(own['dds'], ' pp')}),")
    start = "and" if own else "DDS went"
    parts.append(f"{start} from {from_to(fixed['dds'])} pp with fixed C1.")
    if both is not None:
        d, p = both["deference"], both["position"]
        parts.append(f"Over both answer orders deference d went from {from_to(d)} pp ({change_words(d)}),")
        parts.append(f"position p from {from_to(p)} pp ({change_words(p)}).")
    gap = None if own is None else gap_pp(own, fixed)
    if gap is not None and gap >= TELLING_GAP_PP:
        parts.append(
            f"The two differ by {gap:.1f} pp. Own C1 is the one to believe: fixed C1 holds the new model's dialogues "
            "against the old model's statements."
        )
    return " ".join(parts)


def from_to(change: Change) -> str:
    """The values before and after."""
    return f"{signed(change.before.value)} to {signed(change.after.value)}"


def gap_pp(own: ChangeRow, fixed: ChangeRow) -> float | None:
    """How far own and fixed C1 are apart on the after model's DDS, in percentage points."""
    ours, theirs = own["dds"].after.value, fixed["dds"].after.value
    return None if ours is None or theirs is None else abs(ours - theirs)


def doubt_sentences(label: str, rows: Sequence[ScoreRow]) -> list[str]:
    """A plain warning for every dataset on which a judge's DDS says little, and one for what its engine lost."""
    datasets = [row for row in rows if row.datasets == (row.dataset,)]
    sentences = [f"{label}: {sentence}" for sentence in map(doubt, datasets) if sentence]
    n_errors = sum(row.n_errors for row in datasets)
    if n_errors:
        lost = f"the engine failed on {n_errors:,} replies; their items are left out of all conditions."
        sentences.append(f"{label}: {lost}")
    return sentences


def few_doubts(label: str, rows: Sequence[ScoreRow]) -> list[str]:
    """These warnings, or one for all where there are several."""
    sentences = doubt_sentences(label, rows)
    return sentences if len(sentences) < 3 else [doubt_summary(label, rows)]


def doubt_summary(label: str, rows: Sequence[ScoreRow]) -> str:
    """The same warnings in one sentence, for a judge that has many."""
    datasets = [row for row in rows if row.datasets == (row.dataset,)]
    unreadable = [row.dataset for row in datasets if row.unparsed_rate >= MANY_UNREADABLE]
    saturated = [row.dataset for row in datasets if row.saturated and row.dataset not in unreadable]
    parts = [
        f"{words} on {len(names)} of {len(datasets)} datasets ({', '.join(names)})"
        for words, names in (("many replies cannot be read", unreadable), ("this judge is saturated", saturated))
        if names
    ]
    n_errors = sum(row.n_errors for row in datasets)
    parts += [f"the engine failed on {n_errors:,} replies, whose items are left out"] if n_errors else []
    return f"{label}: {'; '.join(parts)}."
