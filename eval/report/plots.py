"""What all figures share: one look, files without dates, colours that are told apart without colour vision."""

import io
import re
import textwrap
import warnings
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.figure import Figure

from eval.report.tables import shortened
from evenhand.errors import DataError

TRUE_COLOUR, FALSE_COLOUR = "#1f6f8b", "#c8553d"  # true claims, false claims: apart also in grey
RUN_COLOURS = ("#6b7280", "#1f6f8b", "#c8553d", "#5b8c5a", "#7a5195", "#b07d12")
RUN_MARKERS = ("o", "s", "^", "D", "v", "P")
INK, FAINT = "#444444", "#cccccc"
WIDTH = 4.4  # inches; narrow, so that letters stay readable when a phone shrinks the figure
UNUSED_IDS = "figure_|axes_|patch_|line2d_|text_|legend_|xtick_|ytick_|matplotlib.axis_"  # nothing refers to them
LONGEST_TITLE = 42  # characters of a title's line
LONGEST_TICK = 13  # characters of a name that fits beside an axis; longer ones stand above their line
STYLE: dict[str, Any] = {
    "font.family": "DejaVu Sans",
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "#888888",
    "axes.facecolor": "none",
    "axes.titlesize": 10,
    "legend.frameon": False,
    "figure.constrained_layout.use": True,
    "text.parse_math": False,  # a model may be called "a$b$c"
    "svg.hashsalt": "evenhand",  # the same figure has the same bytes
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Plot:
    """A drawn figure: `<name>.png` and `<name>.svg` beside a report, and what it shows in words."""

    name: str
    alt: str
    drawing: Any


def styled() -> AbstractContextManager[None]:
    """The look of all figures, while one is drawn."""
    look: AbstractContextManager[None] = matplotlib.rc_context(STYLE)
    return look


def new_figure(height: float, n_axes: int = 1, width: float = WIDTH, **keys: Any) -> tuple[Any, Any]:
    """(figure, its axes below each other), in inches; to be called under styled()."""
    figure = Figure(figsize=(width, height))  # pyplot would keep every figure until it is closed
    return figure, figure.subplots(n_axes, 1, **keys)


def name_lines(axes: Any, names: Sequence[str]) -> None:
    """Names of the lines 0, 1, ... beside the axis; where one is too long for a phone, all above their lines."""
    if max(map(len, names)) <= LONGEST_TICK:
        axes.set_yticks(range(len(names)), names)
        return
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    for line, name in enumerate(names):
        axes.text(0, line - 0.3, shortened(name, 44), transform=axes.get_yaxis_transform(), va="bottom", fontsize=9)


def line_height(names: Sequence[str]) -> float:
    """Inches that a line of a figure takes when its lines have these names."""
    return 0.42 if max(map(len, names)) <= LONGEST_TICK else 0.62


def first_and_last(names: Sequence[str]) -> tuple[float, float]:
    """Limits of the axis on which line 0 is on top, with room for a name above it."""
    return len(names) - 0.5, -0.5 if max(map(len, names)) <= LONGEST_TICK else -0.75


def title(figure: Any, text: str) -> None:
    """A title over the whole width, broken into lines rather than cut off."""
    words = "\n".join(textwrap.wrap(text, LONGEST_TITLE, break_long_words=True))
    figure.suptitle(words, x=0.01, ha="left", fontsize=10.5, fontweight="bold")


def as_svg(plot: Plot) -> str:
    """The figure as an SVG document on white."""
    text = io.StringIO()
    with styled():
        plot.drawing.savefig(text, format="svg", metadata={"Date": None, "Creator": None})
    return text.getvalue()


def inline_svg(svg: str) -> str:
    """A figure for the page: transparent and small. What draws nothing is left out, 0.01 points are exact enough."""
    bare = re.sub(r'<g id="patch_1">.*?</g>', "", svg, count=1, flags=re.DOTALL)  # the white ground
    drawn = re.sub(rf'<metadata>.*?</metadata>|<!--.*?-->| id="(?:{UNUSED_IDS})[^"]*"', "", bare, flags=re.DOTALL)
    rounded = re.sub(r' d="([^"]*)"', lambda found: f' d="{rounded_path(found[1])}"', drawn)
    return re.sub(r">\s+<", "><", rounded)


def rounded_path(path: str) -> str:
    """A path's coordinates to two decimals."""
    return re.sub(r"-?\d+\.\d{3,}", lambda number: f"{float(number[0]):.2f}", " ".join(path.split()))


def finish(plot: Plot, folder: Path) -> tuple[str, list[Path]]:
    """(the figure for the page, the paths of its PNG and SVG files in a folder)."""
    png, svg = folder / f"{plot.name}.png", folder / f"{plot.name}.svg"
    with warnings.catch_warnings():
        # Of a name that the font lacks letters for the figure has boxes; its words and the tables have the name.
        warnings.filterwarnings("ignore", r"Glyph \d+", UserWarning)
        text = as_svg(plot)
        plot.drawing.set_layout_engine("none")  # it is laid out; doing so again takes as long as drawing
        image = io.BytesIO()
        plot.drawing.savefig(image, format="png", dpi=160, metadata={"Software": None})
    try:
        folder.mkdir(parents=True, exist_ok=True)
        png.write_bytes(image.getvalue())
        svg.write_text(text, encoding="utf-8")
    except OSError as error:
        raise DataError(f"{png}: cannot be written ({error.strerror}); free space or choose another folder") from None
    return inline_svg(text), [png, svg]
