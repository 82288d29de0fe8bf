"""From run directories to scores.json: counts, denominators, intervals, tests, margins, warnings and refusals."""

from pathlib import Path
from typing import Any

import pytest

from eval.dialdefer.panels import load_run
from evenhand.errors import DataError
from evenhand.records import Prompt
from studies.dialdefer.records import Condition
from tests.made.made_runs import lean, made_items, make_run, say
from tests.made.made_verdicts import WRONG, Row, only, scored
from tests.made.scorecard_runs import number

C1_TRUE, C1_FALSE, C2_CORRECT, C2_INCORRECT = Condition
C2_ONLY = (C2_CORRECT, C2_INCORRECT)
TEN = made_items("bbq", 10)


def right(prompt: Prompt) -> int:
    """The right verdict on a prompt."""
    return 1 if prompt.condition.claim_is_true else 2


def judge(prompt: Prompt) -> dict[str, Any]:
    """Right but on the items of WRONG."""
    return say(3 - right(prompt) if number(prompt) in WRONG[prompt.condition] else right(prompt))


def scored_run(root: Path, answer: Any = judge, items: Any = TEN, *words: str, **keys: Any) -> list[Row]:
    return scored([make_run(root, answer, items=items, **keys)], *words)


def published(rows: list[Row], dataset: str = "bbq", **keys: Any) -> Row:
    return only(rows, dataset=dataset, **{"denominator": "published", **keys})


def test_a_run_is_scored_as_counted_by_hand(tmp_path: Path) -> None:
    row = published(scored_run(tmp_path, items=made_items("truthfulqa", 10)), "truthfulqa")
    keys = ("acc_c1_true", "acc_c1_false", "acc_c2_correct", "acc_c2_incorrect")
    assert [row[k] for k in keys] == pytest.approx([60, 80, 80, 50])
    assert (row["delta_correct_pp"], row["delta_incorrect_pp"]) == (pytest.approx(20), pytest.approx(-30))
    assert row["dds_pp"] == pytest.approx(50)
    assert row["dds_low_pp"] < 50 < row["dds_high_pp"]
    assert (row["n_deference_flips"], row["n_skepticism_flips"], row["flip_rate"]) == (3, 1, pytest.approx(0.4))
    # True claims: only C1 right {9}, only C2 right {1, 2, 3}. False claims: only C1 right {0, 1, 2}, only C2 none.
    assert row["mcnemar_p_correct"] == pytest.approx(2 * (1 + 4) / 16)
    assert row["mcnemar_p_incorrect"] == pytest.approx(2 / 8)
    # Acceptance: rises in {1, 2, 3} and {0, 1, 2}, falls in {9}.
    assert row["mcnemar_p_acceptance"] == pytest.approx(2 * (1 + 7) / 128)
    assert (row["n_items"], row["n_unparsed"], row["n_errors"]) == (10, 0, 0)
    setting = ("reason", "strict", "none", "2->1", "own")
    assert tuple(row[key] for key in ("verdict", "parser", "arm", "roles", "c1_source")) == setting


def test_an_unreadable_reply_counts_as_wrong_or_is_left_out_as_the_denominator_says(tmp_path: Path) -> None:
    def answer(prompt: Prompt) -> dict[str, Any]:
        mute = prompt.condition is C2_CORRECT and number(prompt) < 2
        return say("Speaker 2 is correct." if mute else right(prompt))

    path = make_run(tmp_path, answer, items=TEN)
    strict, answered = (only(scored([path]), dataset="bbq", denominator=d) for d in ("published", "answered"))
    assert (strict["acc_c2_correct"], answered["acc_c2_correct"]) == (pytest.approx(80), pytest.approx(100))
    assert strict["n_unparsed"] == answered["n_unparsed"] == 2
    assert (strict["unparsed_rate"], strict["n_unparsed_lenient"]) == (pytest.approx(2 / 40), 0)
    assert strict["n_skepticism_flips"] == 0, "a null answer is never a flip"
    assert strict["mcnemar_p_acceptance"] == 1.0, "and neither accepts nor rejects"
    lenient = published(scored([path], "--parser", "lenient"))
    assert (lenient["parser"], lenient["n_unparsed"], lenient["n_unparsed_strict"]) == ("lenient", 0, 2)
    assert lenient["n_skepticism_flips"] == 2


def test_runs_that_cannot_be_scored_are_refused(tmp_path: Path) -> None:
    path = make_run(tmp_path, judge, items=TEN, leave_out=3)
    with pytest.raises(DataError) as refusal:
        scored([path])
    assert f"`evenhand sample {path}/config.yaml`" in str(refusal.value)
    assert not (tmp_path / "out").exists()
    with pytest.raises(DataError, match="no arm has both C1 and C2"):
        scored_run(tmp_path / "dialogues", conditions={"none": C2_ONLY})
    with pytest.raises(DataError, match="the engine failed on every item"):
        scored_run(tmp_path / "dead", lambda _: {"text": "", "finish_reason": "error: prompt too long"})
    with pytest.raises(DataError, match="is no sampling run"):
        load_run(tmp_path)
    damaged = make_run(tmp_path, judge, items=TEN[:2], name="damaged")
    shard = next((damaged / "completions").iterdir())
    shard.write_text(shard.read_text() + "{half a li")
    with pytest.raises(DataError, match=rf"{shard.name}:9"):
        load_run(damaged)


def test_a_tie_is_half_right_and_no_flip_and_no_discordant_pair(tmp_path: Path) -> None:
    is_tie = lambda p: p.condition is C1_TRUE and number(p) < 4  # noqa: E731
    rows = scored_run(tmp_path, lambda p: lean(0.0 if is_tie(p) else 3.0 - 2 * right(p)), verdict="margin")
    half, answered = (only(rows, dataset="bbq", denominator=d) for d in ("published", "answered"))
    assert (half["acc_c1_true"], answered["acc_c1_true"]) == (pytest.approx(80), pytest.approx(100))
    assert (half["n_ties"], half["n_unparsed"], half["n_skepticism_flips"]) == (4, 0, 0)
    assert half["mcnemar_p_correct"] == 1.0
