"""Rows of a scorecard: which checkpoints and patches contradict each other."""

from dataclasses import replace
from pathlib import Path

import pytest

from eval.scorecard.arms import (
    BASE,
    PATCH,
    TRAINED,
    CardArm,
    arm_names,
    other_checkpoint,
    patch_warnings,
    training_doubts,
)
from eval.scorecard.rules import RULES
from evenhand.errors import DataError


def row(name, checkpoint, base_hash=None):
    return CardArm(
        name=name,
        arm=name,
        kind=BASE if name == BASE else TRAINED,
        path=Path(name),
        config={"model": {"name": name}},
        provenance={"model": {"checkpoint_hash": checkpoint, "base_hash": base_hash}},
        cost={},
    )


def test_an_arm_contradicts_a_base_of_another_checkpoint_and_none_that_a_server_answered_for():
    arm = row("sft", "c-sft", base_hash="c-base")
    assert training_doubts([row(BASE, "c-base"), arm]) == []
    assert training_doubts([row(BASE, "c-new"), arm]) == [
        "sft was trained from checkpoint c-base, and the base's run is of c-new"
    ]
    assert training_doubts([row(BASE, None), arm]) == []


def test_seeds_of_an_arm_are_of_one_patch_and_of_a_patch_there_is_one_run():
    """A patch is what it sets, not what it is called; servers tell no checkpoint."""
    base, other = row(BASE, None), {"name": "p", "system": "Other."}
    first = replace(row("p", None), kind=PATCH, config={"patch": {"name": "p", "system": "Be fair."}})
    again = replace(first, name="q", arm="q", config={"patch": {"name": "q", "system": "Be fair."}})
    assert training_doubts([base, first, again]) == ["p and q are both of the base's checkpoint"]
    assert training_doubts([base, first, replace(again, config={"patch": other})]) == []
    seeds = [row("sft", "c-1"), replace(row("sft", "c-2"), config={"patch": other})]
    (doubt,) = training_doubts([base, *seeds])
    assert "seeds of one arm under different patches" in doubt
    (warning,) = patch_warnings([base, *seeds, first])
    assert warning.startswith("sft was asked under p and the base under no patch")


def test_an_arms_run_of_a_study_is_of_its_own_checkpoint_where_both_are_known():
    arm = row("sft", "c-sft")
    assert [other_checkpoint(arm, row("run", known), "narrator") for known in ("c-sft", None)] == ["", ""]
    assert "of checkpoint c-sft, but its narrator run" in other_checkpoint(arm, row("run", "c-dpo"), "narrator")
    assert "of checkpoint a, but its narrator run b of b" in other_checkpoint(
        row("a", None), row("b", None), "narrator"
    )


def test_the_name_of_a_row_under_a_rule_is_taken():
    assert arm_names([row("sft", "a"), row("threshold of 3", "b")], RULES) == ["sft", "threshold of 3"]
    for rule in RULES:
        with pytest.raises(DataError, match="give the arm another name"):
            arm_names([row("sft", "a"), row(f"sft + {rule}", "b")], RULES)
