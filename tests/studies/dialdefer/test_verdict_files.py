"""Verdicts from anywhere: what the columns mean, scores computed by hand, what the verb prints, and what is refused."""

import gzip
import json
import random

import pytest

from eval.__main__ import score_main
from eval.options import Options
from eval.results import results_of_files
from evenhand.errors import DataError
from studies.dialdefer.measures import NoVerdict
from studies.dialdefer.panels import load_run
from studies.dialdefer.records import Condition
from studies.dialdefer.verdict_files import LAYOUT, item_key, load_external
from tests.made.made_runs import made_items, make_run, say
from tests.made.made_verdicts import C2_CORRECT, C2_INCORRECT, by_key, only, scored, scores_of, verdict_rows, write
from tests.made.places import ROOT, cases

ACC = ("acc_c1_true", "acc_c1_false", "acc_c2_correct", "acc_c2_incorrect")
C2_ONLY = (C2_CORRECT, C2_INCORRECT)


def reply(choice):
    return json.dumps({"chosen_answer": str(choice), "reasoning": "because"})


def test_every_kind_of_file_and_every_order_of_rows_gives_the_same_scores(tmp_path):
    rows = [*verdict_rows("bbq"), *verdict_rows("aio", label="OR", roles="1->2"), *verdict_rows("bbq", model="other")]
    rows += verdict_rows("bbq", arm="sft", conditions=C2_ONLY)
    rows[3]["choice"] = None
    expected = by_key(scores_of(tmp_path, rows))
    assert expected["m", "none", "2->1", "own", "bbq"]["n_unparsed"] == 1
    assert [expected["other", "none", "2->1", "own", "bbq"][name] for name in ACC] == pytest.approx([60, 80, 80, 50])
    random.Random(0).shuffle(rows)
    names = ("a.csv", "b.jsonl.gz", "c.parquet", "d.csv.gz", "e.jsonl")
    assert by_key(scored([write(tmp_path / name, rows[n::5]) for n, name in enumerate(names)])) == expected


def test_a_choice_may_be_a_number_or_a_text_and_null_is_an_unreadable_reply(tmp_path):
    rows = verdict_rows("bbq", wrong={}, response="not looked at")
    for row, spelling in zip(rows, [str, float, lambda c: f" {c}.0 "] * 10, strict=False):
        row["choice"] = spelling(row["choice"])
    rows[6] |= {"choice": None, "response": reply(1)}  # C2_Correct of item 1: said to be unreadable, so not parsed
    for kept in (rows, [{**row, "choice": row["choice"] and int(float(row["choice"]))} for row in rows]):
        name = "v.jsonl" if kept is rows else "v.parquet"
        row = only(scored([write(tmp_path / name, kept)], "--unparsed", "wrong"), dataset="bbq")
        assert [row[name] for name in ACC] == pytest.approx([100, 100, 90, 100])
        assert (row["n_unparsed"], row["n_skepticism_flips"], row["mcnemar_p_acceptance"]) == (1, 0, 1.0)
        assert row["parser"] is None, "nothing was parsed"


def test_in_csv_an_empty_choice_is_parsed_from_a_response_and_null_without_one(tmp_path):
    rows = [{**row, "response": "not\nlooked, at"} for row in verdict_rows("bbq", wrong={})]
    rows[0] |= {"choice": None, "response": reply(2)}
    rows[4] |= {"choice": None, "response": None}
    path = write(tmp_path / "v.csv", rows)
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\r\nm,", b"\r\n\r\nm,", 3))  # a mark, blank lines
    row = only(scored([path], "--unparsed", "wrong"), dataset="bbq")
    assert (row["acc_c1_true"], row["n_unparsed"]) == (pytest.approx(80), 1)
    for row in rows:
        del row["choice"]
        row["response"] = reply(1)
    rows[0]["response"] = None
    column_absent = only(scored([write(tmp_path / "w.csv", rows)], "--unparsed", "wrong"), dataset="bbq")
    assert (column_absent["acc_c1_true"], column_absent["n_unparsed"]) == (pytest.approx(90), 1)


def test_spellings_of_datasets_conditions_and_ids_are_one(tmp_path):
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
    panels = load_external([write(tmp_path / "v.jsonl", rows)])[0]["m"].panels
    assert [panel.item_ids[:2] for panel in panels] == [("halueval-0", "halueval-1"), ("0", "1")]
    assert item_key("harp", "harp_mcq-1967-AHSME-35") == item_key("harp", "harp_mc-1967-AHSME-35")
    assert item_key("aio", "aio-1oh8hfn") == item_key("aio", "1oh8hfn") == "1oh8hfn"
    assert item_key("bbq", "bbq-Race_x_gender-14") != item_key("bbq", "bbq-Race_x_SES-14")
    assert item_key("bbq", "harp_mc-3") == "harp_mc-3", "another dataset's name is no prefix"


def test_datasets_of_any_name_have_scores_and_averages_of_their_own(tmp_path):
    rows = [*verdict_rows("bbq"), *verdict_rows("aio_mine"), *verdict_rows("My claims", wrong={})]
    by_name = {row["dataset"]: row["dds_pp"] for row in scored([write(tmp_path / "v.csv", rows)], draws=100)}
    assert by_name == pytest.approx({"bbq": 50, "bench_avg": 50, "aio_mine": 50, "My claims": 0, "own_avg": 25})


def test_a_run_has_the_same_scores_when_it_comes_as_verdicts_from_files(tmp_path):
    draw = random.Random(0)

    def answer(prompt):
        if draw.random() < 0.02:
            return {"text": "", "finish_reason": "error: out of memory"}
        return say(draw.choice([1, 1, 2, 2, "I think 1", "no idea"]))

    conditions = {"none": tuple(Condition), "honest": tuple(Condition), "dehumanizing": C2_ONLY}
    items = [*made_items("bbq", 40), *made_items("gpqa", 30)]
    path = make_run(tmp_path, answer, items=items, arms=tuple(conditions), conditions=conditions)
    rows = []
    for v in (run := load_run(path)).verdicts:
        key = {"dataset": v.prompt.dataset, "item_id": v.prompt.item_id, "condition": v.prompt.condition}
        key["arm"] = v.factors.arm
        result = {"error": "engine"} if v.reason is NoVerdict.ERROR else {"error": None, "response": v.reply.text}
        rows.append({"model": run.judge, **key, "roles": v.factors.roles or None, **result})
    words = ("--unparsed", "excluded", "--parser", "lenient")
    ours, theirs = by_key(scored([path], *words)), by_key(scores_of(tmp_path, rows, *words))
    differs = dict.fromkeys(("verdict", "template"))
    assert len(ours) == 12
    assert {key: row | differs for key, row in theirs.items()} == {key: row | differs for key, row in ours.items()}


def test_files_and_runs_are_told_apart_other_columns_are_named_and_the_docs_have_every_column(tmp_path, capsys):
    path = write(tmp_path / "v.jsonl", verdict_rows("bbq", latency_s=0.1, zeta=[1], benchmark="whatever"))
    assert only(scored([path]), dataset="bbq")["dds_pp"] == pytest.approx(50)
    assert capsys.readouterr().out.count("'latency_s', 'zeta'") == 1
    apart, absent = [str(path), str(tmp_path), "--out", "x"], [str(tmp_path / "nothing.csv")]
    for words, why in (([str(path)], "need --out"), (apart, "apart"), (absent, "nothing.csv: cannot be read")):
        with pytest.raises(DataError, match=why):
            score_main(words)
    page = (ROOT / "docs" / "verdict-files.md").read_text()
    assert [name for name in LAYOUT.columns if f"\n| `{name}` | " not in page] == []


def refusal(*paths):
    """The error of loading files, without their folder; it can be printed on one line."""
    with pytest.raises(DataError) as caught:
        load_external(paths)
    message = str(caught.value)
    assert message.isprintable()
    return message.replace(f"{paths[0].parent}/", "")


def refused(folder, content, name="v.jsonl"):
    """The error over a file of that content, or of those rows."""
    if isinstance(content, list):
        return refusal(write(folder / name, content))
    (folder / name).write_bytes(content.encode() if isinstance(content, str) else content)
    return refusal(folder / name)


@pytest.mark.parametrize(("fields", "problem"), cases(__file__))
def test_a_bad_field_is_named_with_file_line_and_what_is_known(tmp_path, fields, problem):
    rows = verdict_rows("bbq", 3)
    rows[6] |= fields
    assert refused(tmp_path, rows).startswith(f"v.jsonl:7: field {problem}")


@pytest.mark.parametrize("place", ["v.csv:34002", "v.jsonl.gz:17001", "v.parquet: row 17001"])
def test_a_bad_field_is_named_with_the_line_that_its_row_starts_on(tmp_path, place):
    rows = verdict_rows("bbq", 5000, reason="two\nlines")  # more than one batch
    rows[17_000]["condition"] = "c3"
    assert refused(tmp_path, rows, place.partition(":")[0]).startswith(f"{place}: field 'condition' is 'c3'")


def test_files_that_are_damaged_or_empty_or_lack_a_column_or_name_it_wrongly_are_refused(tmp_path):
    whole = gzip.compress("".join(json.dumps(row) + "\n" for row in verdict_rows("bbq", 2000)).encode(), mtime=0)
    assert "damaged there (Compressed file ended before" in refused(tmp_path, whole[: len(whole) // 2], "v.jsonl.gz")
    rows = verdict_rows("bbq", 3)
    del rows[6]["item_id"], rows[9]["choice"]
    assert refused(tmp_path, rows) == "v.jsonl:7: field 'item_id' is absent"
    assert refused(tmp_path, rows[7:]).startswith("v.jsonl:3: field 'choice' is absent, and so is a response")
    rows = [{name: v for name, v in row.items() if name != "item_id"} for row in rows]
    assert refused(tmp_path, rows, "w.csv").startswith("w.csv: there is no column 'item_id';")
    assert refused(tmp_path, "\n\n") == "v.jsonl: holds no row; is this the right file?"
    rows = [{"Arm" if name == "arm" else name: v for name, v in row.items()} for row in verdict_rows("bbq", 1, arm="x")]
    assert refused(tmp_path, rows) == "v.jsonl:1: column 'Arm' must be written 'arm'"


def test_unequal_items_of_arms_are_refused_but_models_and_directions_may_differ(tmp_path):
    after = [r for r in verdict_rows("bbq", 12, arm="dpo", conditions=C2_ONLY) if r["item_id"] != "bbq-3"]
    assert refused(tmp_path, [*after, *verdict_rows("bbq", 4)]).startswith(
        "model 'm', bbq, roles 2->1, arm none against arm dpo: 9 items (bbq-10, bbq-11, bbq-3, bbq-4, bbq-5, ...) have "
        "been judged on one side only"
    )
    rows = [*verdict_rows("aio", 4), *verdict_rows("aio", 5, model="n"), *verdict_rows("aio", 6, roles="1->2")]
    assert len(load_external([write(tmp_path / "v.jsonl", rows)])[0]) == 2
    rows = [*verdict_rows("aio", 2, label="or"), *verdict_rows("bbq", 2, label="anything")]
    assert load_external([write(tmp_path / "v.jsonl", rows)])[0]["m"].labels == {"0": "OR", "1": "OR"}
    rows = [*verdict_rows("aio", 2, label="OR"), *verdict_rows("aio", 2, label="NOR", roles="1->2")]
    assert refused(tmp_path, rows).startswith("2 items (0, 1) have two labels")


def test_two_rows_for_one_key_are_refused_with_both_places(tmp_path):
    first = write(tmp_path / "a.jsonl", verdict_rows("halueval", 8))
    again = [{**row, "item_id": row["item_id"].replace("-", "-qa-")} for row in verdict_rows("halueval", 8)[6:30:4]]
    second = write(tmp_path / "b.csv", [*verdict_rows("bbq", 1), *again])
    row = "model 'm', halueval, item 'halueval-1', c2_correct, arm none, roles 2->1"
    assert refusal(first, second) == f"b.csv:6: {row} does not go with a.jsonl:7; keep one row for a key"


def test_an_arm_that_lacks_a_framing_is_left_out_and_named_and_refused_where_nothing_is_left(tmp_path):
    rows = verdict_rows("gpqa", 2, arm="sft", conditions=C2_ONLY)
    judge = load_external([write(tmp_path / "v.jsonl", [*verdict_rows("bbq", 2), *rows])])[0]["m"]
    (reason,) = judge.left_out
    assert reason.startswith("model 'm', gpqa, arm sft, roles 2->1: 2 items (gpqa-0, gpqa-1) have no verdicts")
    assert "for c1_true and c1_false, nor has arm none;" in reason
    assert [panel.dataset for panel in judge.panels] == ["bbq"]
    assert "there is no shift to score" in refused(tmp_path, rows, "alone.jsonl")


def test_items_of_one_cluster_count_once_in_intervals_and_p(tmp_path):
    rows = verdict_rows("bbq")
    copies = [{**row, "item_id": f"{row['item_id']}-again"} for row in rows]
    twice = [{**row, "cluster": str(row["item_id"]).removesuffix("-again")} for row in (*rows, *copies)]
    found = []
    for name, some in (("a.csv", rows), ("b.csv", twice), ("c.csv", [*rows, *copies])):
        scored([write(tmp_path / name, some)])
        listed = json.loads((tmp_path / "out" / "scores.json").read_text())
        found.append(next(row for row in listed if row["measure"] == "dds"))
    once, clustered, apart = found
    assert (once["n_units"], clustered["n_units"], apart["n_units"]) == (10, 10, 20)
    assert clustered["value"] == once["value"] == apart["value"]
    wrong = [*twice, {**twice[-1], "arm": "dbs", "cluster": "other"}]
    with pytest.raises(DataError, match=rf"d.csv:{len(wrong) + 1}: field 'cluster'"):
        load_external([write(tmp_path / "d.csv", wrong)])
    other_arm = [{**row, "arm": "dbs", "cluster": ""} for row in twice]
    judge = load_external([write(tmp_path / "e.csv", [*other_arm, *twice])])[0]["m"]
    assert [len({*panel.clusters}) for panel in judge.panels] == [10, 10]


def test_files_say_how_each_reply_was_read_and_of_judges_that_differ_in_it_each_by_name(tmp_path):
    given, texts = ([{**row, "model": model} for row in verdict_rows("bbq")] for model in ("given", "texts"))
    for row in texts:
        row["response"] = reply(row.pop("choice"))
    given[0]["choice"], texts[0]["response"] = None, "?"
    path = write(tmp_path / "v.jsonl", [*given, *texts])
    judges, _ = load_external([path], "lenient")
    assert [[row for row in judge.readings if row[0] == "c1_true"] for judge in judges.values()] == [
        [("c1_true", "given", 90.0, 9), ("c1_true", "given null", 10.0, 1)],
        [("c1_true", "lenient", 90.0, 9), ("c1_true", "unparsed", 10.0, 1)],
    ]
    results = results_of_files(Options(verb="score", sources=(path,), out=tmp_path, n_draws=20))
    (note,) = [table.note for table in results.tables if table.name == "dialdefer_scores"]
    assert "external, as given (given); external, strict parser where no choice is given (texts)" in note
