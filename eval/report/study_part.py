"""One study's part of the report page, from its results."""

from collections.abc import Mapping, Sequence

from eval.report.page import PARTS, element, pictures, unfolding
from eval.report.report_part import Section, StudyPart
from eval.report.run_facts import how_run, revision_of
from eval.report.tables import TableSpec, page_lines, with_rows
from eval.results import MOST_SENTENCES, Results

MOST_WARNINGS = 3  # that are shown whole
MOST_OPEN = 4  # tables of one title's kind that stand open


def study_part(results: Results, *, is_alone: bool) -> StudyPart:
    """Opening sentences and warnings, one section with tables and figures, the rest folded, the method."""
    evaluation, plots = results.evaluation, results.evaluation.plots(results)
    levels, moves = (results.sentences.get(part, []) for part in ("scores", "changes"))
    opening = moves + levels if is_alone else (moves or levels)[:MOST_SENTENCES]
    shown = [table for table in results.tables if table.place != "files"]

    def sections(inline: Mapping[str, str]) -> list[Section]:
        parts = [element("p", line) for line in ([] if is_alone else [*moves, *levels])]
        parts += [element("p", line, "note") for line in results.sentences.get("reading", [])]
        ordered = sorted(shown, key=lambda table: not table.is_change)
        parts += [part for table in ordered[:1] for part in (element("h3", table.title), table_html(table))]
        parts += pictures([plot.name for plot in plots], inline)
        parts += [part for table in ordered[1:] for part in (element("h3", table.title), table_html(table))]
        return [(results.study, evaluation.heading, [*parts, *evaluation.extra_html(results)])]

    return StudyPart(
        judges=list(results.judges),
        is_before_after=results.is_before_after,
        opening=[*(element("p", line, "headline") for line in opening), *warning_boxes(results.warnings)],
        plots=plots,
        sections=sections,
        tables=results.tables,
        folded=[table for table in results.tables if table.place == "files"],
        left_out=evaluation.left_out(results),
        method=method(results),
    )


def warning_boxes(warnings: Sequence[str]) -> list[str]:
    """Each warning in a box; those beyond the first few behind a line that opens them."""
    shown = [element("p", line, "warning") for line in warnings[:MOST_WARNINGS]]
    rest = [element("p", line, "warning") for line in warnings[MOST_WARNINGS:]]
    return [*shown, *([unfolding(f"{len(rest)} more warnings", rest)] if rest else [])]


def table_html(table: TableSpec) -> str:
    """A table with its note and the names of its files."""
    lines = page_lines(table)
    note = " ".join(filter(None, [lines["note"], f"Files: tables/{table.name}.md, .csv, .tex"]))
    return str(PARTS.data_table(table.title, lines["heads"], lines["groups"], len(table.columns), note))


def method(results: Results) -> list[str]:
    """How the numbers came about: definitions, the facts of each run, and in what runs differ from the base."""
    parts = [element("p", line) for line in results.sentences.get("method", [])]
    facts = {name: run_facts(judge) for name, judge in results.judges.items() if hasattr(judge, "config")}
    if facts:
        rows = [[key, *(of[key] for of in facts.values())] for key in next(iter(facts.values()))]
        table = with_rows("facts", "Facts of each judge", dict.fromkeys(["", *facts], ""), rows)
        lines = page_lines(table)
        parts.append(str(PARTS.table(list(table.columns), table.cells, "words", lines["title"])))
    for name, differences in results.differences.items():
        said = "; ".join(map(str, differences)) or "nothing differs that should be alike"
        if differences or results.is_before_after:
            parts.append(element("p", f"{name} against {results.base}: {said}."))
    return parts


def run_facts(run: object) -> dict[str, str]:
    """Name → value of everything that a reader needs to repeat a run."""
    config, provenance = run.config, run.provenance  # type: ignore[attr-defined]
    return {
        "run": run.name,  # type: ignore[attr-defined]
        "model": str(config["model"].get("name")),
        "revision": str(config["model"].get("revision") or revision_of(provenance) or "not recorded"),
        "verdict": str(config.get("verdict", "not recorded")),
        "prompt format": str(config.get("format", "not recorded")),
        **how_run(config, provenance),
    }
