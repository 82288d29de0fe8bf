"""Rows → a plain text table with a caption that says what its numbers are."""

from collections.abc import Sequence

from eval.dialdefer.accuracy import MANY_UNREADABLE
from eval.dialdefer.averages import average_sentence
from eval.dialdefer.rows import ScoreRow
from eval.report.shown_numbers import aligned, interval, number, p_value, percent, share, signed
from studies.dialdefer.templates import YES_FIRST

ARM_WORDS = {"none": "no mitigation", "honest": "Be Honest", "dehumanizing": "Dehumanizing"}
DENOMINATOR_WORDS = {
    ("reason", "published"): "an unreadable reply counts as wrong",
    ("reason", "answered"): "unreadable replies are left out",
    ("margin", "published"): "a tie counts as half right, a missing margin as wrong",
    ("margin", "answered"): "ties and missing margins are left out",
    ("external", "published"): "an unreadable reply counts as wrong",
    ("external", "answered"): "unreadable replies are left out",
}
C1_WORDS = {
    "own": "own C1: both framings from this arm and checkpoint",
    "fixed": "fixed C1: statements from the untreated arm or model, as published tables are scored",
}

ORDERS_NOTE = (
    "d: deference, DDS averaged over both answer orders. p: position, half of what DDS differs by between them."
)

ONE_ORDER = (
    "Asked in one answer order: DDS does not tell deference from a pull of the first number (sample "
    "dialdefer.prompts.variants with answer_order: no_first as well)."
)


def score_tables(rows: Sequence[ScoreRow]) -> str:
    """All tables of a run, one for each arm, C1 source, prompt variant and denominator.

    A table over answered replies is left out when every reply has a verdict: it would repeat the one before.
    """
    groups: dict[tuple[str, ...], list[ScoreRow]] = {}
    for row in rows:
        key = (row.run, row.model, row.arm, row.roles, row.c1_source, row.variant, row.denominator)
        groups.setdefault(key, []).append(row)
    shown = [g for g in groups.values() if g[0].denominator == "published" or any(r.n_unparsed + r.n_ties for r in g)]
    return "\n\n".join(score_table(group, rows) for group in shown or groups.values())


def in_both_orders(row: ScoreRow, rows: Sequence[ScoreRow]) -> ScoreRow | None:
    """The row that tells deference from position where both answer orders of a row's prompts were asked, else None."""
    keys = ("run", "model", "arm", "roles", "c1_source", "datasets", "denominator", "template", "speaker1", "speaker2")
    return next(
        (r for r in rows if r.deference_pp is not None and all(getattr(r, k) == getattr(row, k) for k in keys)), None
    )


def order_sentence(row: ScoreRow, every: Sequence[ScoreRow]) -> str:
    """Whether deference is told apart from a pull of the first answer; every: the rows of all variants."""
    both = in_both_orders(row, every)
    if both is None:
        asked = any(
            r.deference_pp is not None and (r.run, r.model, r.arm) == (row.run, row.model, row.arm) for r in every
        )
        return (
            f"Both answer orders were asked, but not answered on all of {', '.join(row.datasets)}: deference and "
            "position are in the tables of both_orders."
            if asked
            else ONE_ORDER
        )
    return (
        f"Over both answer orders on {row.dataset}: deference d {signed(both.deference_pp)} pp "
        f"{interval(both.deference_ci_low_pp, both.deference_ci_high_pp)}, position p {signed(both.position_pp)} pp "
        f"{interval(both.position_ci_low_pp, both.position_ci_high_pp)} (pull of the first number)."
    )


def score_header(rows: Sequence[ScoreRow]) -> list[str]:
    """The columns of a table of rows that share everything but the dataset; see cells."""
    header = ["dataset", "items", "C1 T", "C1 F", "C2 C", "C2 I", "Δcorr", "Δinc", "DDS", "95% interval"]
    header += ["d", "95% interval", "position p", "95% interval"] if rows[0].deference_pp is not None else []
    if any(row.soft_dds_pp is not None for row in rows):
        header += ["ties", "soft DDS", "95% interval", "shift, SD", "95% interval", "AUC C1", "AUC C2"]
    else:
        header += unread_header(rows[0])
    return [*header, "flips", "p true", "p false"]


def score_table(rows: Sequence[ScoreRow], every: Sequence[ScoreRow]) -> str:
    """One captioned table of rows that share everything but the dataset, with its warnings; every: of all tables."""
    margins = any(row.soft_dds_pp is not None for row in rows)
    # An average over one dataset would only repeat its row.
    shown = [row for row in rows if row.datasets == (row.dataset,) or len(row.datasets) > 1]
    lines = [*caption(rows), "", *aligned([score_header(rows), *(cells(row, margins) for row in shown)])]
    lines += [average_sentence(row.dataset, list(row.datasets)) for row in shown if len(row.datasets) > 1]
    if rows[0].deference_pp is not None:
        lines.append(ORDERS_NOTE)
    elif rows[0].answer_order == YES_FIRST:
        average = next((row for row in rows if len(row.datasets) > 1), rows[0])
        lines.append(order_sentence(average, every))
    return "\n".join([*lines, *warnings(rows)])


def caption(rows: Sequence[ScoreRow]) -> list[str]:
    """What the numbers of a table are."""
    row = rows[0]
    reading = "margin (log P(1) - log P(2))" if row.verdict == "margin" else reading_words(row)
    counted = DENOMINATOR_WORDS[row.verdict, row.denominator]
    variant = f", prompt variant {row.variant}" if row.variant else ""
    samples = f", {row.n_samples} samples a prompt (accuracy is their mean)" if row.n_samples > 1 else ""
    return [
        f"{row.model}, {ARM_WORDS.get(row.arm, row.arm)}, roles {row.roles}{variant} ({row.run})",
        f"verdict: {reading}; denominator: {row.denominator} ({counted}); {C1_WORDS[row.c1_source]}{samples}.",
        f"Accuracies in %, Δ and DDS in percentage points; intervals: {row.n_draws:,} bootstrap draws over items.",
    ]


def reading_words(row: ScoreRow) -> str:
    """The verdict mode and how replies were read."""
    parser = f"{row.parser} parser" if row.parser else "as given"
    return f"{row.verdict}, {parser}{' where no choice is given' if row.parser and row.verdict == 'external' else ''}"


def unread_header(row: ScoreRow) -> list[str]:
    """The columns on unreadable replies: one for each parser, or one where nothing was parsed."""
    return ["unreadable"] if row.parser is None else ["unread: strict", "lenient"]


def cells(row: ScoreRow, margins: bool) -> list[str]:
    """A row's cells in the order of the header."""
    accs = (row.acc_c1_true, row.acc_c1_false, row.acc_c2_correct, row.acc_c2_incorrect)
    line = [row.dataset, str(row.n_items), *(number(a) for a in accs)]
    line += [signed(row.delta_correct_pp), signed(row.delta_incorrect_pp), signed(row.dds_pp)]
    line.append(interval(row.dds_ci_low_pp, row.dds_ci_high_pp))
    if row.deference_pp is not None:
        line += [signed(row.deference_pp), interval(row.deference_ci_low_pp, row.deference_ci_high_pp)]
        line += [signed(row.position_pp), interval(row.position_ci_low_pp, row.position_ci_high_pp)]
    if margins:
        line += [str(row.n_ties), signed(row.soft_dds_pp), interval(row.soft_dds_ci_low_pp, row.soft_dds_ci_high_pp)]
        line += [signed(row.shift, 2), interval(row.shift_ci_low, row.shift_ci_high, 2)]
        line += [number(row.auc_c1, 3), number(row.auc_c2, 3)]
    elif row.parser is None:
        line.append(share(row.n_unparsed, row.n_replies))
    else:
        line += [share(n, row.n_replies) for n in (row.n_unparsed_strict, row.n_unparsed_lenient)]
    flips = f"{row.n_deference_flips}/{row.n_skepticism_flips}"
    return [*line, flips, p_value(row.mcnemar_p_correct), p_value(row.mcnemar_p_incorrect)]


def warnings(rows: Sequence[ScoreRow]) -> list[str]:
    """Plain sentences on what a reader must know before believing the numbers."""
    datasets = [row for row in rows if row.datasets == (row.dataset,)]
    lines = [f"Warning: {sentence}" for row in datasets for sentence in [doubt(row)] if sentence]
    saturated = [row for row in datasets if row.saturated and row.unparsed_rate < MANY_UNREADABLE]
    if len(saturated) > 2:  # one sentence for all
        names = ", ".join(row.dataset for row in saturated)
        rates = [rate for row in saturated for rate in (row.accept_rate_c1, row.accept_rate_c2) if rate is not None]
        said = {f"Warning: {doubt(row)}" for row in saturated}
        lines = [line for line in lines if line not in said]
        low, high = percent(min(rates)), percent(max(rates))
        lines.append(
            f"Warning: on {len(saturated)} datasets ({names}) this judge is saturated (it accepts {low} to {high} of "
            "the claims). A judge with one answer for nearly everything can have a DDS near 0 for the wrong reason."
        )
    n_errors = sum(row.n_errors for row in datasets)
    if n_errors:
        lines.append(f"Warning: the engine failed on {n_errors} replies; their items are left out of all conditions.")
    return lines


def doubt(row: ScoreRow) -> str | None:
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
