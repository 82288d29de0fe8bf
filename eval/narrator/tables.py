"""The numbers behind the tables of the narrator paper as files, and the words and cells that all tables share."""

from collections.abc import Sequence
from dataclasses import fields
from typing import Any

from eval.estimates.estimate import Estimate
from eval.narrator.agreement import Match
from eval.narrator.definition_words import CLUSTER_WORDS, answer_note, interval_note, shares_note
from eval.narrator.measures import main_order
from eval.narrator.study import POOLED, StudyResults
from eval.report.table import Cell, Table
from studies.narrator.records import OPTION_ORDERS, TASKS, VISIBILITIES, OptionOrder, Task, Visibility

TASK_WORDS: dict[Task, str] = {
    "blame": "Blame attribution",
    "identification": "Attacker identification",
    "detection": "Attack detection",
}
M_WORDS: dict[Task, str] = {"blame": "alignment", "identification": "accuracy", "detection": "recall"}
PERSPECTIVE_WORDS = {"neutral": "Neutral", "attacker": "Attacker", "non_attacker": "Non-attacker"}
ORDER_WORDS: dict[OptionOrder, str] = {"published": "Me last", "fixed_slot": "Me in its name's slot"}
DIFFERENCES = (("delta_att", "Δ_att"), ("delta_non_att", "Δ_non-att"), ("pr", "PR"))


def nth(place: int) -> str:
    """What the names of files have after those of the first judge: nothing, "-2", "-3" ..."""
    return "" if place == 0 else f"-{place + 1}"


def effect_table(found: StudyResults) -> Table:
    """Every effect in numbers, of every judge, order and group."""
    note = means_note(found)
    return number_table("narrator_effects", "Effects of perspective", found.effects, note)


def flip_table(found: StudyResults) -> Table:
    """Every judge's flips from Neutral to Attacker."""
    d = found.definitions
    note = (
        "Pairs are of one model on one conversation. Corruption rate: Flip(C→I) / (Flip(C→I) + stable correct), in "
        f"percent, its interval cluster-robust over {CLUSTER_WORDS[d.clusters]}. {answer_note(d)} {shares_note(d)}"
    )
    return number_table("narrator_flips", "Judgment stability", found.flips, note)


def size_table(found: StudyResults) -> Table:
    """The effects by number of speakers, small sizes included."""
    d = found.definitions
    note = f"Sizes with fewer than {d.fewest_conversations} conversations are not in Figure 3. {means_note(found)}"
    return number_table("narrator_sizes", "Effects by number of speakers", found.sizes, note)


def state_table(found: StudyResults) -> Table:
    """What became of the replies."""
    note = (
        "Percent of completions; of exact runs, of the probability. tied and unanswered: percent of prompts whose "
        "replies do not agree on one option, or name none."
    )
    return number_table("narrator_states", "States of the replies", found.states, note)


def agreement_table(found: StudyResults) -> Table:
    """Sampled runs beside exact ones of the same model: replies as the exact way counts them, and as the study does."""
    ways = tuple(
        f"{way}: {what}" for way in ("begin", "read") for what in ("prompts", "difference, pp", "scatter", "p")
    )
    return Table(
        name="narrator_agreement",
        title="Sampled replies against exact probabilities",
        columns=("run", "task", "attack", "Me", *ways),
        rows=tuple(
            (
                pair.sampled,
                pair.task or "all",
                pair.visibility or "all",
                PERSPECTIVE_WORDS[pair.perspective] if pair.perspective else "all",
                *match_cells(pair.begins),
                *match_cells(pair.reads),
            )
            for pair in found.agreements
            if pair.begins.n_prompts
        ),
        formats=(*[""] * 4, *("", "", ".2f", "p") * 2),
        note="Begin: share of replies that begin with the target, less its probability. Read: the target's share of "
        "replies as this study reads them, behind preambles too and with lists of names as ambiguous, less the exact "
        "one; it agrees only where a judge begins with its answer. Scatter: Σ (n f - n p)² / Σ n p (1 - p), about 1 "
        "for draws from p. p: how often such draws differ or scatter as much. "
        f"Read: {shares_note(found.definitions)}",
    )


def match_cells(match: Match) -> tuple[Cell, ...]:
    """Prompts, difference, scatter, p."""
    return match.n_prompts, plus_minus(match.difference, "+.2f"), match.scatter, match.p


def number_table(name: str, title: str, records: Sequence[Any], note: str = "") -> Table:
    """Records of numbers, each field under its own name."""
    rows = [flat(record) for record in records]
    widest = max(rows, key=lambda row: len(row), default={"judge": None})  # an estimate that a task lacks has no ends
    columns = tuple(widest)
    formats = tuple("p" if column == "mcnemar_p" else "" for column in columns)
    cells = tuple(tuple(row.get(column) for column in columns) for row in rows)
    return Table(name=name, title=title, columns=columns, rows=cells, note=note, formats=formats)


def flat(record: Any) -> dict[str, Cell]:
    """A record's fields; of an estimate also its ends, and before the first on how many clusters it rests."""
    row: dict[str, Cell] = {}
    for name in (field.name for field in fields(record)):
        value = getattr(record, name)
        if isinstance(value, Estimate):
            row.setdefault("n_clusters", value.n_units)
            row |= {name: value.value, f"{name}_low": value.low, f"{name}_high": value.high}
        else:
            row[name] = value
    return row


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


def tasks_of(found: StudyResults) -> list[Task]:
    """The tasks that were asked, in the paper's order of columns."""
    asked = {effect.task for effect in found.effects}
    return [task for task in reversed(TASKS) if task in asked]


def visibilities_of(found: StudyResults) -> list[Visibility]:
    """The visibilities that were asked, visible first as in Table 2; Tables 3 and 4 have hidden first."""
    asked = {effect.visibility for effect in found.effects}
    return [visibility for visibility in VISIBILITIES if visibility in asked]


def first_order(found: StudyResults) -> OptionOrder:
    """The option order of the main tables."""
    return main_order(effect.option_order for effect in found.effects)


def means_note(found: StudyResults, judge: str = POOLED) -> str:
    """How the means of a judge, or of all of them, are taken."""
    if judge != POOLED or POOLED not in found.judges:
        return interval_note(found.definitions)
    note = interval_note(found.definitions, is_pooled=True)
    return f"{note} {pooled_note(found)}" if found.n_lacking else note


def pooled_note(found: StudyResults) -> str:
    """Over how many conversations the runs are pooled, where some were not judged by all of them."""
    lacking = ", ".join(f"{n:,} of {judge}" for judge, n in found.n_lacking.items())
    return (
        f"The rows of {POOLED} are over the {len(found.pooled_over):,} conversations that every run judged, and leave "
        f"out {lacking}."
    )


def orders_of(found: StudyResults) -> list[OptionOrder]:
    """The option orders that were asked, that of headlines first."""
    asked = {effect.option_order for effect in found.effects}
    return [order for order in OPTION_ORDERS if order in asked]


def order_note(found: StudyResults) -> str:
    """Which option order the numbers are of, and which to believe."""
    orders = orders_of(found)
    if len(orders) == 1:
        return f"Options: {ORDER_WORDS[orders[0]]}."
    return (
        f"Options in two orders. Believe '{ORDER_WORDS['fixed_slot']}': with Me last the attacker's place in the list "
        "moves with who is Me."
    )
