"""HTML of the report: one self-contained page, light or dark, readable on a phone. Texts are escaped here."""

from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from html import escape

from eval.report.page_style import CSS

MOST_INLINE = 13  # figures of one kind on the page, which is to stay small enough to be sent; all are in plots/
MOST_OPEN = 3  # figures of one kind that are shown at once; the others are folded away behind them


def page(title: str, parts: Iterable[str], more_css: str = "") -> str:
    """The whole document."""
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{CSS}{more_css}</style>\n</head>\n<body>\n<main>\n"
        + "\n".join(parts)
        + "\n</main>\n</body>\n</html>\n"
    )


def element(tag: str, text: str, css: str = "") -> str:
    """An element around plain text."""
    return f"<{tag}{class_of(css)}>{escape(text)}</{tag}>"


def section(name: str, heading: str, parts: Iterable[str]) -> str:
    """A section with a heading that links can lead to."""
    return f'<section id="{escape(name)}">\n<h2>{escape(heading)}</h2>\n' + "\n".join(parts) + "\n</section>"


def contents(headings: Mapping[str, str]) -> str:
    """Links to the sections: id → heading."""
    links = "".join(f'<a href="#{escape(name)}">{escape(heading)}</a>' for name, heading in headings.items())
    return f'<nav aria-label="Contents">{links}</nav>'


def box(css: str, parts: Iterable[str]) -> str:
    """A div around HTML."""
    return f'<div class="{escape(css)}">' + "\n".join(parts) + "</div>"


def table(header: Sequence[str], rows: Sequence[Sequence[str]], css: str = "", label: str = "") -> str:
    """A table of plain texts that scrolls sideways by itself where the screen is too narrow."""
    head = "".join(f'<th scope="col">{escape(cell)}</th>' for cell in header)
    body = "\n".join(table_line(row) for row in rows)
    whole = f"<table{class_of(css)}><thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody></table>"
    return scrolling(whole, label or ", ".join(filter(None, header[:3])))


def table_line(row: Sequence[str]) -> str:
    """A line; its first cell says what the others are of."""
    cells = "".join(f"<td>{escape(cell)}</td>" for cell in row[1:])
    return f'<tr{class_of("average" * row[0].endswith("_avg"))}><th scope="row">{escape(row[0])}</th>{cells}</tr>'


def scrolling(whole: str, label: str) -> str:
    """HTML in a box that scrolls sideways, with the keyboard too."""
    return f'<div class="wide" role="region" tabindex="0" aria-label="{escape(label)}">{whole}</div>'


def picture(svg: str, alt: str) -> str:
    """A figure as an inline image: nothing is loaded from elsewhere, and no ids clash between figures."""
    data = b64encode(svg.encode()).decode()
    return f'<figure><img alt="{escape(alt)}" src="data:image/svg+xml;base64,{data}"></figure>'


def pictures(names: Sequence[str], inline: Mapping[str, str]) -> list[str]:
    """Figures beside each other; those beyond the first few behind a line that opens them."""
    kept = [inline[name] for name in names[:MOST_INLINE]]
    more = kept[MOST_OPEN:]
    parts = [box("figures", kept[:MOST_OPEN])] if kept else []
    parts += [unfolding(f"{len(more)} more figures", [box("figures", more)])] if more else []
    left = ", ".join(names[MOST_INLINE:])
    return [*parts, *([element("p", f"In plots/ only: {left}.", "note")] if left else [])]


def folded(summary: str, text: str) -> str:
    """Preformatted text behind a line that opens it."""
    return unfolding(summary, [f"<pre>{escape(text)}</pre>"])


def unfolding(summary: str, parts: Iterable[str]) -> str:
    """HTML behind a line that opens it."""
    return f"<details><summary>{escape(summary)}</summary>" + "\n".join(parts) + "</details>"


def class_of(css: str) -> str:
    """A class attribute, or nothing."""
    return f' class="{escape(css)}"' if css else ""
