"""report.html: what was found, in words, tables and figures, with the method, in one file that needs nothing else."""

from collections.abc import Sequence
from itertools import chain
from pathlib import Path

from eval.report.page import contents, element, page, picture, section
from eval.report.plots import finish
from eval.report.report_part import StudyPart
from eval.report.table import write_tables
from eval.report.table_html import table_section
from evenhand.jsonl import write_whole


def write_report(parts: Sequence[StudyPart], folder: Path) -> list[Path]:
    """report.html, plots/*.png and *.svg, tables/*.md, *.csv and *.tex in a folder; the paths written."""
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
    shown = [(name, heading, html) for name, heading, html in sections if html]
    body = [
        element("h1", "Does the judge bend to who is speaking?"),
        *chain.from_iterable(part.opening for part in parts),
        contents({name: heading for name, heading, _ in shown}),
        *(section(name, heading, html) for name, heading, html in shown),
    ]
    write_whole(folder / "report.html", page(title_of(parts[0]), body, "".join(part.style for part in parts)))
    return [folder / "report.html", *written, *write_tables(folder / "tables", tables)]


def title_of(part: StudyPart) -> str:
    """The report's title, from its first study."""
    first, *others = part.judges
    more = f" and {len(others)} {'after' if part.is_before_after else 'more'}" if others else ""
    return f"Evenhand: {first}{more}"
