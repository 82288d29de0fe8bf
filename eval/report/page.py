"""report.html: what was found, in words, tables and figures, with the method, in one file that needs nothing else.

Light or dark, readable on a phone. Jinja escapes the texts; the templates lay them out.
"""

from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from jinja2 import PackageLoader

from eval.report.plots import Plot, finish
from eval.report.tables import TEXTS, legend, page_lines, printed, write_tables
from eval.results import Results
from evenhand.files import write_whole

LONGEST_TEXT = 20_000  # characters of a reply, prompt or post on a page


def bounded(text: str) -> str:
    """The text; a longer one than LONGEST_TEXT without its middle, which it says."""
    half, n_left_out = LONGEST_TEXT // 2, len(text) - LONGEST_TEXT
    return text if n_left_out <= 0 else f"{text[:half]}\n[… {n_left_out:,} characters left out …]\n{text[-half:]}"


def listed(facts: Any) -> str:
    """A mapping as "name value, ..."; other values as in tables."""
    return ", ".join(f"{key} {value}" for key, value in facts.items()) if isinstance(facts, Mapping) else printed(facts)


TEMPLATES = TEXTS.overlay(loader=PackageLoader("eval.report"), autoescape=True, keep_trailing_newline=True)
TEMPLATES.filters |= {"bounded": bounded, "listed": listed, "page_lines": page_lines}


def write_report(every: Sequence[Results], folder: Path) -> list[Path]:
    """report.html, plots/*.png and *.svg, tables/*.md, *.csv and *.tex in a folder; the paths written."""
    views, written = [], list[Path]()
    for results in every:
        place = folder / results.stem.strip("_")  # the same names stand in both
        drawn, files = figures(results.evaluation.plots(results), place)
        files += write_tables(place / "tables", results.tables)
        written += files
        views.append(view(results, drawn))
        if items := results.evaluation.write_items(results, folder / views[-1]["key"]):
            views[-1]["browser"] = f"{views[-1]['key']}/{items[0].name}"
            written += items
    first, *others = every[0].judges
    more = f" and {len(others)} {'after' if every[0].is_before_after else 'more'}" if others else ""
    write_page(folder / "report.html", f"Evenhand: {first}{more}", views)
    return [folder / "report.html", *written]


def write_page(path: Path, title: str, studies: Sequence[Mapping[str, Any]]) -> None:
    """A page of some studies, each as `view` says it; one may lack browser, left_out and runs."""
    write_whole(path, TEMPLATES.get_template("page.html").render(title=title, studies=studies))


def figures(plots: Iterable[Plot], folder: Path) -> tuple[list[dict[str, str]], list[Path]]:
    """(name, alt and base64 of the SVG of each figure, the paths of their files in a folder)."""
    drawn, written = [], list[Path]()
    for plot in plots:
        svg, files = finish(plot, folder / "plots")
        drawn.append({"name": plot.name, "alt": plot.alt, "svg": b64encode(svg.encode()).decode()})
        written += files
    return drawn, written


def view(results: Results, drawn: Sequence[Mapping[str, str]]) -> dict[str, Any]:
    """What the page's template shows of one study. drawn: see `figures`."""
    return {
        "key": f"{results.stem}{results.study}",
        "heading": results.heading,
        "answer": results.answer,
        "warnings": results.warnings,
        "legend": legend([*results.answer, *results.warnings], results.sentences.get("legend", ())),
        "reading": results.sentences["reading"],
        "method": results.sentences["method"],
        "tables": results.shown,
        "figures": drawn,
        "folded": [table for table in results.tables if table.place == "files"],
        "left_out": results.evaluation.left_out(results),
        "runs": {} if results.options.are_files else results.judges,
        "differences": [
            f"{name} against {results.base}: "
            f"{'; '.join(map(str, of_run)) or 'same prompts, rendering, engine, precision, software'}."
            for name, of_run in results.differences.items()
        ],
    }
