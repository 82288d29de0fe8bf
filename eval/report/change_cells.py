"""A change as the cells of a printed table, the same for every study."""

from eval.estimates.changes import Change
from eval.report.shown_numbers import interval, p_value, signed

CHANGE = ("95% interval", "p Holm", "shown")  # heads of the cells behind the change itself
DIRECTION_WORDS = {-1: "lower", 0: "unclear", 1: "higher", None: "–"}


def change_words(change: Change, unit: str = "", digits: int = 1) -> str:
    """A change with its interval and its adjusted p, in a sentence."""
    rise = change.change
    p = "" if change.p_holm is None else f", p {p_value(change.p_holm)}"
    return f"{signed(rise.value, digits)}{unit} {interval(rise.low, rise.high, digits)}{p}"


def change_cells(change: Change | None, digits: int = 1) -> list[str]:
    """A change, its interval, its adjusted p, and whether it is lower or higher; dashes where there is none."""
    if change is None or change.first == change.second:
        return ["–"] * 4
    rise = change.change
    p = "–" if change.p_holm is None else p_value(change.p_holm)
    return [signed(rise.value, digits), interval(rise.low, rise.high, digits), p, DIRECTION_WORDS[change.direction]]
