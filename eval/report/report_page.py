"""report.html: what was found, in words, tables and figures, with the method, in one file that needs nothing else."""

from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from eval.report.page import TEMPLATES, picture
from eval.report.plots import finish
from eval.report.report_part import StudyPart
from eval.report.study_part import study_part
from eval.report.table import write_tables
from eval.report.table_html import table_section
from eval.report.tables import TableSpec
from eval.report.tables import write_tables as write_specs
from eval.results import Results
from evenhand.jsonl import write_whole


def write_report(every: Sequence[Any], folder: Path) -> list[Path]:
    """report.html, plots/*.png and *.svg, tables/*.md, *.csv and *.tex in a folder; the paths written."""
    parts = [
        study_part(results, is_alone=i == 0) if isinstance(results, Results) else results.part(is_alone=i == 0)
        for i, results in enumerate(every)
    ]
    written, inline = list[Path](), dict[str, str]()
    for plot in chain.from_iterable(part.plots for part in parts):
        svg, files = finish(plot, folder / "plots")
        inline[plot.name] = picture(svg, plot.alt)
        written += files
    folded, left_out, tables = (
        list(chain.from_iterable(of)) for of in zip(*((p.folded, p.left_out, p.tables) for p in parts), strict=True)
    )
    sections = [
        *chain.from_iterable(part.sections(inline) for part in parts),
        ("tables", "All tables", table_section(folded, left_out)),
        ("method", "Method", list(chain.from_iterable(part.method for part in parts))),
    ]
    page = TEMPLATES.get_template("page.html").render(
        title=title_of(parts[0]),
        style="".join(part.style for part in parts),
        opening=chain.from_iterable(part.opening for part in parts),
        sections=[section for section in sections if section[2]],
    )
    write_whole(folder / "report.html", page)
    old = [table for table in tables if not isinstance(table, TableSpec)]
    specs = [table for table in tables if isinstance(table, TableSpec)]
    return [
        folder / "report.html",
        *written,
        *write_tables(folder / "tables", old),
        *write_specs(folder / "tables", specs),
    ]


def title_of(part: StudyPart) -> str:
    """The report's title, from its first study."""
    first, *others = part.judges
    more = f" and {len(others)} {'after' if part.is_before_after else 'more'}" if others else ""
    return f"Evenhand: {first}{more}"
