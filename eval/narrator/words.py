"""The words and numbers that tables, sentences and plots of the study share, and the notes beneath tables."""

from eval.estimates.estimate import Estimate
from eval.narrator.observe import Definitions, main_order
from eval.narrator.scores import POOLED, StudyResults
from studies.narrator.records import OPTION_ORDERS, TASKS, VISIBILITIES, OptionOrder, Task, Visibility

TASK_WORDS: dict[Task, str] = {
    "blame": "Blame attribution",
    "identification": "Attacker identification",
    "detection": "Attack detection",
}
M_WORDS: dict[Task, str] = {"blame": "alignment", "identification": "accuracy", "detection": "recall"}
PERSPECTIVE_WORDS = {"neutral": "Neutral", "attacker": "Attacker", "non_attacker": "Non-attacker"}
ORDER_WORDS: dict[OptionOrder, str] = {"published": "Me last", "fixed_slot": "Me in its name's slot"}
SIDE_WORDS: dict[Visibility, str] = {"visible": "with the attack shown", "hidden": "with the attack hidden"}
FEWEST_CONVERSATIONS = 10  # a number of speakers with fewer leaves Figure 3


def tasks_of(found: StudyResults) -> list[Task]:
    """The tasks that were asked, in the paper's order of columns."""
    return [task for task in reversed(TASKS) if task in {score.setting["task"] for score in found.scores}]


def visibilities_of(found: StudyResults) -> list[Visibility]:
    """The visibilities that were asked, visible first as in Table 2; Tables 3 and 4 have hidden first."""
    asked = {score.setting["visibility"] for score in found.scores}
    return [visibility for visibility in VISIBILITIES if visibility in asked]


def orders_of(found: StudyResults) -> list[OptionOrder]:
    """The option orders that were asked, that of headlines first."""
    asked = {score.setting["option_order"] for score in found.scores}
    return [order for order in OPTION_ORDERS if order in asked]


def first_order(found: StudyResults) -> OptionOrder:
    """The option order of the main tables."""
    return main_order(orders_of(found))


def count(measures: dict[str, Estimate], name: str) -> int:
    """A count among the measures of a setting."""
    return int(measures[name].value or 0)


def nth(place: int) -> str:
    """What the names of files have after those of the first judge: nothing, "-2", "-3" ..."""
    return "" if place == 0 else f"-{place + 1}"


def plus_minus(estimate: Estimate | None, form: str = ".1f") -> str | None:
    """An estimate as the paper prints it; with its ends where the interval is not symmetric."""
    if estimate is None or estimate.value is None:
        return None
    value = format(estimate.value, form)
    value = value if any(digit in value for digit in "123456789") else value.lstrip("+-")
    if estimate.half is None or estimate.low is None or estimate.high is None:
        return value
    if abs(estimate.value - (estimate.low + estimate.high) / 2) > 0.05:
        return f"{value} [{estimate.low:.1f}, {estimate.high:.1f}]"
    return f"{value} ± {format(estimate.half, form.lstrip('+'))}"


def shares_note(d: Definitions) -> str:
    """What shares are of."""
    return f"Shares are of {'the replies that name an option' if d.denominator == 'answered' else 'all replies'}."


ANSWER_NOTE = (
    "A prompt's one answer is the option that most of its replies name; pairs with a tie or without an answer are left "
    "out."
)


def changes_note(d: Definitions) -> str:
    """What changes are of."""
    return f"{shares_note(d)} {ANSWER_NOTE}"


def interval_note(d: Definitions) -> str:
    """How means and their intervals are taken."""
    return (
        "Percent ± half the 95 % interval, or [low, high] where that is not symmetric, cluster-robust over "
        "conversation × model; Δ and PR in percentage points, paired within clusters. Non-attacker variants are "
        f"averaged within a conversation. {shares_note(d)}"
    )


def means_note(found: StudyResults, judge: str = POOLED) -> str:
    """How the means of a judge, or of all of them, are taken."""
    note = interval_note(found.definitions)
    if judge != POOLED or POOLED not in found.judges:
        return note
    note += " In means over models each conversation of each model counts once."
    return f"{note} {pooled_note(found)}" if found.n_lacking else note


def pooled_note(found: StudyResults) -> str:
    """Over how many conversations the runs are pooled, where some were not judged by all of them."""
    lacking = ", ".join(f"{n:,} of {judge}" for judge, n in found.n_lacking.items())
    return (
        f"The rows of {POOLED} are over the {len(found.pooled_over):,} conversations that every run judged, and leave "
        f"out {lacking}."
    )


def order_note(found: StudyResults) -> str:
    """Which option order the numbers are of, and which to believe."""
    orders = orders_of(found)
    if len(orders) == 1:
        return f"Options: {ORDER_WORDS[orders[0]]}."
    return (
        f"Options in two orders. Believe '{ORDER_WORDS['fixed_slot']}': with Me last the attacker's place in the list "
        "moves with who is Me."
    )


def definition_words(d: Definitions) -> str:
    """What the paper leaves open, for the method section."""
    by = {
        "reply": "by the replies to the detection (any Yes, any No; in both rows where they are mixed; exact runs by "
        "their shares)",
        "share": "by the share of Yes and of No in the detection",
        "majority": "by the one answer to the detection",
    }
    return (
        f"What the paper leaves open is decided thus: {interval_note(d)} FAR counts every non-attacker variant. "
        f"{ANSWER_NOTE} Table 4 goes {by[d.detection]} of the same narrator; sizes with fewer than "
        f"{FEWEST_CONVERSATIONS} conversations leave Figure 3."
    )
