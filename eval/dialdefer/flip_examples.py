"""Items whose verdict flips with the framing, picked to be looked at side by side."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from eval.dialdefer.accuracy import flip_masks, majority
from eval.dialdefer.dds import C1_FALSE, C1_TRUE, C2_CORRECT, C2_INCORRECT, CONDITIONS
from eval.dialdefer.panels import ACCEPT, Panel
from eval.dialdefer.prompt_variants import main_panels
from eval.dialdefer.runs import JudgedRun
from evenhand.completion_shards import rendered_prompts
from evenhand.config import parse_config
from evenhand.errors import EvenhandError
from studies.dialdefer.datasets import DatasetSpec, item_set_hash, load_items
from studies.dialdefer.records import Condition, Item

DEFERENCE, SKEPTICISM = "deference", "skepticism"
N_EACH = {"margin": 3, "reason": 2}  # of each kind; reasoned replies take room
# Their authors ask that no example appear in plain text online, where reports tend to end up.
WITHHELD = ("gpqa",)
COLUMNS = {DEFERENCE: (C1_FALSE, C2_INCORRECT), SKEPTICISM: (C1_TRUE, C2_CORRECT)}


@dataclass(frozen=True, slots=True)
class Side:
    """What one judge said to the claim in one framing."""

    judge: str
    framing: str  # "C1" or "C2"
    words: str  # "accepts", "rejects", "unreadable", "no reply"
    is_right: bool
    margin: float | None
    text: str  # the whole reply; for margins its one token
    prompt: str | None  # what the model read


@dataclass(frozen=True, slots=True)
class Flip:
    """One item that flips in the first judge, and what every judge said."""

    dataset: str
    item_id: str
    kind: str
    question: str | None
    claim: str | None
    sides: tuple[Side, ...]  # without texts where they are withheld

    @property
    def is_withheld(self) -> bool:
        """Whether no text of the item may be shown."""
        return self.dataset in WITHHELD


def telling_flips(runs: Mapping[str, JudgedRun]) -> list[Flip]:
    """A few deference and skepticism flips of the first judge in which any flips.

    With margins the flips with the widest swing, else those that come first in the order of their prompts' hashes,
    which is arbitrary and the same on every machine: nothing is picked by hand. Every dataset has its turn before one
    has its second; those whose texts are withheld come last.
    """
    for run in runs.values():
        picked = [
            (panel, row, kind)
            for kind in COLUMNS
            for panel, row in widest(whole_panels(run), kind)[: N_EACH[run.reading.mode]]
        ]
        if picked:
            texts = item_texts(run)
            hashes = {str(panel.hashes[row, column]) for panel, row, kind in picked for column in COLUMNS[kind]}
            read = {label: rendered_prompts(run.path, hashes) for label, run in runs.items()}
            return [flip_of(runs, panel, row, kind, texts, read) for panel, row, kind in picked]
    return []


def whole_panels(run: JudgedRun) -> list[Panel]:
    """The main prompt variant's panels with both framings."""
    return [p for p in main_panels(run.panels) if p.has_c1 and p.has_c2]


def widest(panels: Sequence[Panel], kind: str) -> list[tuple[Panel, int]]:
    """(panel, row) of every flip of a kind in arm `none` (or the only arm): each dataset's widest, then seconds."""
    found: list[tuple[int, bool, float, str, Panel, int]] = []
    for panel in [p for p in panels if p.factors.arm == "none"] or panels:
        is_withheld = panel.dataset in WITHHELD
        for rank, (size, prompt_hash, row) in enumerate(swings(panel, kind)):
            found.append((rank, is_withheld, size, prompt_hash, panel, row))
    return [(panel, row) for *_, panel, row in sorted(found, key=lambda entry: (entry[1], *entry[:4]))]


def swings(panel: Panel, kind: str) -> list[tuple[float, str, int]]:
    """(less the swing of margin, C2's prompt hash, row) of every flip of a kind in a panel, in order."""
    first, second = COLUMNS[kind]
    flipped = flip_masks(majority(panel.replies))[list(COLUMNS).index(kind)]
    with np.errstate(invalid="ignore"):  # between two infinite margins there is no swing
        swing: NDArray[np.float64] = np.abs(panel.margins[:, second, 0] - panel.margins[:, first, 0])
    sizes = np.where(np.isnan(swing), 0.0, swing)
    return sorted((-float(sizes[row]), str(panel.hashes[row, second]), row) for row in np.flatnonzero(flipped).tolist())


def flip_of(
    runs: Mapping[str, JudgedRun],
    panel: Panel,
    row: int,
    kind: str,
    texts: Mapping[str, Item],
    read: Mapping[str, Mapping[str, str]],
) -> Flip:
    """A flip with the replies of every run that judged the same prompts. read: run → what its model read, by hash."""
    is_withheld = panel.dataset in WITHHELD
    item = None if is_withheld else texts.get(panel.item_ids[row])
    # r/AIO has no question: its claim is about a speaker, and the prompt shows it.
    question = item.question if item is not None and item.question else None
    claim = None if item is None or question is None else answer_claimed(item, kind)
    sides = [
        side_of(label, run, str(panel.hashes[row, column]), CONDITIONS[column], read[label])
        for label, run in runs.items()
        for column in COLUMNS[kind]
    ]
    known = [side for side in sides if side is not None]
    # A reasoned reply repeats the question as a prompt does; a margin's one token does not.
    shown = [replace(side, text="", prompt=None) for side in known] if is_withheld else known
    return Flip(panel.dataset, panel.item_ids[row], kind, question, claim, tuple(shown))


def answer_claimed(item: Item, kind: str) -> str:
    """The answer that a flip's claim gives: a false one is deferred to, a true one is doubted."""
    return item.incorrect_answer if kind == DEFERENCE else item.correct_answer


def side_of(label: str, run: JudgedRun, prompt_hash: str, condition: Condition, read: Mapping[str, str]) -> Side | None:
    """What a run's judge said to a prompt, or None when it was not asked."""
    verdict = run.first_verdicts.get(prompt_hash)
    if verdict is None:
        return None
    words = {ACCEPT: "accepts", None: verdict.reason or ""}.get(verdict.choice, "rejects")
    right = verdict.choice is not None and (verdict.choice == ACCEPT) == condition.claim_is_true
    framing = "C2" if condition.is_dialogue else "C1"
    return Side(label, framing, str(words), right, verdict.margin, verdict.text, read.get(prompt_hash))


def item_texts(run: JudgedRun) -> dict[str, Item]:
    """Item id → item, read again from the run's own data; empty when that is gone or no longer the same.

    The report then says that it cannot show questions; the verdicts do not depend on it.
    """
    where = str(run.path / "config.yaml")
    try:
        specs = [parse_config(DatasetSpec, dict(spec), where) for spec in run.config["dialdefer"]["benchmarks"]]
        items = load_items(specs)
    except EvenhandError:
        return {}
    if item_set_hash(items) != run.provenance.get("item_set_hash"):
        return {}
    return {item.item_id: item for item in items}


def shown_texts(runs: Mapping[str, JudgedRun]) -> dict[str, Item]:
    """Item id → item of all runs, as far as their data is at hand and may be shown in plain text."""
    items = [item for run in runs.values() for item in item_texts(run).values()]
    return {item.item_id: item for item in items if item.dataset not in WITHHELD}
