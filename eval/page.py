"""HTML of the report: one self-contained light page that also reads well on a phone. Every text is escaped here."""

from base64 import b64encode
from collections.abc import Iterable, Sequence
from html import escape

CSS = """
:root { color-scheme: light; }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 66rem; padding: 1.25rem 1rem 4rem; background: #fff; color: #1d2126;
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", sans-serif; }
h1 { font-size: 1.5rem; line-height: 1.25; margin: .5rem 0; }
h2 { font-size: 1.15rem; margin: 2.25rem 0 .5rem; padding-top: .75rem; border-top: 1px solid #e3e5e8; }
h3 { font-size: 1rem; margin: 1.25rem 0 .25rem; }
p, li { max-width: 46rem; }
.headline { font-size: 1.1rem; }
.note { color: #5a626b; font-size: .875rem; }
.warning { background: #fff6e5; border-left: 4px solid #d9920a; padding: .5rem .75rem; margin: .75rem 0; }
.wide { overflow-x: auto; margin: .5rem 0; }
table { border-collapse: collapse; font-size: .8125rem; font-variant-numeric: tabular-nums; }
th, td { padding: .3rem .5rem; text-align: right; white-space: nowrap; border-bottom: 1px solid #e9ebee; }
th:first-child, td:first-child { text-align: left; position: sticky; left: 0; background: #fff; }
thead th { border-bottom: 2px solid #c9cdd2; font-weight: 600; vertical-align: bottom; }
table.verdicts td, table.verdicts th { text-align: left; white-space: normal; vertical-align: top; }
table.verdicts td:first-child { overflow-wrap: anywhere; }
tr.average td { font-weight: 600; }
table.words td, table.words th { text-align: left; white-space: normal; overflow-wrap: anywhere; min-width: 8rem;
  vertical-align: top; }
.figures { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(24rem, 100%), 1fr)); gap: 1.25rem; }
figure { margin: 0; max-width: 34rem; }
figure img { width: 100%; height: auto; display: block; }
.flip { border: 1px solid #dfe2e6; border-radius: 6px; padding: .75rem .9rem; margin: .75rem 0; }
.flip p { margin: .25rem 0; overflow-wrap: anywhere; }
.sides { display: grid; grid-template-columns: repeat(auto-fit, minmax(15rem, 1fr)); gap: .6rem; margin: .6rem 0; }
.side { background: #f6f7f9; border-radius: 4px; padding: .5rem .65rem; overflow-wrap: anywhere; }
.right { color: #1d6b3a; font-weight: 600; } .wrong { color: #a33a1f; font-weight: 600; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; font-size: .8rem; background: #f6f7f9; padding: .6rem;
  margin: .4rem 0; }
summary { cursor: pointer; color: #3c5a78; font-size: .875rem; }
"""


def page(title: str, parts: Iterable[str]) -> str:
    """The whole document."""
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{CSS}</style>\n</head>\n<body>\n"
        + "\n".join(parts)
        + "\n</body>\n</html>\n"
    )


def element(tag: str, text: str, css: str = "") -> str:
    """An element around plain text."""
    return f"<{tag}{class_of(css)}>{escape(text)}</{tag}>"


def box(css: str, parts: Iterable[str]) -> str:
    """A div around HTML."""
    return f'<div class="{escape(css)}">' + "\n".join(parts) + "</div>"


def table(header: Sequence[str], rows: Sequence[Sequence[str]], css: str = "") -> str:
    """A table of plain texts that scrolls sideways by itself where the screen is too narrow."""
    head = "".join(f"<th>{escape(cell)}</th>" for cell in header)
    body = "\n".join(
        f"<tr{class_of('average' * row[0].endswith('_avg'))}>"
        + "".join(f"<td>{escape(cell)}</td>" for cell in row)
        + "</tr>"
        for row in rows
    )
    whole = f"<table{class_of(css)}><thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody></table>"
    return f'<div class="wide">{whole}</div>'


def picture(svg: str, alt: str) -> str:
    """A figure as an inline image: nothing is loaded from elsewhere, and no ids clash between figures."""
    data = b64encode(svg.encode()).decode()
    return f'<figure><img alt="{escape(alt)}" src="data:image/svg+xml;base64,{data}"></figure>'


def folded(summary: str, text: str) -> str:
    """Preformatted text behind a line that opens it."""
    return f"<details><summary>{escape(summary)}</summary><pre>{escape(text)}</pre></details>"


def unfolding(summary: str, parts: Iterable[str]) -> str:
    """HTML behind a line that opens it."""
    return f"<details><summary>{escape(summary)}</summary>" + "\n".join(parts) + "</details>"


def class_of(css: str) -> str:
    """A class attribute, or nothing."""
    return f' class="{escape(css)}"' if css else ""
