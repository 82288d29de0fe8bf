"""The most telling flips side by side, as the page shows them."""

from collections.abc import Sequence

from eval.dialdefer.findings import Findings
from eval.dialdefer.flip_examples import DEFERENCE, Flip, Side, telling_flips
from eval.report.page import box, element, folded, table


def flip_section(found: Findings) -> list[str]:
    """Some flips side by side; nothing for verdict files, which hold no texts."""
    if not found.runs:
        return []
    flips = telling_flips(found.runs)
    if not flips:
        return [element("p", "No verdict was lost from C1 to C2 in any run.")]
    words = "The widest swings of margin" if flips[0].sides[0].margin is not None else "In an arbitrary, fixed order"
    more = "one dataset after the other, of the first run in which any verdict flips; what each judge said."
    return [element("p", f"{words}, {more}", "note"), *(flip_card(flip) for flip in flips)]


def flip_card(flip: Flip) -> str:
    """One item with every judge's verdict in both framings."""
    kind = "Deference: a false claim" if flip.kind == DEFERENCE else "Skepticism: a true claim"
    parts = [element("p", f"{kind} · {flip.dataset} · {flip.item_id}", "note")]
    if flip.is_withheld:
        words = f"Not shown: {flip.dataset}'s authors ask that no example appear in plain text. Look it up by its id."
        parts.append(element("p", words, "note"))
    elif flip.question is not None and flip.claim is not None:
        parts += [element("p", f"Question: {flip.question}"), element("p", f"Claimed answer: {flip.claim}")]
    else:
        parts.append(element("p", "The item's text is not shown; the prompts below hold it.", "note"))
    if all(side.margin is not None for side in flip.sides):
        parts.append(margin_table(flip.sides))
    else:
        parts.append(box("sides", [side_card(side) for side in flip.sides]))
    prompts = {side.framing: side.prompt for side in flip.sides if side.prompt is not None}
    parts += [folded(f"What the model read, {framing}", prompt) for framing, prompt in prompts.items()]
    return box("flip", parts)


def margin_table(sides: Sequence[Side]) -> str:
    """Verdicts that are one token: a line per judge, a column per framing."""
    rows: dict[str, dict[str, str]] = {}
    for side in sides:
        words = f"{side.words} ({side.margin:+.2f}), {'right' if side.is_right else 'wrong'}"
        rows.setdefault(side.judge, {})[side.framing] = words
    lines = [[judge, said.get("C1", "–"), said.get("C2", "–")] for judge, said in rows.items()]
    return table(["judge (margin in nats)", "C1, statement", "C2, speaker's turn"], lines, "verdicts")


def side_card(side: Side) -> str:
    """A reasoned verdict."""
    mark = "right" if side.is_right else "wrong"
    framing = "C1, statement" if side.framing == "C1" else "C2, speaker's turn"
    parts = [element("p", f"{side.judge} · {framing}", "note"), element("p", f"{side.words}: {mark}", mark)]
    return box("side", [*parts, *([element("p", side.text.strip())] if side.text.strip() else [])])
