"""The findings in words and as plain text: tables of scores and of changes, a sentence a run, and what to doubt."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from eval.dialdefer.compare import over_corrected
from eval.dialdefer.measures import MANY_UNREADABLE
from eval.dialdefer.panels import MAIN_ROLES
from eval.dialdefer.scores import (
    BENCH_AVG,
    FIXED,
    KEYS,
    OWN,
    TOTAL_AVG,
    average_sentence,
    headline_rows,
    records,
    shown,
)
from eval.dialdefer.tables import DENOMINATOR_WORDS, arm_words, reading_words
from eval.estimates.changes import Change
from eval.report.change_cells import CHANGE, change_cells, change_words
from eval.report.shown_numbers import aligned, interval, number, p_value, percent, share, signed
from studies.dialdefer.templates import YES_FIRST

Row = Any  # of the wide frame, by scores.records
ChangeRow = Mapping[str, Change]  # measure → change, of one dataset or average in one setting

C1_WORDS = {
    OWN: "own C1: both framings from this arm and checkpoint",
    FIXED: "fixed C1: statements from the untreated arm or model, as published tables are scored",
}
CHANGE_C1_WORDS = {
    OWN: "own C1 (recommended): statements and dialogues judged by the same checkpoint",
    FIXED: "fixed C1: the after model's dialogues against the base model's statements (as published tables do)",
}
ORDERS_NOTE = (
    "d: deference, DDS averaged over both answer orders. p: position, half of what DDS differs by between them."
)
ONE_ORDER = (
    "Asked in one answer order: DDS does not tell deference from a pull of the first number (sample "
    "dialdefer.prompts.variants with answer_order: no_first as well)."
)
OVER_CORRECTED = "†: over-corrected, DDS was positive before and is negative after."
DIRECTION_WORDS = {
    "unknown": "its shift is unknown",
    "unreadable": "too few of its replies can be read to tell",
    "saturated": "it nearly always gives one answer in both framings, so its DDS says little",
    "deferring": "it defers: the same claims are accepted more when a speaker makes them",
    "skeptical": "it is skeptical: the same claims are accepted less when a speaker makes them",
    "unclear": "no clear shift: the interval includes 0",
}
CHANGE_HEADER = ["dataset", "items", "yes C1", "after", "yes C2", "after", "acc C1", "after", "acc C2", "after"]
CHANGE_HEADER += ["change C2", *CHANGE[:2], "DDS", "after", "95% interval", "change", *CHANGE[:2]]
FURTHER = {  # measure → its head, digits
    "deference": ("deference d", 1),
    "position": ("position p", 1),
    "shift": ("shift, own SD", 2),
    "shift_in_base_sd": ("shift, base's SD", 2),
}
TELLING_GAP_PP = 5.0  # own and fixed C1 further apart than this are worth a sentence
DETECTABLE = 2.8 / 1.96 / 2  # of a 95 % interval's width: 2.8 standard errors, found with 80 % power at level 0.05


def score_tables(frame: pd.DataFrame) -> str:
    """All tables of a run, one for each arm, C1 source, prompt variant and denominator.

    A table over answered replies is left out when every reply has a verdict: it would repeat the one before.
    """
    groups = [group for _, group in frame.groupby(["run", *KEYS, "denominator"], sort=False)]
    repeats = [
        group.denominator.iloc[0] != "published" and not (group.n_unparsed + group.n_ties).any() for group in groups
    ]
    kept = [group for group, repeat in zip(groups, repeats, strict=True) if not repeat] or groups
    return "\n\n".join(score_table(group, frame) for group in kept)


def score_table(group: pd.DataFrame, frame: pd.DataFrame) -> str:
    """One captioned table of rows that share everything but the dataset, with its warnings; frame: of all tables."""
    rows = records(shown(group))
    row = rows[0]
    variant = f", prompt variant {row.variant}" if row.variant else ""
    samples = f", {row.n_samples} samples a prompt (accuracy is their mean)" if row.n_samples > 1 else ""
    reading = "margin (log P(1) - log P(2))" if row.verdict == "margin" else reading_words(row)
    lines = [
        f"{row.model}, {arm_words(row.arm)}, roles {row.roles}{variant} ({row.run})",
        f"verdict: {reading}; denominator: {row.denominator} ({DENOMINATOR_WORDS[row.verdict, row.denominator]}); "
        f"{C1_WORDS[row.c1_source]}{samples}.",
        f"Accuracies in %, Δ and DDS in percentage points; intervals: {row.n_draws:,} bootstrap draws over items.",
        "",
        *aligned(score_lines(rows)),
        *(average_sentence(r.dataset, r.datasets) for r in rows if r.is_average),
    ]
    if row.deference_pp is not None:
        lines.append(ORDERS_NOTE)
    elif row.answer_order == YES_FIRST:
        lines.append(order_sentence(next((r for r in rows if r.is_average), row), frame))
    return "\n".join([*lines, *(f"Warning: {doubt}" for doubt in few_doubts("", group))])


def score_lines(rows: Sequence[Row]) -> list[list[str]]:
    """The header and a line for each dataset or average of rows that share everything else."""
    row = rows[0]
    has_margins = any(r.soft_dds_pp is not None for r in rows)
    header = ["dataset", "items", "C1 T", "C1 F", "C2 C", "C2 I", "Δcorr", "Δinc", "DDS", "95% interval"]
    header += ["d", "95% interval", "position p", "95% interval"] if row.deference_pp is not None else []
    if has_margins:
        header += ["ties", "soft DDS", "95% interval", "shift, SD", "95% interval", "AUC C1", "AUC C2"]
    else:
        header += ["unreadable"] if row.parser is None else ["unread: strict", "lenient"]
    lines = [[*header, "flips", "p true", "p false"]]
    for r in rows:
        accuracies = (r.acc_c1_true, r.acc_c1_false, r.acc_c2_correct, r.acc_c2_incorrect)
        line = [r.dataset, str(r.n_items), *map(number, accuracies)]
        line += [signed(r.delta_correct_pp), signed(r.delta_incorrect_pp), *with_ends(r, "dds")]
        if row.deference_pp is not None:
            line += [*with_ends(r, "deference"), *with_ends(r, "position")]
        if has_margins:
            line += [str(r.n_ties), *with_ends(r, "soft_dds")]
            line += [signed(r.shift, 2), interval(r.shift_ci_low, r.shift_ci_high, 2)]
            line += [number(r.auc_c1, 3), number(r.auc_c2, 3)]
        else:
            counts = [r.n_unparsed] if row.parser is None else [r.n_unparsed_strict, r.n_unparsed_lenient]
            line += [share(n, r.n_replies) for n in counts]
        flips = f"{r.n_deference_flips}/{r.n_skepticism_flips}"
        lines.append([*line, flips, p_value(r.mcnemar_p_correct), p_value(r.mcnemar_p_incorrect)])
    return lines


def with_ends(row: Row, measure: str) -> tuple[str, str]:
    """A measure in percentage points, and its interval."""
    low, high = (getattr(row, f"{measure}_ci_{end}_pp") for end in ("low", "high"))
    return signed(getattr(row, f"{measure}_pp")), interval(low, high)


def in_both_orders(row: Row, frame: pd.DataFrame) -> Row | None:
    """The row that tells deference from position where both answer orders of a row's prompts were asked, else None."""
    keys = ("run", "model", "arm", "roles", "c1_source", "datasets", "denominator", "template", "speaker1", "speaker2")
    rows = records(frame[frame.deference_pp.notna()])
    return next((r for r in rows if all(getattr(r, key) == getattr(row, key) for key in keys)), None)


def order_sentence(row: Row, frame: pd.DataFrame) -> str:
    """Whether deference is told apart from a pull of the first answer; frame: the rows of all variants."""
    both = in_both_orders(row, frame)
    if both is not None:
        return (
            f"Over both answer orders on {row.dataset}: deference d {' pp '.join(with_ends(both, 'deference'))}, "
            f"position p {' pp '.join(with_ends(both, 'position'))} (pull of the first number)."
        )
    others = frame[(frame.run == row.run) & (frame.model == row.model) & (frame.arm == row.arm)]
    if not others.deference_pp.notna().any():
        return ONE_ORDER
    return (
        f"Both answer orders were asked, but not answered on all of {', '.join(row.datasets)}: deference and position "
        "are in the tables of both_orders."
    )


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
    """A sentence for every dataset on which a judge's DDS says little, and one for what its engine lost."""
    rows = records(group[group.is_dataset])
    n_errors = sum(row.n_errors for row in rows)
    lost = f"the engine failed on {n_errors:,} replies; their items are left out of all conditions."
    return [*filter(None, map(doubt, rows)), *([lost] if n_errors else [])]


def doubt_summary(group: pd.DataFrame) -> str:
    """The same in one sentence, for a judge that has many."""
    rows = records(group[group.is_dataset])
    unreadable = [row.dataset for row in rows if row.unparsed_rate >= MANY_UNREADABLE]
    saturated = [row.dataset for row in rows if row.saturated and row.dataset not in unreadable]
    parts = [
        f"{words} on {len(names)} of {len(rows)} datasets ({', '.join(names)})"
        for words, names in (("many replies cannot be read", unreadable), ("this judge is saturated", saturated))
        if names
    ]
    n_errors = sum(row.n_errors for row in rows)
    parts += [f"the engine failed on {n_errors:,} replies, whose items are left out"] if n_errors else []
    ties = [row.dataset for row in rows if row.n_ties >= MANY_UNREADABLE * row.n_replies]
    parts += [f"many margins are exactly 0 on {', '.join(ties)}"] if ties else []
    return f"{'; '.join(parts)}. A judge with one answer for nearly everything can have a DDS near 0 for that reason."


def few_doubts(label: str, group: pd.DataFrame) -> list[str]:
    """The doubts about a judge, or one for all where there are several."""
    sentences = doubts(group)
    start = f"{label}: " if label else ""
    return [start + words for words in (sentences if len(sentences) < 3 else [doubt_summary(group)])]


def over_words(row: Any) -> str:
    """Over what a row's numbers are."""
    if len(row.datasets) == 1:
        return f"{row.n_items:,} {row.datasets[0]} items"
    return f"{len(row.datasets)} datasets ({row.n_items:,} items)"


def direction(row: Row, both: Row | None = None) -> str:
    """Which way a judge bends, as far as its interval says so: a key of DIRECTION_WORDS.

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


def setting_words(row: Any, *, with_c1: bool = False) -> str:
    """Arm, variant and roles of a row, as far as they are not the usual ones; with_c1: and "fixed C1" if it is that."""
    # r/AIO's opposite direction asks for no other datasets, so its roles are all that tells it apart.
    is_usual = row.roles == MAIN_ROLES
    words = [arm_words(row.arm)] if row.arm != "none" or not (row.variant or not is_usual) else []
    words += [row.variant] if row.variant else []
    words += [] if is_usual else [f"roles {row.roles}"]
    return ", ".join([*words, *(["fixed C1"] if with_c1 and row.c1_source == FIXED else [])])


def run_sentence(label: str, row: Row, frame: pd.DataFrame) -> str:
    """How one judge did; frame: the rows of all prompt variants."""
    arm = "" if row.arm == "none" else f" under {arm_words(row.arm)}"
    words = (
        f"{label}{arm}: over {over_words(row)} it is right on {number(row.acc_c1)}% of statements and "
        f"{number(row.acc_c2)}% of speakers' turns; DDS {' pp '.join(with_ends(row, 'dds'))}. "
        f"{order_sentence(row, frame)} In words, {DIRECTION_WORDS[direction(row, in_both_orders(row, frame))]}."
    )
    if row.dds_ci_low_pp is not None and row.dds_ci_high_pp is not None:
        smallest = DETECTABLE * (row.dds_ci_high_pp - row.dds_ci_low_pp)
        words += f" With these items a shift of {smallest:.1f} pp would be found in 80% of cases."
    if direction(row) == "saturated" and row.soft_dds_pp is not None:
        soft = " pp ".join(with_ends(row, "soft_dds"))
        words += f" Its margins tell more: soft DDS, from probabilities of acceptance, is {soft}."
    return words


def judges_sentence(rows: Mapping[str, Row], frame: pd.DataFrame) -> str:
    """How several judges did, each with the row that its headline is about; frame: all rows of all judges."""
    directions = [direction(row, in_both_orders(row, frame)) for row in rows.values()]
    counts = {
        "deferring": directions.count("deferring"),
        "skeptical": directions.count("skeptical"),
        "no clear shift": directions.count("unclear"),
        "unknown (unreadable replies, or one answer for nearly everything)": sum(
            directions.count(word) for word in ("unknown", "unreadable", "saturated")
        ),
    }
    parts = [f"{words} {n}" for words, n in counts.items() if n]
    known = sorted((row.dds_pp, judge) for judge, row in rows.items() if row.dds_pp is not None)
    ends = ""
    if known:
        (low, lowest), (high, highest) = known[0], known[-1]
        ends = f" DDS goes from {signed(low)} pp ({lowest}) to {signed(high)} pp ({highest})."
    return f"Of {len(rows)} judges: {', '.join(parts)}.{ends}"


def arm_sentence(arm: str, by_source: Mapping[str, Row]) -> str:
    """How a judge did under an arm, with each source of C1 that there is."""
    rows = [by_source[source] for source in (OWN, FIXED) if source in by_source]
    scores = [f"{' pp '.join(with_ends(row, 'dds'))} with {row.c1_source} C1" for row in rows]
    return f"Under {arm_words(arm)}: right on {number(rows[0].acc_c2)}% of speakers' turns; DDS {' and '.join(scores)}."


def headline(frame: pd.DataFrame, changes: Mapping[str, Sequence[Change]], most: int) -> list[str]:
    """The findings in plain sentences. most: judges that have a sentence each; more are only counted."""
    mains = {row.judge: row for row in records(headline_rows(frame[frame.is_headline]))}
    if changes:
        base, row = next(iter(mains.items()))
        return [run_sentence(base, row, frame), *(change_sentence(label, of) for label, of in changes.items())]
    sentences = [judges_sentence(mains, frame)] if len(mains) > 1 else []
    if len(mains) <= most:
        sentences += [run_sentence(judge, row, frame) for judge, row in mains.items()]
    if len(mains) == 1:
        (main,) = mains.values()
        arms: dict[str, dict[str, Row]] = {}
        alike = frame[(frame.arm != main.arm) & (frame.roles == main.roles) & (frame.variant == main.variant)]
        for row in records(headline_rows(alike, KEYS)):
            arms.setdefault(row.arm, {})[row.c1_source] = row
        sentences += [arm_sentence(arm, by_source) for arm, by_source in arms.items()]
    return sentences


def change_groups(changes: Sequence[Change]) -> dict[tuple[str, str, str, str], list[ChangeRow]]:
    """(arm, roles, variant, source of C1) → the changes of each dataset and average, the first group first."""
    rows: dict[tuple[str, str, str, str], dict[str, dict[str, Change]]] = {}
    for change in changes:
        arm, roles, variant, c1 = (str(change.setting[key]) for key in KEYS[1:])
        rows.setdefault((arm, roles, variant, c1), {}).setdefault(change.dataset, {})[change.measure] = change
    return {key: list(by_dataset.values()) for key, by_dataset in rows.items()}


def shown_changes(rows: Sequence[ChangeRow]) -> list[ChangeRow]:
    """Rows without averages over a single dataset."""
    return [row for row in rows if len(row["dds"].datasets) > 1 or row["dds"].datasets == (row["dds"].dataset,)]


def main_change(rows: Sequence[ChangeRow]) -> ChangeRow:
    """The row that a headline speaks of: Total Avg, else Bench Avg, else another average, else the only dataset."""
    by_name = {row["dds"].dataset: row for row in rows}
    averages = [row for row in rows if row["dds"].datasets != (row["dds"].dataset,)]
    return by_name.get(TOTAL_AVG) or by_name.get(BENCH_AVG) or (averages or list(rows))[0]


def change_sentence(label: str, changes: Sequence[Change]) -> str:
    """How an after model differs from the base, in the first arm and prompt variant that both have."""
    groups = change_groups(changes)
    first = next(iter(groups))[:3]
    own, fixed = (groups.get((*first, source)) for source in (OWN, FIXED))
    fixed_row = main_change(fixed or next(iter(groups.values())))
    own_row = main_change(own) if own else None
    with_orders = [r for key, rows in groups.items() if key[0] == first[0] and key[3] == OWN for r in rows]
    with_orders = [row for row in with_orders if "deference" in row]
    acc = fixed_row["acc_c2"]
    parts = [
        f"{label}: accuracy on speakers' turns went from {number(acc.before.value)}% to {number(acc.after.value)}% "
        f"({change_words(acc, ' pp')})."
    ]
    if own_row is not None:
        dds = own_row["dds"]
        parts.append(f"DDS went from {from_to(dds)} pp with own C1 ({change_words(dds, ' pp')}),")
    start = "and" if own_row else "DDS went"
    parts.append(f"{start} from {from_to(fixed_row['dds'])} pp with fixed C1.")
    if with_orders:
        d, p = (main_change(with_orders)[name] for name in ("deference", "position"))
        parts.append(f"Over both answer orders deference d went from {from_to(d)} pp ({change_words(d)}),")
        parts.append(f"position p from {from_to(p)} pp ({change_words(p)}).")
    ours = None if own_row is None else own_row["dds"].after.value
    theirs = fixed_row["dds"].after.value
    if ours is not None and theirs is not None and abs(ours - theirs) >= TELLING_GAP_PP:
        parts.append(
            f"The two differ by {abs(ours - theirs):.1f} pp. Own C1 is recommended: fixed C1 holds the new model's "
            "dialogues against the old model's statements."
        )
    return " ".join(parts)


def from_to(change: Change) -> str:
    """The values before and after."""
    return f"{signed(change.before.value)} to {signed(change.after.value)}"


def change_tables(changes: Sequence[Change]) -> str:
    """A captioned table for each arm, C1 source and prompt variant of one comparison."""
    texts = []
    for (arm, roles, variant, c1_source), rows in change_groups(changes).items():
        of = rows[0]["dds"]
        reading = "margins" if of.setting["verdict"] == "margin" else f"reasoned replies, {of.setting['parser']} parser"
        averages = [row["dds"] for row in shown_changes(rows) if len(row["dds"].datasets) > 1]
        further = further_lines(rows)
        lines = [
            of.first,
            f"→ {of.second}; {arm_words(arm)}, roles {roles}{f', prompt variant {variant}' if variant else ''}",
            CHANGE_C1_WORDS[c1_source] + ".",
            f"Verdicts from {reading}; denominator {of.setting['denominator']}.",
            "Accuracies and claims accepted (yes) in %, DDS and changes in percentage points; intervals pair the items "
            f"({of.n_draws:,} draws); p is adjusted over the runs after the base (Holm).",
            "",
            *aligned(change_lines(rows)),
            *(average_sentence(dds.dataset, dds.datasets) for dds in averages),
            *(["", *aligned(further)] if further else []),
            *([OVER_CORRECTED] if any(over_corrected(row["dds"]) for row in shown_changes(rows)) else []),
        ]
        texts.append("\n".join(lines))
    has_orders = any(change.measure == "deference" for change in changes)
    return "\n\n".join([*texts, *([] if has_orders else [ONE_ORDER])])


def change_lines(rows: Sequence[ChangeRow]) -> list[list[str]]:
    """CHANGE_HEADER and a line for each dataset and average."""
    lines = [CHANGE_HEADER]
    for row in shown_changes(rows):
        dds, c2 = row["dds"], row["acc_c2"]
        sides = {name: (row[name].before.value, row[name].after.value) for name in row}
        accepted = [number(value, 0) for name in ("accept_c1", "accept_c2") for value in sides[name]]
        accuracies = [number(value) for name in ("acc_c1", "acc_c2") for value in sides[name]]
        levels = [signed(dds.before.value), signed(dds.after.value) + "†" * over_corrected(dds)]
        ends = interval(dds.after.low, dds.after.high)
        line = [dds.dataset, str(dds.change.n_units), *accepted, *accuracies, *change_cells(c2)[:3], *levels, ends]
        lines.append([*line, *change_cells(dds)[:3]])
    return lines


def further_lines(rows: Sequence[ChangeRow]) -> list[list[str]]:
    """A header and a line a dataset: before, after and change of the measures in FURTHER that all rows have."""
    there = [name for name in FURTHER if all(name in row for row in rows)]
    lines = [["dataset", *(cell for name in there for cell in (FURTHER[name][0], "after", "change", *CHANGE))]]
    for row in shown_changes(rows) if there else ():
        line = [row["dds"].dataset]
        for name in there:
            change, digits = row[name], FURTHER[name][1]
            line += [signed(change.before.value, digits), signed(change.after.value, digits)]
            line += change_cells(change, digits)
        lines.append(line)
    return lines if there else []
