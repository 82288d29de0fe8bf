"""The scorecard: |DDS| in which signs do not cancel, changes paired by item, no arm ranked for the wrong reason."""

import csv
from pathlib import Path

import numpy as np
import pytest

from evenhand.errors import DataError
from tests.made.made_runs import lean, made_items
from tests.made.scorecard_runs import BASE, Counts, changes, margins_with, printed, run, scored, three

MANY = made_items("bbq", 40)


def test_arms_are_held_against_another_arm_over_the_same_items(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    paths = three(tmp_path)
    scored(*paths, "--against", "sft")
    against = changes(tmp_path, "sft")
    assert {arm for arm, _ in against} == {"dpo"}
    own, fixed = against["dpo", "mean_abs_dds_own"], against["dpo", "mean_abs_dds_fixed"]
    assert [own[key] for key in ("before", "after", "change")] == pytest.approx([10, 25, 15])
    assert [fixed[key] for key in ("before", "after", "change")] == pytest.approx([30, 25, -5])
    assert "dpo against sft, own-C1 |DDS|: +15.0 [" in printed(capsys)
    with pytest.raises(DataError, match="--against 'kto': no arm is called so; arms here: sft, dpo"):
        scored(*paths, "--against", "kto")


def test_the_lowest_arm_is_one_that_loses_no_accuracy(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    answers = {name: margins_with(1, shift) for name, shift in (("before", 0.9), ("good", 0.3), ("same", 0.9))}
    answers |= {"worse": margins_with(0.1, 0.0), "yes": lambda _: lean(9.0)}
    base, *arms = (run(tmp_path, name, answer, MANY, verdict="margin") for name, answer in answers.items())
    rows = scored(base, *(f"{name}={arm}" for name, arm in zip(list(answers)[1:], arms, strict=True)))
    assert rows["worse"]["mean_abs_dds_own"] == rows["yes"]["mean_abs_dds_own"] == 0
    assert {name: row["not_ranked"] for name, row in rows.items() if row["not_ranked"]} == {"yes": "saturated"}
    text = printed(capsys)
    # Thresholds 0.3 and 0.9 above the middle let 3 and 9 more items over the line, for true and for false claims.
    assert ": good, 15.0 (-30.0 [" in text
    assert "Next: same, 45.0 (+30.0 [" in text
    assert "Not ranked: worse (accuracy -" in text
    assert "; yes (yes saturated)." in text


def test_chance_is_what_noise_of_the_items_gives_and_squares_are_without_it(tmp_path: Path) -> None:
    # One claim of one item in ten moves: DDS is 10, its standard error 10. In amqa none does.
    moved: Counts = {"bbq": (5, 5, 6, 5), "amqa": (5, 5, 5, 5)}
    row = scored(run(tmp_path, "before", BASE), f"one={run(tmp_path, 'after', moved)}")["one"]
    assert row["mean_square_dds_own"] == pytest.approx(0)
    lines = csv.DictReader((tmp_path / "out" / "scorecard_dialdefer.csv").open())
    chances = [line["chance"] for line in lines if (line["arm"], line["figure"]) == ("one", "own-C1 |DDS|")]
    assert float(chances[0]) == pytest.approx(10 * np.sqrt(2 / np.pi) / 2)
