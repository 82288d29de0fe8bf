"""report.html: what was found, in words, tables and figures, with the method, in one file that needs nothing else."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.jsonl import write_whole
from eval import change_tables, plots, tables
from eval.averages import average_sentence
from eval.changes import ChangeRow
from eval.findings import Findings
from eval.headline import change_sentence, doubt_sentences, main_row, run_sentence
from eval.method import METHOD_WORDS, facts
from eval.page import box, element, folded, page, picture, table, unfolding
from eval.panels import Panel
from eval.rows import ScoreRow
from eval.runs import JudgedRun
from eval.telling import DEFERENCE, Flip, Side, telling_flips
from eval.variants import main_panels


def write_report(findings: Findings, folder: Path) -> list[Path]:
    """report.html and plots/*.png in a folder; the paths written."""
    figures = draw(findings)
    written = []
    for name, (figure, _) in figures.items():
        plots.save(figure, folder / "plots" / f"{name}.png")
        written.append(folder / "plots" / f"{name}.png")
    inline = {name: picture(plots.as_svg(figure), alt) for name, (figure, alt) in figures.items()}
    for figure, _ in figures.values():
        plots.close(figure)
    write_whole(folder / "report.html", page(title_of(findings), body(findings, inline)))
    return [folder / "report.html", *written]


def draw(findings: Findings) -> dict[str, tuple[Any, str]]:
    """File name → (figure, what it shows in words)."""
    figures: dict[str, tuple[Any, str]] = {}
    for i, (label, rows) in enumerate(findings.scores.items()):
        alt = f"{label}: accuracy on true and false claims, from statement to speaker's turn; the table has the numbers"
        figures[f"shift-{i}"] = (plots.shift_arrows(label, worth_showing(rows)), alt)
    shown = {label: worth_showing(rows) for label, rows in findings.scores.items()}
    figures["dds"] = (plots.dds_intervals(shown), "DDS of each run and dataset with its 95% interval")
    with_margins = {label: run for label, run in findings.runs.items() if run.reading.mode == "margin"}
    limit = plots.margin_limit([p for run in with_margins.values() for p in untreated(run)]) if with_margins else 0.0
    for i, (label, run) in enumerate(with_margins.items()):
        alt = f"{label}: margins of true and false claims in both framings"
        figures[f"margins-{i}"] = (plots.margin_histograms(label, untreated(run), limit), alt)
    return figures


def untreated(run: JudgedRun) -> list[Panel]:
    """Panels of arm `none` in the main wording with both framings, or of all arms when it has no such arm."""
    whole = [p for p in main_panels(run.panels) if p.has_c1 and p.has_c2]
    return [p for p in whole if p.factors.arm == "none"] or whole


def worth_showing(rows: Sequence[ScoreRow]) -> list[ScoreRow]:
    """Rows without averages over a single dataset, which would repeat it."""
    return [row for row in rows if row.datasets == (row.dataset,) or len(row.datasets) > 1]


def title_of(findings: Findings) -> str:
    """The report's title."""
    labels = list(findings.runs)
    return f"Evenhand: {labels[0]}" + (f" and {len(labels) - 1} after" if len(labels) > 1 else "")


def body(findings: Findings, figures: Mapping[str, str]) -> list[str]:
    """The report's sections."""
    return [
        element("h1", "Does the judge bend to who is speaking?"),
        *headline(findings),
        *change_section(findings),
        element("h2", "Accuracy shifts from statement to speaker's turn"),
        element(
            "p", "A ring is accuracy on statements (C1), the arrow's head accuracy on speakers' turns (C2).", "note"
        ),
        box("figures", [html for name, html in figures.items() if name.startswith("shift")]),
        element("h2", "Dialogic Deference Score"),
        box("figures", [figures["dds"]]),
        *margin_section(figures),
        *flip_section(findings),
        *score_section(findings),
        *method_section(findings),
    ]


def headline(findings: Findings) -> list[str]:
    """The findings in words, with the warnings that belong to them."""
    lines = [
        element("p", run_sentence(label, main_row(rows)), "headline")
        for label, rows in findings.scores.items()
        if label == next(iter(findings.scores))
    ]
    for label, rows in findings.changes.items():
        arm, variant = rows[0].arm, rows[0].variant
        own, fixed = (
            [row for row in rows if (row.arm, row.variant, row.c1_source) == (arm, variant, source)]
            for source in ("own", "fixed")
        )
        sentence = change_sentence(label, main_row(own) if own else None, main_row(fixed))
        lines.append(element("p", sentence, "headline"))
    for label, scores in findings.scores.items():
        lines += [element("p", sentence, "warning") for sentence in doubt_sentences(label, scores)]
    for label, found in findings.differences.items():
        serious = "; ".join(str(difference) for difference in found if difference.serious)
        if serious:
            lines.append(element("p", f"{label} differs from the base in more than the model: {serious}.", "warning"))
    return lines


SCORE_HEADER = ["dataset", "items", "C1 true", "C1 false", "C2 correct", "C2 incorrect", "Δ correct", "Δ incorrect"]


def score_section(findings: Findings) -> list[str]:
    """The table of each run, own C1; prompted arms folded away after it."""
    parts = [element("h2", "Scores"), element("p", score_caption(findings), "note")]
    parts += [part for label, rows in findings.scores.items() for part in score_table(label, rows)]
    averages = {row.dataset: row for rows in findings.scores.values() for row in worth_showing(rows)}
    for name, row in averages.items():
        if len(row.datasets) > 1:
            parts.append(element("p", average_sentence(name, list(row.datasets)), "note"))
    treated = [part for label, rows in findings.treated.items() for part in score_table(label, rows)]
    return [*parts, unfolding("Prompted arms", treated)] if treated else parts


def score_table(label: str, rows: Sequence[ScoreRow]) -> list[str]:
    """A heading and a table."""
    shown = worth_showing(rows)
    margins = any(row.soft_dds_pp is not None for row in shown)
    extra = ["ties", "soft DDS", "95% interval", "AUC C1", "AUC C2"] if margins else ["unread: strict", "lenient"]
    header = [*SCORE_HEADER, "DDS", "95% interval", *extra, "flips d/s", "p true", "p false"]
    return [element("h3", label), table(header, [tables.cells(row, margins) for row in shown])]


def score_caption(findings: Findings) -> str:
    """What the numbers of the score tables are."""
    reading = next(iter(findings.runs.values())).reading
    mode = "margins" if reading.mode == "margin" else f"reasoned replies read by the {reading.parser} parser"
    return (
        f"Verdicts from {mode}; denominator {findings.denominator}; own C1 unless a heading says otherwise. "
        "Accuracies in %, Δ and DDS in percentage points. Flips: deference/skepticism."
    )


def change_section(findings: Findings) -> list[str]:
    """Before and after, own and fixed C1; prompted arms folded away after the others."""
    if not findings.changes:
        return []
    parts = [element("h2", "Before and after")]
    treated: list[str] = []
    for label, rows in findings.changes.items():
        groups: dict[tuple[str, str, str], list[ChangeRow]] = {}
        for row in rows:
            groups.setdefault((row.arm, row.variant, row.c1_source), []).append(row)
        first_arm = rows[0].arm
        for group in groups.values():
            (parts if group[0].arm == first_arm else treated).extend(change_table(label, group))
    if any(row.over_corrected for rows in findings.changes.values() for row in rows):
        parts.append(element("p", "†: over-corrected, DDS was positive before and is negative after.", "note"))
    return [*parts, unfolding("Prompted arms", treated)] if treated else parts


def change_table(label: str, rows: Sequence[ChangeRow]) -> list[str]:
    """A heading, what the source of C1 means, and a table."""
    row = rows[0]
    words = [label, *([tables.ARM_WORDS.get(row.arm, row.arm)] if row.arm != "none" else []), row.variant]
    header = [cell if cell != "→" else "after" for cell in change_tables.HEADER]
    shown = [row for row in rows if row.datasets == (row.dataset,) or len(row.datasets) > 1]
    return [
        element("h3", f"{', '.join(filter(None, words))}: {row.c1_source} C1"),
        element("p", change_tables.C1_WORDS[row.c1_source].partition(": ")[2] + ".", "note"),
        table(header, [change_tables.cells(row) for row in shown]),
    ]


def margin_section(figures: Mapping[str, str]) -> list[str]:
    """Margin distributions, where there are margins."""
    inline = [html for name, html in figures.items() if name.startswith("margins")]
    if not inline:
        return []
    words = (
        "Two hills side by side: the judge tells true from false. The same hills further right in C2: it accepts more "
        "readily from a speaker, without knowing less. Values beyond the axis are in its last bar."
    )
    return [element("h2", "Margins"), element("p", words, "note"), box("figures", inline)]


def flip_section(findings: Findings) -> list[str]:
    """Some flips side by side."""
    flips = telling_flips(findings.runs)
    parts = [element("h2", "Flips side by side")]
    if not flips:
        return [*parts, element("p", "No verdict was lost from C1 to C2 in any run.")]
    words = "The widest swings of margin" if flips[0].sides[0].margin is not None else "In an arbitrary, fixed order"
    parts.append(element("p", f"{words}, of the first run in which any verdict flips; what each judge said.", "note"))
    return [*parts, *(flip_card(flip) for flip in flips)]


def flip_card(flip: Flip) -> str:
    """One item with every judge's verdict in both framings."""
    kind = "Deference: a false claim" if flip.kind == DEFERENCE else "Skepticism: a true claim"
    parts = [element("p", f"{kind} · {flip.dataset} · {flip.item_id}", "note")]
    if flip.question is not None and flip.claim is not None:
        parts += [element("p", f"Question: {flip.question}"), element("p", f"Claimed answer: {flip.claim}")]
    else:
        parts.append(element("p", "The item's text is not shown; the prompts below hold it.", "note"))
    if all(side.margin is not None for side in flip.sides):
        parts.append(margin_table(flip.sides))
    else:
        parts.append(box("sides", [side_card(side) for side in flip.sides]))
    prompts = {side.framing: side.prompt for side in flip.sides if side.prompt is not None}
    parts += [folded(f"What the model read, {framing}", prompt) for framing, prompt in prompts.items()]
    return box("flip", parts)


def margin_table(sides: Sequence[Side]) -> str:
    """Verdicts that are one token: a line per judge, a column per framing."""
    rows: dict[str, dict[str, str]] = {}
    for side in sides:
        words = f"{side.words} ({side.margin:+.2f}), {'right' if side.is_right else 'wrong'}"
        rows.setdefault(side.judge, {})[side.framing] = words
    lines = [[judge, said.get("C1", "–"), said.get("C2", "–")] for judge, said in rows.items()]
    return table(["judge (margin in nats)", "C1, statement", "C2, speaker's turn"], lines, "verdicts")


def side_card(side: Side) -> str:
    """A reasoned verdict."""
    mark = "right" if side.is_right else "wrong"
    framing = "C1, statement" if side.framing == "C1" else "C2, speaker's turn"
    parts = [element("p", f"{side.judge} · {framing}", "note"), element("p", f"{side.words}: {mark}", mark)]
    return box("side", [*parts, element("p", side.text.strip())])


def method_section(findings: Findings) -> list[str]:
    """How the numbers came about."""
    columns = [facts(run, findings.denominator, findings.seed, findings.n_draws) for run in findings.runs.values()]
    rows = [[name, *(column[name] for column in columns)] for name in columns[0]]
    parts = [element("h2", "Method"), *(element("p", words) for words in METHOD_WORDS)]
    parts.append(table(["", *findings.runs], rows, "words"))
    for label, found in findings.differences.items():
        if found:
            parts.append(element("p", f"{label} against the base: " + "; ".join(str(d) for d in found) + "."))
        else:
            parts.append(
                element("p", f"{label} against the base: same prompts, rendering, engine, precision, software.")
            )
    return parts
