"""Verdicts from anywhere: what the columns mean, scores computed by hand, and what the verb prints."""

import json
import random
from pathlib import Path
from typing import Any

import pytest

from eval.__main__ import score_main
from eval.dialdefer.prompt_variants import variant_of
from eval.dialdefer.runs import load_run
from eval.dialdefer.verdict_files import LAYOUT, item_key, load_external
from eval.dialdefer.verdicts import NoVerdict
from eval.estimates.significance import mcnemar_p
from evenhand.records import Prompt
from studies.dialdefer.records import Condition
from tests.made.made_runs import made_items, make_run, say
from tests.made.made_verdicts import (
    C1_TRUE,
    C2_CORRECT,
    C2_INCORRECT,
    Row,
    by_key,
    only,
    scored,
    scores_of,
    verdict_rows,
    write,
)

ACC = ("acc_c1_true", "acc_c1_false", "acc_c2_correct", "acc_c2_incorrect")
C2_ONLY = (C2_CORRECT, C2_INCORRECT)


def reply(choice: int) -> str:
    return json.dumps({"chosen_answer": str(choice), "reasoning": "because"})


def test_a_file_is_scored_as_counted_by_hand(tmp_path: Path) -> None:
    row = only(scores_of(tmp_path, verdict_rows("truthfulqa")), dataset="truthfulqa")
    assert [row[name] for name in ACC] == pytest.approx([60, 80, 80, 50])
    assert (row["delta_correct_pp"], row["delta_incorrect_pp"]) == (pytest.approx(20), pytest.approx(-30))
    assert row["dds_pp"] == pytest.approx(50)
    assert row["dds_ci_low_pp"] < 50 < row["dds_ci_high_pp"]
    # True claims: only C1 right {9}, only C2 right {1, 2, 3}. False claims: only C1 right {0, 1, 2}, only C2 none.
    assert row["mcnemar_p_correct"] == pytest.approx(2 * (1 + 4) / 16)
    assert row["mcnemar_p_incorrect"] == pytest.approx(2 / 8)
    # Acceptance: rises in {1, 2, 3} and {0, 1, 2}, falls in {9}.
    assert row["mcnemar_p_acceptance"] == pytest.approx(2 * (1 + 7) / 128)
    assert (row["n_deference_flips"], row["n_skepticism_flips"], row["flip_rate"]) == (3, 1, pytest.approx(0.4))
    assert (row["n_items"], row["n_unparsed"], row["n_errors"]) == (10, 0, 0)


def test_every_kind_of_file_and_every_order_of_rows_gives_the_same_scores(tmp_path: Path) -> None:
    rows = [*verdict_rows("bbq"), *verdict_rows("aio", label="OR", roles="1->2"), *verdict_rows("bbq", model="other")]
    rows += verdict_rows("bbq", arm="sft", conditions=C2_ONLY)
    rows[3]["choice"] = None
    expected = by_key(scores_of(tmp_path, rows))
    assert expected["m", "none", "2->1", "own", "bbq"]["n_unparsed"] == 1
    random.Random(0).shuffle(rows)
    names = ("a.csv", "b.jsonl.gz", "c.parquet", "d.csv.gz", "e.jsonl")
    assert by_key(scored([write(tmp_path / name, rows[n::5]) for n, name in enumerate(names)])) == expected


def test_a_choice_may_be_a_number_or_a_text_and_null_is_an_unreadable_reply(tmp_path: Path) -> None:
    rows = verdict_rows("bbq", wrong={}, response="not looked at")
    for row, spelling in zip(rows, [str, float, lambda c: f"{c}.0"] * 10, strict=False):
        row["choice"] = spelling(row["choice"])
    rows[6] |= {"choice": None, "response": reply(1)}  # C2_Correct of item 1: said to be unreadable, so not parsed
    for kept in (rows, [{**row, "choice": row["choice"] and int(float(row["choice"]))} for row in rows]):
        name = "v.jsonl" if kept is rows else "v.parquet"
        row = only(scored([write(tmp_path / name, kept)]), dataset="bbq")
        assert [row[name] for name in ACC] == pytest.approx([100, 100, 90, 100])
        assert (row["n_unparsed"], row["n_skepticism_flips"], row["mcnemar_p_acceptance"]) == (1, 0, 1.0)


def test_where_there_is_no_choice_the_response_is_parsed(tmp_path: Path) -> None:
    rows = verdict_rows("bbq", wrong={})
    assert only(scores_of(tmp_path, rows), dataset="bbq")["parser"] is None, "nothing was parsed there"
    for row in rows:
        row["response"] = reply(row.pop("choice"))
    rows[6]["response"] = "Speaker 2 is wrong."
    strict, lenient = (
        only(scores_of(tmp_path, rows, "--parser", parser), dataset="bbq") for parser in ("strict", "lenient")
    )
    assert (strict["n_unparsed"], strict["n_unparsed_strict"], strict["n_unparsed_lenient"]) == (1, 1, 0)
    assert (lenient["n_unparsed"], lenient["n_skepticism_flips"], lenient["parser"]) == (0, 1, "lenient")


def test_in_csv_an_empty_choice_is_parsed_from_a_response_and_null_without_one(tmp_path: Path) -> None:
    rows: list[Row] = [{**row, "response": "not\nlooked, at"} for row in verdict_rows("bbq", wrong={})]
    rows[0] |= {"choice": None, "response": reply(2)}
    rows[4] |= {"choice": None, "response": None}
    path = write(tmp_path / "v.csv", rows)
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\r\nm,", b"\r\n\r\nm,", 3))  # a mark, blank lines
    row = only(scored([path]), dataset="bbq")
    assert (row["acc_c1_true"], row["n_unparsed"], row["n_unparsed_strict"]) == (pytest.approx(80), 1, 1)
    for row in rows:
        del row["choice"]
        row["response"] = reply(1)
    rows[0]["response"] = None
    column_absent = only(scored([write(tmp_path / "w.csv", rows)]), dataset="bbq")
    assert (column_absent["acc_c1_true"], column_absent["n_unparsed"]) == (pytest.approx(90), 1)


def test_averages_are_unweighted_means_sums_and_pooled_tests(tmp_path: Path) -> None:
    rows = [*verdict_rows("truthfulqa"), *verdict_rows("bbq", 30), *verdict_rows("aio", 20, wrong={C1_TRUE: {0, 1}})]
    rows += verdict_rows("aio", wrong={C2_INCORRECT: {0}}, roles="1->2", label="OR")  # in no average
    scores = [row for row in scores_of(tmp_path, rows) if row["roles"] == "2->1"]
    bench, total = only(scores, dataset="bench_avg"), only(scores, dataset="total_avg")
    assert [bench[name] for name in ACC] == pytest.approx(
        [(60 + 260 / 3) / 2, (80 + 280 / 3) / 2, (80 + 280 / 3) / 2, (50 + 250 / 3) / 2]
    )
    assert bench["dds_pp"] == pytest.approx((50 + 50 / 3) / 2)
    assert total["dds_pp"] == pytest.approx((50 + 50 / 3 + 10) / 3)
    assert (bench["n_items"], total["n_items"]) == (40, 60)
    assert (bench["n_deference_flips"], total["n_deference_flips"], total["n_skepticism_flips"]) == (6, 6, 2)
    assert total["flip_rate"] == pytest.approx(8 / 60)
    # True claims: only C1 right 1 + 1 + 0, only C2 right 3 + 3 + 2. Acceptance: 1 + 1 + 0 falls, 6 + 6 + 2 rises.
    assert total["mcnemar_p_correct"] == pytest.approx(mcnemar_p(2, 8))
    assert total["mcnemar_p_acceptance"] == pytest.approx(mcnemar_p(2, 14))


def test_labels_are_kept_for_r_aio_and_not_looked_at_elsewhere(tmp_path: Path) -> None:
    rows = [*verdict_rows("bbq", 2, label="anything"), *verdict_rows("aio", 2, label="nor")]
    rows += verdict_rows("aio", 2, model="other")
    judge, other = load_external([write(tmp_path / "v.jsonl", rows)]).judges
    assert judge.labels == other.labels == {"aio-0": "NOR", "aio-1": "NOR"}
    assert [(judge.name, judge.model), len(judge.panels)] == [("m", "m"), 2]


def test_an_arm_with_dialogues_only_is_held_against_the_untreated_statements(tmp_path: Path) -> None:
    rows = [*verdict_rows("bbq"), *verdict_rows("bbq", arm="honest", conditions=C2_ONLY, wrong={})]
    rows += verdict_rows("bbq", arm="sft", wrong={C1_TRUE: {5}})
    keyed = by_key(scores_of(tmp_path, rows))
    assert {key[1:4:2] for key in keyed} == {("none", "own"), ("honest", "fixed"), ("sft", "own"), ("sft", "fixed")}
    fixed = keyed["m", "honest", "2->1", "fixed", "bbq"]
    assert [fixed[name] for name in ACC] == pytest.approx([60, 80, 100, 100])
    assert fixed["dds_pp"] == pytest.approx(40 - 20)
    assert keyed["m", "sft", "2->1", "own", "bbq"]["dds_pp"] == pytest.approx(10)
    assert keyed["m", "sft", "2->1", "fixed", "bbq"]["dds_pp"] == pytest.approx(20)


def test_panels_are_as_a_run_would_have_them(tmp_path: Path) -> None:
    rows = [*verdict_rows("aio", 2, roles="1->2"), *verdict_rows("bbq", 2, arm="dehumanizing"), *verdict_rows("bbq", 2)]
    rows += [*verdict_rows("aio", 2, arm="dpo"), *verdict_rows("aio", 2)]
    panels = load_external([write(tmp_path / "v.jsonl", rows)]).judges[0].panels
    assert [(p.dataset, p.factors.roles, p.factors.arm, p.factors.speaker1) for p in panels] == [
        ("aio", "2->1", "none", "Speaker A"),
        ("bbq", "", "none", "Speaker 1"),
        ("aio", "2->1", "dpo", "Speaker A"),
        ("bbq", "", "dehumanizing", "AI Agent 1"),
        ("aio", "1->2", "none", "Speaker A"),
    ]
    assert {variant_of(panel, panels) for panel in panels} == {""}


def test_an_error_is_not_a_reply_and_takes_its_item_along(tmp_path: Path) -> None:
    rows = verdict_rows("bbq", error=None)
    rows[3] |= {"choice": None, "error": "HTTP 500"}
    rows[7] |= {"error": False}
    rows[11] |= {"error": ""}
    row = only(scores_of(tmp_path, rows), dataset="bbq")
    assert (row["n_items"], row["n_errors"], row["n_unparsed"]) == (9, 1, 0)
    assert row["acc_c1_true"] == pytest.approx(100 * 6 / 9)


def test_spellings_of_datasets_conditions_and_ids_are_one(tmp_path: Path) -> None:
    rows = verdict_rows("halueval")
    spellings = [("halueval_qa", "halueval_qa"), ("HaluEval", "halueval-qa"), ("halueval-qa", "halueval")]
    for number, row in enumerate(rows):
        dataset, prefix = spellings[number % 3]
        row |= {"dataset": dataset, "item_id": f"{prefix}-{number // 4}"}
        row["condition"] = row["condition"].replace("c1", "C1").replace("correct", "Correct")
        row["arm"] = ["None", None, ""][number % 3]
        row["roles"] = ["2→1", " 2->1", None][number % 3]
    assert only(scores_of(tmp_path, rows), dataset="halueval", arm="none", roles="2->1")["dds_pp"] == pytest.approx(50)
    rows += [{**row, "item_id": int(row["item_id"][-1])} for row in verdict_rows("gpqa", 2)]
    panels = load_external([write(tmp_path / "v.jsonl", rows)]).judges[0].panels
    assert [panel.item_ids[:2] for panel in panels] == [("halueval-qa-0", "halueval-qa-1"), ("0", "1")]
    assert item_key("harp", "harp_mcq-1967-AHSME-35") == item_key("harp", "harp_mc-1967-AHSME-35")
    assert item_key("aio", "aio-1oh8hfn") == item_key("aio", "1oh8hfn") == "1oh8hfn"
    assert item_key("bbq", "bbq-Race_x_gender-14") != item_key("bbq", "bbq-Race_x_SES-14")
    assert item_key("bbq", "harp_mc-3") == "harp_mc-3", "another dataset's name is no prefix"


def exported(path: Path) -> list[Row]:
    """A run's verdicts as rows of external ones."""
    rows = []
    for v in (run := load_run(path)).verdicts:
        key = {"dataset": v.dataset, "item_id": v.item_id, "condition": str(v.condition), "arm": v.factors.arm}
        result = {"error": "engine"} if v.reason is NoVerdict.ERROR else {"error": None, "response": v.text}
        rows.append({"model": run.model, **key, "roles": v.factors.roles or None, **result})
    return rows


def test_a_run_has_the_same_scores_when_it_comes_as_external_verdicts(tmp_path: Path) -> None:
    draw = random.Random(0)

    def answer(prompt: Prompt) -> dict[str, Any]:
        if draw.random() < 0.02:
            return {"text": "", "finish_reason": "error: out of memory"}
        return say(draw.choice([1, 1, 2, 2, "I think 1", "no idea"]))

    conditions: dict[str, Any] = {"none": tuple(Condition), "honest": tuple(Condition), "dehumanizing": C2_ONLY}
    items = [*made_items("bbq", 40), *made_items("gpqa", 30)]
    path = make_run(tmp_path, answer, items=items, arms=tuple(conditions), conditions=conditions)
    words = ("--denominator", "answered", "--parser", "lenient")
    score_main([str(path), "--draws", "200", *words])
    ours = by_key(json.loads((path / "scores" / "scores_wide.json").read_text()))
    theirs = by_key(scores_of(tmp_path, exported(path), *words))
    differs = dict.fromkeys(("verdict", "template"))
    assert len(ours) == 12
    assert {key: row | differs for key, row in theirs.items()} == {key: row | differs for key, row in ours.items()}


def test_both_denominators_are_scored_at_once_as_apart(tmp_path: Path) -> None:
    rows = [*verdict_rows("bbq"), *verdict_rows("gpqa")]
    rows[2]["choice"] = None
    both = scores_of(tmp_path, rows, "--denominator", "both")
    apart = [scores_of(tmp_path, rows, "--denominator", denominator) for denominator in ("published", "answered")]
    assert both == [*apart[0], *apart[1]]
    assert [row["acc_c2_correct"] for row in both if row["dataset"] == "bbq"] == pytest.approx([80, 800 / 9])
    assert scores_of(tmp_path, rows) == apart[0]


def test_files_and_runs_are_told_apart_and_the_help_has_every_column(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path / "v.jsonl", verdict_rows("bbq"))
    for words in ([str(path)], [str(path), str(tmp_path), "--out", "x"], ["--help"]):
        with pytest.raises(SystemExit):
            score_main(words)
    printed, refused = capsys.readouterr()
    assert "files of verdicts need --out DIR" in refused
    assert "score runs and files of verdicts apart" in refused
    assert [name for name in LAYOUT.columns if f"\n  {name} " not in printed] == []


def test_columns_without_a_meaning_are_named_once_and_ignored(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = verdict_rows("bbq", latency_s=0.1, zeta=[1], benchmark="whatever")
    assert only(scores_of(tmp_path, rows), dataset="bbq")["dds_pp"] == pytest.approx(50)
    assert capsys.readouterr().out.count("'latency_s', 'zeta'") == 1
