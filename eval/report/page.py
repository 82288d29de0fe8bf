"""HTML of the report: one self-contained page, light or dark, readable on a phone. Jinja escapes the texts."""

from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

MOST_INLINE = 13  # figures of one kind on the page, which is to stay small enough to be sent; all are in plots/
MOST_OPEN = 3  # figures of one kind that are shown at once; the others are folded away behind them

TEMPLATES = Environment(
    loader=PackageLoader("eval.report"),
    autoescape=True,
    trim_blocks=True,
    lstrip_blocks=True,
    keep_trailing_newline=True,
    undefined=StrictUndefined,
)
PARTS: Any = TEMPLATES.get_template("parts.html").module

Html = Callable[..., str]
element: Html = PARTS.element  # (tag, text, css="")
box: Html = PARTS.box  # (css, parts): a div around HTML
folded: Html = PARTS.folded  # (summary, text): preformatted text behind a line that opens it
unfolding: Html = PARTS.unfolding  # (summary, parts): HTML behind a line that opens it
scrolling: Html = PARTS.scrolling  # (whole, label): HTML in a box that scrolls sideways
table: Html = PARTS.table  # (header, rows, css="", label=""): of plain texts


def picture(svg: str, alt: str) -> str:
    """A figure as an inline image: nothing is loaded from elsewhere, and no ids clash between figures."""
    return str(PARTS.picture(b64encode(svg.encode()).decode(), alt))


def pictures(names: Sequence[str], inline: Mapping[str, str]) -> list[str]:
    """Figures beside each other; those beyond the first few behind a line that opens them."""
    kept = [inline[name] for name in names[:MOST_INLINE]]
    more = kept[MOST_OPEN:]
    parts = [box("figures", kept[:MOST_OPEN])] if kept else []
    parts += [unfolding(f"{len(more)} more figures", [box("figures", more)])] if more else []
    left = ", ".join(names[MOST_INLINE:])
    return [*parts, *([element("p", f"In plots/ only: {left}.", "note")] if left else [])]
