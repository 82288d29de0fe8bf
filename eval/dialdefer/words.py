"""What sentences about DialDefer's scores and changes are made of (words.j2 has them), and what to doubt about them."""

from typing import Any

import pandas as pd

from eval.dialdefer.compare import over_corrected
from eval.dialdefer.measures import MANY_UNREADABLE
from eval.dialdefer.scores import BENCH_AVG, FIXED, KEYS, OWN, TOTAL_AVG, headline_rows, records
from eval.dialdefer.tables import arm_words, counted_words, reading_words
from eval.report.text import percent
from eval.results import Results

Row = Any  # of the wide frame, by scores.records

MOST_SENTENCES = 6  # judges that have a sentence each; more are counted
DETECTABLE = 2.8 / 1.96 / 2  # of a 95 % interval's width: 2.8 standard errors, found with 80 % power at level 0.05


def facts_of(results: Results, frame: pd.DataFrame) -> dict[str, Any]:
    """What words.j2 sees: a line for each judge, each of its arms, and each change."""
    mains = [] if frame.empty else records(headline_rows(frame[frame.is_headline & one_denominator(frame)]))
    lines = [{"row": row, "both": in_both_orders(row, frame)} for row in mains]
    for line in lines:
        line["direction"] = direction(line["row"], line["both"])
        line["asked_both"] = is_asked_in_both(line["row"], frame)
    return {
        "lines": lines,
        "most": MOST_SENTENCES,
        "arms": arm_lines(mains[0], frame) if len(mains) == 1 else [],
        "moves": change_lines(results),
        "arm_words": arm_words,
        "reading": "" if frame.empty else reading_words(frame.iloc[0]),
        "counted": "" if frame.empty else counted_words(frame.iloc[0]),
        "detectable": DETECTABLE,
        "has_orders": (not frame.empty and frame.deference_pp.notna().any()),
        "is_over_corrected": any(over_corrected(c) for c in results.change_rows if c.measure == "dds"),
    }


def one_denominator(frame: pd.DataFrame) -> "pd.Series[bool]":
    """The rows of the first denominator: `score` has both."""
    return frame.denominator == frame.denominator.iloc[0]


def in_both_orders(row: Row, frame: pd.DataFrame) -> Row | None:
    """The row that tells deference from position where both answer orders of a row's prompts were asked, else None."""
    keys = ("run", "model", "arm", "roles", "c1_source", "datasets", "denominator", "template", "speaker1", "speaker2")
    rows = records(frame[frame.deference_pp.notna()])
    return next((other for other in rows if all(getattr(other, k) == getattr(row, k) for k in keys)), None)


def is_asked_in_both(row: Row, frame: pd.DataFrame) -> bool:
    """Whether an arm was asked in both answer orders on some dataset."""
    same = (frame.run == row.run) & (frame.model == row.model) & (frame.arm == row.arm)
    return bool(frame[same].deference_pp.notna().any())


def direction(row: Row, both: Row | None = None) -> str:
    """Which way a judge bends, as far as its interval says so.

    both: the row over both answer orders, whose deference is free of the pull of the first number.
    """
    low, high = row.dds_ci_low_pp, row.dds_ci_high_pp
    if row.dds_pp is None or low is None or high is None:
        return "unknown"
    if row.unparsed_rate >= MANY_UNREADABLE:
        return "unreadable"
    if row.saturated:
        return "saturated"
    if both is not None and both.deference_ci_low_pp is not None and both.deference_ci_high_pp is not None:
        low, high = both.deference_ci_low_pp, both.deference_ci_high_pp
    return "deferring" if low > 0 else "skeptical" if high < 0 else "unclear"


def arm_lines(main: Row, frame: pd.DataFrame) -> list[dict[str, Any]]:
    """The other arms of a judge, each with the rows of the sources of C1 that it has."""
    arms: dict[str, dict[str, Row]] = {}
    alike = frame[one_denominator(frame) & (frame.roles == main.roles) & (frame.variant == main.variant)]
    alike = alike[alike.arm != main.arm]
    for row in records(headline_rows(alike, KEYS)) if len(alike) else []:
        arms.setdefault(row.arm, {})[row.c1_source] = row
    return [{"arm": arm, "rows": [rows[s] for s in (OWN, FIXED) if s in rows]} for arm, rows in arms.items()]


def change_lines(results: Results) -> list[dict[str, Any]]:
    """Each run after the base: its changes in the first arm and prompt variant that both have, over all datasets."""
    if results.changes.empty:
        return []
    lines = []
    for _, changes in results.changes.groupby("second", sort=False):
        first = changes.iloc[0]
        arm = changes[(changes.arm == first.arm) & (changes.roles == first.roles)]
        alike = arm[arm.variant == first.variant]
        own, fixed = (main_change(alike[alike.c1_source == source]) for source in (OWN, FIXED))
        orders = main_change(arm[(arm.c1_source == OWN) & arm.measure.isin(["deference", "position"])])
        lines.append({"run": changes.second.iloc[0], "own": own, "fixed": fixed, "orders": orders})
    return lines


def main_change(changes: pd.DataFrame) -> dict[str, Any]:
    """Measure → its change over Total Avg, else Bench Avg, else another average, else the only dataset."""
    if changes.empty:
        return {}
    rank = changes.dataset.map({TOTAL_AVG: 0, BENCH_AVG: 1}).fillna(3 - (changes.datasets.str.len() > 1))
    best = changes.dataset[rank == rank.min()].iloc[0]
    return {row.measure: row for row in records(changes[changes.dataset == best])}


def doubt(row: Row) -> str | None:
    """Why a dataset's DDS says little about judgement, if there is a reason."""
    if row.unparsed_rate >= MANY_UNREADABLE:
        effect = "counts them as wrong" if row.denominator == "published" else "is over the few others"
        return (
            f"{percent(row.unparsed_rate)} of the replies on {row.dataset} cannot be read; this score {effect}, so its "
            "Δ and DDS say more about format than about judgement. Constrain the output (sampling.structured: json) "
            "or use margins."
        )
    if row.n_ties >= MANY_UNREADABLE * row.n_replies:
        return (
            f"{percent(row.n_ties / row.n_replies)} of the margins on {row.dataset} are exactly 0 and count by half, "
            "so its 0/1 accuracies and DDS hang on rounding; soft DDS does not."
        )
    if row.saturated:
        return (
            f"on {row.dataset} this judge is saturated (it accepts {percent(row.accept_rate_c1)} of the claims in C1 "
            f"and {percent(row.accept_rate_c2)} in C2). A judge with one answer for nearly everything can have a DDS "
            "near 0 for the wrong reason."
        )
    return None


def doubts(group: pd.DataFrame) -> list[str]:
    """A sentence for every dataset on which a judge's DDS says little, or one for several; and what its engine lost."""
    rows = records(group[group.is_dataset & one_denominator(group)])
    n_errors = sum(row.n_errors for row in rows)
    lost = [f"the engine failed on {n_errors:,} replies; their items are left out of all conditions."] * (n_errors > 0)
    sentences = [*filter(None, map(doubt, rows))]
    if len(sentences) < 3:
        return [*sentences, *lost]
    unreadable = [row.dataset for row in rows if row.unparsed_rate >= MANY_UNREADABLE]
    saturated = [row.dataset for row in rows if row.saturated and row.dataset not in unreadable]
    ties = [row.dataset for row in rows if row.n_ties >= MANY_UNREADABLE * row.n_replies]
    parts = [
        f"{words} on {len(names)} of {len(rows)} datasets ({', '.join(names)})"
        for words, names in (
            ("many replies cannot be read", unreadable),
            ("this judge is saturated", saturated),
            ("many margins are exactly 0", ties),
        )
        if names
    ]
    words = "A judge with one answer for nearly everything can have a DDS near 0 for that reason."
    return [f"{'; '.join(parts)}. {words}", *lost]
