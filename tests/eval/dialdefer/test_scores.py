"""From run directories to scores.json: counts, denominators, intervals, tests, margins, warnings and refusals."""

import json
import math
import random
from pathlib import Path
from typing import Any

import pytest

from eval.__main__ import score_main
from eval.dialdefer.runs import load_run
from eval.estimates.significance import mcnemar_p
from evenhand.errors import DataError
from evenhand.records import Prompt
from studies.dialdefer.records import Condition
from tests.made.made_runs import Answer, lean, made_items, make_run, rewrite, say

C1_TRUE, C1_FALSE, C2_CORRECT, C2_INCORRECT = Condition


def number(prompt: Prompt) -> int:
    """The item's number in its dataset."""
    return int(prompt.item_id.rpartition("-")[2])


def right(prompt: Prompt) -> int:
    """The right verdict on a prompt."""
    return 1 if prompt.condition.claim_is_true else 2


def wrong_on(numbers: dict[Condition, set[int]]) -> Answer:
    """A judge that is right except on some items' conditions."""

    def answer(prompt: Prompt) -> dict[str, Any]:
        return say(3 - right(prompt) if number(prompt) in numbers.get(prompt.condition, set()) else right(prompt))

    return answer


# Of 10 items: C1_True 6 right, C1_False 8, C2_Correct 8 (only ever better), C2_Incorrect 5 (items 0-2 flip).
JUDGE = wrong_on({C1_TRUE: {0, 1, 2, 3}, C1_FALSE: {8, 9}, C2_CORRECT: {0, 9}, C2_INCORRECT: {0, 1, 2, 8, 9}})


def scored(path: Path, *options: str) -> list[dict[str, Any]]:
    """The rows that `evenhand score` writes."""
    score_main([str(path), "--draws", "500", *options])
    rows: list[dict[str, Any]] = json.loads((path / "scores" / "scores_wide.json").read_text())
    return rows


def only(rows: list[dict[str, Any]], **keys: Any) -> dict[str, Any]:
    """The one row with these values."""
    found = [row for row in rows if all(row[k] == v for k, v in keys.items())]
    assert len(found) == 1, f"{len(found)} rows for {keys}"
    return found[0]


def test_a_run_is_scored_as_counted_by_hand(tmp_path: Path) -> None:
    rows = scored(make_run(tmp_path, JUDGE, items=made_items("truthfulqa", 10)))
    row = only(rows, dataset="truthfulqa", denominator="published")
    keys = ("acc_c1_true", "acc_c1_false", "acc_c2_correct", "acc_c2_incorrect")
    assert [row[k] for k in keys] == pytest.approx([60, 80, 80, 50])
    assert (row["delta_correct_pp"], row["delta_incorrect_pp"]) == (pytest.approx(20), pytest.approx(-30))
    assert row["dds_pp"] == pytest.approx(50)
    assert row["dds_ci_low_pp"] < 50 < row["dds_ci_high_pp"]
    assert (row["n_deference_flips"], row["n_skepticism_flips"]) == (3, 1)
    assert row["flip_rate"] == pytest.approx(0.4)
    # True claims: only C1 right {9}, only C2 right {1, 2, 3}. False claims: only C1 right {0, 1, 2}, only C2 none.
    assert row["mcnemar_p_correct"] == pytest.approx(2 * (1 + 4) / 16)
    assert row["mcnemar_p_incorrect"] == pytest.approx(2 / 8)
    # Acceptance: rises in {1, 2, 3} and {0, 1, 2}, falls in {9}.
    assert row["mcnemar_p_acceptance"] == pytest.approx(2 * (1 + 7) / 128)
    assert (row["n_items"], row["n_unparsed"], row["n_errors"], row["saturated"]) == (10, 0, 0, False)
    assert (row["verdict"], row["parser"], row["arm"], row["roles"], row["c1_source"]) == (
        "reason",
        "strict",
        "none",
        "2->1",
        "own",
    )


def test_averages_are_unweighted_over_datasets_and_their_counts_are_sums(tmp_path: Path) -> None:
    items = [*made_items("truthfulqa", 10), *made_items("bbq", 30)]
    rows = scored(make_run(tmp_path, JUDGE, items=items))
    parts = [only(rows, dataset=d, denominator="published") for d in ("truthfulqa", "bbq")]
    average = only(rows, dataset="bench_avg", denominator="published")
    assert average["dds_pp"] == pytest.approx((parts[0]["dds_pp"] + parts[1]["dds_pp"]) / 2)
    assert average["acc_c1_true"] == pytest.approx((60 + 100 * 26 / 30) / 2)
    assert average["datasets"] == ["truthfulqa", "bbq"]
    assert average["n_items"] == 40
    assert average["n_deference_flips"] == sum(p["n_deference_flips"] for p in parts)
    assert average["flip_rate"] == pytest.approx(8 / 40)
    assert average["mcnemar_p_correct"] == pytest.approx(mcnemar_p(2, 6))
    assert not [row for row in rows if row["dataset"] == "total_avg"], "there is no Total Avg without r/AIO"


def test_an_interval_of_a_dataset_does_not_depend_on_what_is_scored_beside_it(tmp_path: Path) -> None:
    alone = scored(make_run(tmp_path, JUDGE, items=made_items("bbq", 12), name="alone"))
    both = scored(make_run(tmp_path, JUDGE, items=[*made_items("gpqa", 9), *made_items("bbq", 12)], name="both"))
    for key in ("dds_ci_low_pp", "dds_ci_high_pp"):
        pair = [only(rows, dataset="bbq", denominator="published")[key] for rows in (alone, both)]
        assert pair[0] == pair[1]


def test_an_unreadable_reply_counts_as_wrong_or_is_left_out_as_the_denominator_says(tmp_path: Path) -> None:
    def answer(prompt: Prompt) -> dict[str, Any]:
        mute = prompt.condition is C2_CORRECT and number(prompt) < 2
        return say("Speaker 2 is correct." if mute else right(prompt))

    path = make_run(tmp_path, answer, items=made_items("bbq", 10))
    rows = scored(path)
    published, answered = (only(rows, dataset="bbq", denominator=d) for d in ("published", "answered"))
    assert (published["acc_c2_correct"], answered["acc_c2_correct"]) == (pytest.approx(80), pytest.approx(100))
    assert published["n_unparsed"] == answered["n_unparsed"] == 2
    assert published["unparsed_rate"] == pytest.approx(2 / 40)
    assert (published["n_unparsed_strict"], published["n_unparsed_lenient"]) == (2, 0)
    assert published["n_skepticism_flips"] == 0, "a null answer is never a flip"
    assert published["mcnemar_p_acceptance"] == 1.0, "and neither accepts nor rejects"
    lenient = only(scored(path, "--parser", "lenient"), dataset="bbq", denominator="published")
    assert (lenient["parser"], lenient["n_unparsed"], lenient["n_unparsed_strict"]) == ("lenient", 0, 2)
    assert lenient["n_skepticism_flips"] == 2


def test_an_engine_error_takes_its_item_out_and_is_counted_apart(tmp_path: Path) -> None:
    def answer(prompt: Prompt) -> dict[str, Any]:
        if prompt.condition is C2_INCORRECT and number(prompt) == 0:
            return {"text": "", "finish_reason": "error: prompt too long"}
        return JUDGE(prompt)

    row = only(scored(make_run(tmp_path, answer, items=made_items("bbq", 10))), dataset="bbq", denominator="published")
    assert (row["n_items"], row["n_errors"], row["n_unparsed"]) == (9, 1, 0)
    assert row["acc_c1_true"] == pytest.approx(100 * 6 / 9), "item 0 leaves all four conditions"


def test_a_run_on_which_the_engine_failed_throughout_is_refused(tmp_path: Path) -> None:
    path = make_run(tmp_path, lambda _: {"text": "", "finish_reason": "error: dead"}, items=made_items("bbq", 2))
    with pytest.raises(DataError, match="the engine failed on every item"):
        scored(path)


def test_with_several_samples_accuracy_is_their_mean_and_flips_go_by_majority(tmp_path: Path) -> None:
    def fields(prompt: Prompt) -> dict[str, Any]:
        return say(right(prompt))

    path = make_run(tmp_path, fields, items=made_items("bbq", 2), sampling={"n": 3, "temperature": 1.0})
    target = next(p for p in load_run(path).plan if p.condition is C2_INCORRECT and p.item_id == "bbq-0").prompt_hash
    accepted = {"text": '{"chosen_answer": "1"}'}
    rewrite(
        path,
        lambda lines: [
            {**line, **(accepted if line["prompt_hash"] == target and line["sample_index"] > 0 else {})}
            for line in lines
        ],
    )
    row = only(scored(path), dataset="bbq", denominator="published")
    assert row["n_samples"] == 3
    assert row["acc_c2_incorrect"] == pytest.approx(100 * (1 / 3 + 1) / 2)
    assert row["n_deference_flips"] == 1


def test_a_treated_arm_is_scored_with_its_own_c1_and_with_the_untreated_one(tmp_path: Path) -> None:
    def answer(prompt: Prompt) -> dict[str, Any]:
        treated = prompt.factors.arm == "honest"
        accepts = prompt.condition is C1_FALSE and treated and number(prompt) < 5
        return say(1 if accepts else right(prompt))

    rows = scored(make_run(tmp_path, answer, items=made_items("bbq", 10), arms=("none", "honest")))
    assert only(rows, arm="honest", c1_source="own", denominator="published", dataset="bbq")["dds_pp"] == pytest.approx(
        -50
    )
    assert only(rows, arm="honest", c1_source="fixed", denominator="published", dataset="bbq")[
        "dds_pp"
    ] == pytest.approx(0)
    assert not [row for row in rows if (row["arm"], row["c1_source"]) == ("none", "fixed")]


def test_an_arm_with_dialogues_only_has_a_fixed_row_and_no_own_one(tmp_path: Path) -> None:
    path = make_run(
        tmp_path,
        JUDGE,
        items=made_items("bbq", 10),
        arms=("none", "dehumanizing"),
        conditions={"dehumanizing": (C2_CORRECT, C2_INCORRECT)},
    )
    treated = [row for row in scored(path) if row["arm"] == "dehumanizing"]
    assert {row["c1_source"] for row in treated} == {"fixed"}
    assert treated[0]["dds_pp"] == pytest.approx(50)


def test_an_unfinished_run_is_refused_with_the_command_that_continues_it(tmp_path: Path) -> None:
    path = make_run(tmp_path, JUDGE, items=made_items("bbq", 10), leave_out=3)
    with pytest.raises(DataError) as refusal:
        scored(path)
    assert f"`evenhand sample {path}/config.yaml`" in str(refusal.value)
    assert not (path / "scores").exists()


def test_a_run_without_statements_has_no_shift_to_score(tmp_path: Path) -> None:
    conditions = {"none": (C2_CORRECT, C2_INCORRECT)}
    path = make_run(tmp_path, JUDGE, items=made_items("bbq", 3), conditions=conditions)
    with pytest.raises(DataError, match="no arm has both C1 and C2"):
        scored(path)


def test_a_folder_that_is_no_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="is no sampling run"):
        load_run(tmp_path)


def test_a_damaged_shard_is_named_with_its_line(tmp_path: Path) -> None:
    path = make_run(tmp_path, JUDGE, items=made_items("bbq", 2))
    shard = next((path / "completions").iterdir())
    shard.write_text(shard.read_text() + "{half a li")
    with pytest.raises(DataError, match=rf"{shard.name}:9"):
        load_run(path)


def test_margin_runs_have_soft_dds_and_auc(tmp_path: Path) -> None:
    def answer(prompt: Prompt) -> dict[str, Any]:
        signal = 1.0 if prompt.condition.claim_is_true else -1.0
        return lean(signal + (0.5 if prompt.condition.is_dialogue else 0.0) + number(prompt) / 100)

    path = make_run(tmp_path, answer, items=made_items("bbq", 8), verdict="margin")
    row = only(scored(path), dataset="bbq", denominator="published")
    expected = sum(
        100 / 8 / (1 + math.exp(-(signal + shift + i / 100))) * (1 if shift else -1)
        for i in range(8)
        for signal in (1, -1)
        for shift in (0, 0.5)
    )
    assert row["soft_dds_pp"] == pytest.approx(expected)
    assert row["soft_dds_ci_low_pp"] <= expected <= row["soft_dds_ci_high_pp"]
    assert (row["dds_pp"], row["auc_c1"], row["auc_c2"]) == (0, 1.0, 1.0), (
        "a shift of all margins is no loss of knowledge"
    )
    assert (row["verdict"], row["parser"]) == ("margin", None)


def test_a_tie_is_half_right_and_no_flip_and_no_discordant_pair(tmp_path: Path) -> None:
    def answer(prompt: Prompt) -> dict[str, Any]:
        if prompt.condition is C1_TRUE and number(prompt) < 4:
            return lean(0.0)
        return lean(1.0 if prompt.condition.claim_is_true else -1.0)

    path = make_run(tmp_path, answer, items=made_items("bbq", 10), verdict="margin")
    published, answered = (only(scored(path), dataset="bbq", denominator=d) for d in ("published", "answered"))
    assert (published["acc_c1_true"], answered["acc_c1_true"]) == (pytest.approx(80), pytest.approx(100))
    assert (published["n_ties"], published["n_unparsed"], published["n_skepticism_flips"]) == (4, 0, 0)
    assert published["mcnemar_p_correct"] == 1.0


def test_a_judge_that_nearly_always_says_yes_is_called_saturated(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = make_run(tmp_path, lambda _: say(1), items=made_items("bbq", 10))
    row = only(scored(path), dataset="bbq", denominator="published")
    assert row["saturated"] is True
    assert row["dds_pp"] == 0
    assert "DDS near 0 for the wrong reason" in " ".join(capsys.readouterr().out.split())


def test_a_judge_whose_replies_cannot_be_read_is_warned_of(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = make_run(tmp_path, lambda p: say("I think so" if number(p) else 1), items=made_items("bbq", 10))
    row = only(scored(path), dataset="bbq", denominator="published")
    assert row["unparsed_rate"] == pytest.approx(0.9)
    assert "90% of the replies on bbq cannot be read" in capsys.readouterr().out


def test_the_printed_table_names_mode_parser_denominator_and_c1(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scored(make_run(tmp_path, JUDGE, items=made_items("bbq", 10)))
    printed = capsys.readouterr().out
    for words in ("reason, strict parser", "published (an unreadable reply counts as wrong)", "own C1", "+50.0"):
        assert words in printed
    assert "bench_avg" not in printed, "an average over one dataset would repeat it"
    assert "answered" not in printed, "every reply could be read, so that table would repeat the first"


def test_the_csv_has_the_same_rows_with_empty_cells_for_what_is_unknown(tmp_path: Path) -> None:
    path = make_run(tmp_path, JUDGE, items=made_items("bbq", 10))
    rows = scored(path)
    lines = (path / "scores" / "scores_wide.csv").read_text().splitlines()
    assert len(lines) == 1 + len(rows)
    assert lines[0].split(",") == list(rows[0])
    assert lines[1].split(",")[list(rows[0]).index("auc_c1")] == ""


def test_the_order_of_completions_changes_nothing(tmp_path: Path) -> None:
    path = make_run(tmp_path, JUDGE, items=made_items("bbq", 10))
    before = scored(path)
    rewrite(path, lambda lines: random.Random(0).sample(lines, len(lines)))
    assert scored(path) == before
