"""Rows of a scorecard: which checkpoints contradict each other."""

from pathlib import Path

from eval.scorecard.arms import BASE, TRAINED, CardArm, other_checkpoint, training_doubts


def row(name: str, checkpoint: str | None, base_hash: str | None = None) -> CardArm:
    return CardArm(
        name=name,
        arm=name,
        kind=BASE if name == BASE else TRAINED,
        path=Path(name),
        config={"model": {"name": name}},
        provenance={"model": {"checkpoint_hash": checkpoint}},
        cost={},
        base_hash=base_hash,
    )


def test_an_arm_contradicts_a_base_of_another_checkpoint_and_none_that_a_server_answered_for() -> None:
    arm = row("sft", "c-sft", base_hash="c-base")
    assert training_doubts([row(BASE, "c-base"), arm]) == []
    assert training_doubts([row(BASE, "c-new"), arm]) == [
        "sft was trained from checkpoint c-base, and the base's run is of c-new"
    ]
    assert training_doubts([row(BASE, None), arm]) == []


def test_an_arms_run_of_a_study_is_of_its_own_checkpoint_where_both_are_known() -> None:
    arm = row("sft", "c-sft")
    assert [other_checkpoint(arm, row("run", known), "narrator") for known in ("c-sft", None)] == ["", ""]
    assert "of checkpoint c-sft, but its narrator run" in other_checkpoint(arm, row("run", "c-dpo"), "narrator")
    assert "of checkpoint a, but its narrator run b of b" in other_checkpoint(
        row("a", None), row("b", None), "narrator"
    )
