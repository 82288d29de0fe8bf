"""Items whose verdict flips with the framing, picked to be looked at side by side, as flips.j2 shows them."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace

import numpy as np

from eval.dialdefer.measures import (
    ACCEPT,
    C1_FALSE,
    C1_TRUE,
    C2_CORRECT,
    C2_INCORRECT,
    CONDITIONS,
    flip_masks,
    majority,
)
from eval.dialdefer.panels import Panel, untreated_panels
from eval.dialdefer.runs import JudgedRun, item_texts
from eval.report.page import TEMPLATES
from evenhand.completions import rendered_prompts
from studies.dialdefer.records import Item

N_EACH = {"margin": 3, "reason": 2}  # of each kind; reasoned replies take room
# Their authors ask that no example appear in plain text online, where reports tend to end up.
WITHHELD = ("gpqa",)
COLUMNS = {"deference": (C1_FALSE, C2_INCORRECT), "skepticism": (C1_TRUE, C2_CORRECT)}


def flip_examples(runs: Mapping[str, JudgedRun]) -> list[SimpleNamespace]:
    """A few deference and skepticism flips of the first judge in which any flips: dataset, item_id, kind, question and
    claim (None where withheld or unknown), and what every judge said of the same prompts, `sides`.

    With margins the flips with the widest swing, else those that come first in the order of their prompts' hashes,
    which is arbitrary and the same on every machine: nothing is picked by hand. Every dataset has its turn before one
    has its second; those whose texts are withheld come last.
    """
    for run in runs.values():
        panels = untreated_panels(run.panels)
        picked = [
            (p, row, kind) for kind in COLUMNS for p, row in widest_swings(panels, kind)[: N_EACH[run.reading.mode]]
        ]
        if picked:
            texts = item_texts(run)
            hashes = {str(panel.hashes[row, column]) for panel, row, kind in picked for column in COLUMNS[kind]}
            read = {label: rendered_prompts(run.path, hashes) for label, run in runs.items()}
            return [example(runs, panel, row, kind, texts, read) for panel, row, kind in picked]
    return []


def widest_swings(panels: Sequence[Panel], kind: str) -> list[tuple[Panel, int]]:
    """(panel, row) of every flip of a kind: each dataset's widest, then seconds."""
    first, second = COLUMNS[kind]
    ranked = []
    for panel in panels:
        flipped = flip_masks(majority(panel.replies))[list(COLUMNS).index(kind)]
        with np.errstate(invalid="ignore"):  # between two infinite margins there is no swing
            swings = np.nan_to_num(np.abs(panel.margins[:, second, 0] - panel.margins[:, first, 0]), posinf=np.inf)
        in_panel = sorted((-swings[row], str(panel.hashes[row, second]), row) for row in np.flatnonzero(flipped))
        ranked += [(panel.dataset in WITHHELD, rank, *place, panel) for rank, place in enumerate(in_panel)]
    return [(panel, int(row)) for *_, row, panel in sorted(ranked, key=lambda entry: entry[:4])]


def example(
    runs: Mapping[str, JudgedRun],
    panel: Panel,
    row: int,
    kind: str,
    texts: Mapping[str, Item],
    read: Mapping[str, Mapping[str, str]],
) -> SimpleNamespace:
    """A flip with the replies of every run that judged the same prompts. read: run → what its model read, by hash."""
    is_withheld = panel.dataset in WITHHELD
    item = None if is_withheld else texts.get(panel.item_ids[row])
    # r/AIO has no question: its claim is about a speaker, and the prompt shows it.
    question, claim = None, None
    if item is not None and item.question:
        question, claim = item.question, item.incorrect_answer if kind == "deference" else item.correct_answer
    sides = []
    for label, run in runs.items():
        verdicts = {v.prompt_hash: v for v in run.verdicts if v.sample_index == 0}
        for column in COLUMNS[kind]:
            prompt_hash, condition = str(panel.hashes[row, column]), CONDITIONS[column]
            if verdict := verdicts.get(prompt_hash):
                side = SimpleNamespace(
                    judge=label,
                    framing="C2" if condition.is_dialogue else "C1",
                    words={ACCEPT: "accepts", None: str(verdict.reason)}.get(verdict.choice, "rejects"),
                    is_right=verdict.choice is not None and (verdict.choice == ACCEPT) == condition.claim_is_true,
                    margin=verdict.margin,
                    # A reasoned reply repeats the question as a prompt does; a margin's one token does not.
                    text="" if is_withheld else verdict.text,
                    prompt=None if is_withheld else read[label].get(prompt_hash),
                )
                sides.append(side)
    fields = {"question": question, "claim": claim, "sides": sides}
    return SimpleNamespace(dataset=panel.dataset, item_id=panel.item_ids[row], kind=kind, **fields)


def shown_texts(runs: Mapping[str, JudgedRun]) -> dict[str, Item]:
    """Item id → item of all runs, as far as their data is at hand and may be shown in plain text."""
    items = [item for run in runs.values() for item in item_texts(run).values()]
    return {item.item_id: item for item in items if item.dataset not in WITHHELD}


def flip_section(runs: Mapping[str, JudgedRun]) -> list[str]:
    """Some flips side by side as HTML; nothing for verdict files, which hold no texts."""
    template = TEMPLATES.from_string(Path(__file__).with_name("flips.j2").read_text(encoding="utf-8"))
    return [template.render(flips=flip_examples(runs), withheld=WITHHELD)] if runs else []
