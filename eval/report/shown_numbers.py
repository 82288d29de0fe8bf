"""Numbers as tables and sentences print them. What is not known is a dash."""

from collections.abc import Sequence


def aligned(lines: Sequence[Sequence[str]]) -> list[str]:
    """Columns padded to their widest cell; the first to the left, the others to the right."""
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    return [
        "  ".join(
            cell.ljust(w) if i == 0 else cell.rjust(w) for i, (cell, w) in enumerate(zip(line, widths, strict=True))
        )
        for line in lines
    ]


def number(value: float | None, digits: int = 1) -> str:
    """A number, or a dash where it is unknown."""
    return "–" if value is None else f"{value:.{digits}f}"


def signed(value: float | None, digits: int = 1) -> str:
    """A number with its sign; what rounds to zero has none."""
    if value is None:
        return "–"
    return f"{0:.{digits}f}" if abs(value) < 0.5 * 10**-digits else f"{value:+.{digits}f}"


def interval(low: float | None, high: float | None, digits: int = 1) -> str:
    """ "[low, high]", or a dash where it is unknown."""
    return "–" if low is None or high is None else f"[{signed(low, digits)}, {signed(high, digits)}]"


def percent(rate: float | None) -> str:
    """A rate in [0, 1] as a whole percentage."""
    return "an unknown share" if rate is None else f"{100 * rate:.0f}%"


def share(count: int | None, total: int) -> str:
    """A count as a percentage of a total, or a dash where it is unknown."""
    return "–" if count is None else f"{100 * count / total:.1f}%"


def p_value(p: float) -> str:
    """A p-value; small ones as a bound."""
    return "<.0001" if p < 0.0001 else f"{p:.4f}".removeprefix("0")
