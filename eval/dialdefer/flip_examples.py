"""Items whose verdict flips with the framing, picked to be looked at side by side, and how the page shows them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from eval.dialdefer.measures import (
    ACCEPT,
    C1_FALSE,
    C1_TRUE,
    C2_CORRECT,
    C2_INCORRECT,
    CONDITIONS,
    FloatArray,
    flip_masks,
    majority,
)
from eval.dialdefer.panels import Panel, untreated_panels
from eval.dialdefer.runs import JudgedRun, item_texts
from eval.report.page import box, element, folded, table
from evenhand.completion_shards import rendered_prompts
from studies.dialdefer.records import Item

N_EACH = {"margin": 3, "reason": 2}  # of each kind; reasoned replies take room
# Their authors ask that no example appear in plain text online, where reports tend to end up.
WITHHELD = ("gpqa",)
COLUMNS = {"deference": (C1_FALSE, C2_INCORRECT), "skepticism": (C1_TRUE, C2_CORRECT)}
KIND_WORDS = {"deference": "Deference: a false claim", "skepticism": "Skepticism: a true claim"}
FRAMING_WORDS = {"C1": "C1, statement", "C2": "C2, speaker's turn"}


@dataclass(frozen=True, slots=True)
class Side:
    """What one judge said to the claim in one framing."""

    judge: str
    framing: str  # "C1" or "C2"
    words: str  # "accepts", "rejects", "unreadable", "no reply"
    is_right: bool
    margin: float | None
    text: str  # the whole reply; for margins its one token; "" where texts are withheld
    prompt: str | None  # what the model read


@dataclass(frozen=True, slots=True)
class FlipExample:
    """One item that flips in the first judge, and what every judge said."""

    dataset: str
    item_id: str
    kind: str
    question: str | None
    claim: str | None
    sides: tuple[Side, ...]  # without texts where they are withheld


def flip_examples(runs: Mapping[str, JudgedRun]) -> list[FlipExample]:
    """A few deference and skepticism flips of the first judge in which any flips.

    With margins the flips with the widest swing, else those that come first in the order of their prompts' hashes,
    which is arbitrary and the same on every machine: nothing is picked by hand. Every dataset has its turn before one
    has its second; those whose texts are withheld come last.
    """
    for run in runs.values():
        panels = untreated_panels(run.panels)
        picked = [(p, row, kind) for kind in COLUMNS for p, row in widest(panels, kind)[: N_EACH[run.reading.mode]]]
        if picked:
            texts = item_texts(run)
            hashes = {str(panel.hashes[row, column]) for panel, row, kind in picked for column in COLUMNS[kind]}
            read = {label: rendered_prompts(run.path, hashes) for label, run in runs.items()}
            return [example(runs, panel, row, kind, texts, read) for panel, row, kind in picked]
    return []


def widest(panels: Sequence[Panel], kind: str) -> list[tuple[Panel, int]]:
    """(panel, row) of every flip of a kind: each dataset's widest, then seconds."""
    first, second = COLUMNS[kind]
    ranked: list[tuple[bool, int, float, str, Panel, int]] = []
    for panel in panels:
        flipped = flip_masks(majority(panel.replies))[list(COLUMNS).index(kind)]
        with np.errstate(invalid="ignore"):  # between two infinite margins there is no swing
            swing: FloatArray = np.abs(panel.margins[:, second, 0] - panel.margins[:, first, 0])
        sizes = np.nan_to_num(swing, nan=0.0, posinf=np.inf)
        rows = np.flatnonzero(flipped).tolist()
        in_panel = sorted((-float(sizes[row]), str(panel.hashes[row, second]), row) for row in rows)
        for rank, (size, prompt_hash, row) in enumerate(in_panel):
            ranked.append((panel.dataset in WITHHELD, rank, size, prompt_hash, panel, row))
    return [(panel, row) for *_, panel, row in sorted(ranked, key=lambda entry: entry[:4])]


def example(
    runs: Mapping[str, JudgedRun],
    panel: Panel,
    row: int,
    kind: str,
    texts: Mapping[str, Item],
    read: Mapping[str, Mapping[str, str]],
) -> FlipExample:
    """A flip with the replies of every run that judged the same prompts. read: run → what its model read, by hash."""
    is_withheld = panel.dataset in WITHHELD
    item = None if is_withheld else texts.get(panel.item_ids[row])
    # r/AIO has no question: its claim is about a speaker, and the prompt shows it.
    question, claim = None, None
    if item is not None and item.question:
        question, claim = item.question, item.incorrect_answer if kind == "deference" else item.correct_answer
    sides = []
    for label, run in runs.items():
        for column in COLUMNS[kind]:
            prompt_hash, condition = str(panel.hashes[row, column]), CONDITIONS[column]
            verdict = run.first_verdicts.get(prompt_hash)
            if verdict is not None:
                words = {ACCEPT: "accepts", None: verdict.reason or ""}.get(verdict.choice, "rejects")
                side = Side(
                    judge=label,
                    framing="C2" if condition.is_dialogue else "C1",
                    words=str(words),
                    is_right=verdict.choice is not None and (verdict.choice == ACCEPT) == condition.claim_is_true,
                    margin=verdict.margin,
                    # A reasoned reply repeats the question as a prompt does; a margin's one token does not.
                    text="" if is_withheld else verdict.text,
                    prompt=None if is_withheld else read[label].get(prompt_hash),
                )
                sides.append(side)
    return FlipExample(panel.dataset, panel.item_ids[row], kind, question, claim, tuple(sides))


def shown_texts(runs: Mapping[str, JudgedRun]) -> dict[str, Item]:
    """Item id → item of all runs, as far as their data is at hand and may be shown in plain text."""
    items = [item for run in runs.values() for item in item_texts(run).values()]
    return {item.item_id: item for item in items if item.dataset not in WITHHELD}


def flip_section(runs: Mapping[str, JudgedRun]) -> list[str]:
    """Some flips side by side as HTML; nothing for verdict files, which hold no texts."""
    if not runs:
        return []
    flips = flip_examples(runs)
    if not flips:
        return [element("p", "No verdict was lost from C1 to C2 in any run.")]
    words = "The widest swings of margin" if flips[0].sides[0].margin is not None else "In an arbitrary, fixed order"
    more = "one dataset after the other, of the first run in which any verdict flips; what each judge said."
    return [element("p", f"{words}, {more}", "note"), *(flip_card(flip) for flip in flips)]


def flip_card(flip: FlipExample) -> str:
    """One item with every judge's verdict in both framings."""
    parts = [element("p", f"{KIND_WORDS[flip.kind]} · {flip.dataset} · {flip.item_id}", "note")]
    if flip.dataset in WITHHELD:
        words = f"Not shown: {flip.dataset}'s authors ask that no example appear in plain text. Look it up by its id."
        parts.append(element("p", words, "note"))
    elif flip.question is not None and flip.claim is not None:
        parts += [element("p", f"Question: {flip.question}"), element("p", f"Claimed answer: {flip.claim}")]
    else:
        parts.append(element("p", "The item's text is not shown; the prompts below hold it.", "note"))
    if all(side.margin is not None for side in flip.sides):  # verdicts of one token: a line a judge
        cells: dict[str, dict[str, str]] = {}
        for side in flip.sides:
            words = f"{side.words} ({side.margin:+.2f}), {'right' if side.is_right else 'wrong'}"
            cells.setdefault(side.judge, {})[side.framing] = words
        lines = [[judge, by_framing.get("C1", "–"), by_framing.get("C2", "–")] for judge, by_framing in cells.items()]
        parts.append(table(["judge (margin in nats)", *FRAMING_WORDS.values()], lines, "verdicts"))
    else:
        parts.append(box("sides", [side_card(side) for side in flip.sides]))
    prompts = {side.framing: side.prompt for side in flip.sides if side.prompt is not None}
    parts += [folded(f"What the model read, {framing}", prompt) for framing, prompt in prompts.items()]
    return box("flip", parts)


def side_card(side: Side) -> str:
    """A reasoned verdict."""
    mark = "right" if side.is_right else "wrong"
    heading = element("p", f"{side.judge} · {FRAMING_WORDS[side.framing]}", "note")
    parts = [heading, element("p", f"{side.words}: {mark}", mark)]
    return box("side", [*parts, *([element("p", side.text.strip())] if side.text.strip() else [])])
