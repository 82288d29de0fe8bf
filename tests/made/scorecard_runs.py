"""Sampling runs of a base and its arms whose figures can be told by counting, for tests of the scorecard."""

import json
from pathlib import Path

import pytest

from eval.scorecard.card import StudyCard
from evenhand.cli.scorecard import main
from studies.dialdefer.records import Condition
from tests.made.made_runs import lean, made_items, make_run, say

CONDITIONS = list(Condition)
C2 = CONDITIONS[2:]
ITEMS = [*made_items("bbq", 10), *made_items("amqa", 10)]

# Of 10 items, how many claims are accepted in C1_True, C1_False, C2_Correct, C2_Incorrect. DDS is 10 times the rise.
BASE = {"bbq": (8, 4, 9, 7), "amqa": (8, 4, 6, 2)}  # +40, -40; accuracy 65 and 70, of C2 60 and 70
SFT = {"bbq": (5, 5, 4, 4), "amqa": (9, 1, 9, 1)}  # own -20, 0; fixed -40, -20
DPO = {"bbq": (2, 2, 4, 4), "amqa": (9, 1, 9, 2)}  # own +40, +10; fixed -40, -10


def number(prompt):
    """The item's number in its dataset."""
    return int(prompt.item_id.rpartition("-")[2])


def accepting(counts):
    """Accepts the claims of so many items of each dataset, the first ones."""
    return lambda p: say(1 if number(p) < counts[p.dataset][CONDITIONS.index(p.condition)] else 2)


def run(root, name, answer, items=ITEMS, **keys):
    """A sampling run, of a checkpoint of its own unless `facts` say otherwise."""
    facts = {"checkpoint_hash": f"c-{name}", **keys.pop("facts", {})}
    return make_run(
        root, answer if callable(answer) else accepting(answer), items=items, name=name, facts=facts, **keys
    )


def three(root):
    """Base, SFT and DPO."""
    arms = [run(root, name, counts, model=f"owner/{name}") for name, counts in (("sft", SFT), ("dpo", DPO))]
    return run(root, "before", BASE), *arms


def scored(*words, draws=400):
    """Arm → row of scorecard.json; of a card without plots."""
    base = Path(str(words[0]))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(StudyCard, "plots", lambda _: ())
        main([*map(str, words), "--all", "--draws", str(draws), "--out", str(base.parent / "out")])
    return {row["arm"]: row for row in json.loads((base.parent / "out" / "scorecard.json").read_text())}


def changes(root, against="base", n_datasets=2):
    """(arm, figure) → change over so many datasets, as the last scorecard wrote them."""
    rows = json.loads((root / "out" / "scorecard_changes.json").read_text())
    return {(r["second"], r["measure"]): r for r in rows if r["first"] == against and len(r["datasets"]) == n_datasets}


def printed(capsys):
    """What was printed since, on one line."""
    return " ".join(capsys.readouterr().out.split())


def margins_with(skill, shift):
    """Judges apart by so much, and accepts so much more in dialogue; items differ by steps of 0.1 about 0."""
    return lambda p: lean(
        (skill if p.condition.claim_is_true else -skill) + 0.1 * (number(p) - 19.5) + shift * p.condition.is_dialogue
    )


TRAINED = {"seconds": 120.5, "n_processes": 4, "n_tokens": 1_000_000, "peak_memory_gib": 61.5}


def training_run(root, name, facts):
    """A training run with a merged checkpoint, as sampling configs name it: relative to the folder above runs/."""
    folder = root / "runs" / "training" / name
    (folder / "merged-bf16").mkdir(parents=True)
    if facts is not None:
        (folder / "DONE.json").write_text(json.dumps(facts))
    return f"runs/training/{name}/merged-bf16"


def yes_sayer(prompt):
    """Says yes to every claim, more loudly in dialogue, but knows: thresholds 3 and 5 part true from false."""
    return lean((1.0 if prompt.condition.claim_is_true else -1.0) + 3.0 + 2.0 * prompt.condition.is_dialogue)
