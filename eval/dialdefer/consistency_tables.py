"""Tables of who flips together: DialDefer Tables 24, 27 and 33, and items that flip in all."""

from collections.abc import Sequence

from eval.dialdefer.consistency import Agreement
from eval.dialdefer.problem_items import ProblemItem
from eval.report.table import Table

N_LETTERS = 240  # of an item's text in a table; the record has all of it


def flip_consistency(found: Agreement) -> Table:
    """Table 24: items that flip in all judges, in none, in some; the shares of all items are in the note."""
    total, k = found.total, len(found.judges)
    shares = [100 * n / total.n_items for n in (total.n_in_all, total.n_in_none, total.n_in_some)]
    return Table(
        name="table24_flip_consistency",
        title=f"Items that flip in all {k} judges, in none, or in some (DialDefer Table 24)",
        columns=("dataset", "items", f"all {k}", "none", some(k)),
        rows=tuple((c.dataset, c.n_items, c.n_in_all, c.n_in_none, c.n_in_some) for c in [*found.by_dataset, total]),
        note="Of all items {:.1f}% flip in all, {:.1f}% in none, {:.1f}% in some. ".format(*shares) + note_of(found),
    )


def some(n_judges: int) -> str:
    """The heading for items that flip in some judges: "1-4" of five."""
    return "1" if n_judges == 2 else f"1-{n_judges - 1}"


def flip_agreement(found: Agreement) -> Table:
    """Table 27: the same with the agreement rate, and how many items would flip in all judges by chance."""
    return Table(
        name="table27_flip_agreement",
        title="Agreement of judges on which items flip, by dataset (DialDefer Table 27)",
        columns=("dataset", "items", "flip in all", "flip in none", "flip in some", "agreement, %", "all, by chance"),
        rows=tuple(
            (c.dataset, c.n_items, c.n_in_all, c.n_in_none, c.n_in_some, 100 * c.agreement_rate, c.expected_in_all)
            for c in [*found.by_dataset, found.total]
        ),
        note="Agreement: (flip in all + flip in none) / items. By chance: if each judge flipped at its own rate on the "
        f"dataset, independently of the others. {note_of(found)}",
    )


def flip_agreement_total(found: Agreement) -> Table:
    """Table 33: the totals as metric, count and percentage."""
    total, k = found.total, len(found.judges)
    counts = [
        (f"flip in all {k} models", total.n_in_all),
        ("flip in no model", total.n_in_none),
        ("flip in some models", total.n_in_some),
        ("agreement (all or none)", total.n_in_all + total.n_in_none),
    ]
    return Table(
        name="table33_flip_agreement_total",
        title=f"Agreement of judges on which items flip ({', '.join(found.judges)}; DialDefer Table 33)",
        columns=("metric", "items", "%"),
        rows=(
            ("total items", total.n_items, None),
            *((metric, n, 100 * n / total.n_items) for metric, n in counts),
        ),
        note=note_of(found),
    )


def flips_in_k(found: Agreement) -> Table:
    """Items by the number of judges in which they flip."""
    return Table(
        name="flips_in_k_models",
        title="Items that flip in exactly k judges",
        columns=("dataset", *(f"k = {k}" for k in range(len(found.judges) + 1))),
        rows=tuple((c.dataset, *c.n_flipping_in) for c in [*found.by_dataset, found.total]),
        note=note_of(found),
    )


def note_of(found: Agreement) -> str:
    """What counts as a flip, and what was left out."""
    parts = [f"Judges: {', '.join(found.judges)}. An item flips in a judge if it flips in either direction."]
    if found.total.n_left_out:
        parts.append(f"Left out: {found.total.n_left_out} items that an engine failed to answer for some judge.")
    if found.datasets_left_out:
        parts.append(f"Left out, not judged by all: {', '.join(found.datasets_left_out)}.")
    return " ".join(parts)


def problem_item_table(items: Sequence[ProblemItem]) -> Table:
    """Items that flip in every judge, with the beginning of their text where it is known."""
    return Table(
        name="problem_items",
        title="Items that flip in every judge",
        columns=("dataset", "item", "flips in", "deference", "skepticism", "question", "correct", "incorrect"),
        rows=tuple(
            (
                *(i.dataset, i.item_id, f"{i.n_judges} of {i.n_judges}", i.n_deference, i.n_skepticism),
                *(beginning(i.shown), beginning(i.correct_answer), beginning(i.incorrect_answer)),
            )
            for i in items
        ),
    )


def beginning(text: str | None) -> str | None:
    """The first letters of a text on one line."""
    line = None if text is None else " ".join(text.split())
    return line if line is None or len(line) <= N_LETTERS else line[: N_LETTERS - 1] + "…"


def agreement_tables(found: Agreement) -> list[Table]:
    """Every table of an agreement."""
    return [flip_consistency(found), flip_agreement(found), flip_agreement_total(found), flips_in_k(found)]
