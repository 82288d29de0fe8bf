"""Answers from anywhere: what their columns may hold, and what is measured of them."""

import json
from pathlib import Path

import pytest

from eval.__main__ import score_main
from eval.options import verb_options
from eval.results import results_of_files
from evenhand.errors import DataError
from evenhand.files import shipped_yaml, write_jsonl
from studies.framing.evaluation import framings_table
from studies.framing.verdict_files import load_answers
from tests.made.made_verdicts import write

ANSWERS = shipped_yaml(Path(__file__).with_name("answers.yaml"))


def scores_of(path, *words):
    """(framing, measure) → its value over all groups."""
    score_main([str(path), "--out", str(path.parent / "out"), "--draws", "100", "--all", *words])
    rows = json.loads((path.parent / "out" / "scores.json").read_text())
    return {(row["framing"], row["measure"]): row["value"] for row in rows if row["group"] == "(all)"}


def asked(answers, *given, framings="pe", **more):
    """A row for each answer, in turn of one framing and the next, an item a round."""
    n = len(framings)
    return [
        {"item_id": i // n, "framing": framings[i % n], "answer": answer, "answers": answers, **more}
        for i, answer in enumerate(given)
    ]


@pytest.mark.parametrize(("answers", "first", "second"), ANSWERS["spellings"])
@pytest.mark.parametrize("name", ["v.jsonl", "v.csv"])
def test_spellings_of_one_value_are_one_answer(name, answers, first, second, tmp_path):
    if name == "v.csv" and isinstance(answers, list):
        answers = "|".join(map(str, answers))
    values = scores_of(write(tmp_path / name, asked(answers, first, second)))
    assert (values["p", "value"], values["e", "shift"]) == (100.0, -100.0)


@pytest.mark.parametrize(("answers", "given", "level", "shift"), ANSWERS["scales"])
def test_numbers_in_order_are_a_scale_also_negative_and_decimal_ones(answers, given, level, shift, tmp_path):
    values = scores_of(write(tmp_path / "v.jsonl", asked(answers, *given)))
    assert (values["p", "value"], values["e", "shift"]) == pytest.approx((level, shift))


@pytest.mark.parametrize(("answers", "given", "swapped"), ANSWERS["places"])
def test_a_judge_of_the_first_place_is_named_also_where_answers_may_be_tied(answers, given, swapped, tmp_path, capsys):
    rows = [row for of in ("given", "swapped") for row in asked(answers, *[given] * 3, framings="p", order=of)]
    write_jsonl(tmp_path / "v.jsonl", [{**r, "answer": given if r["order"] == "given" else swapped} for r in rows])
    scores_of(tmp_path / "v.jsonl")
    assert "names the answer shown first in 100% of its replies" in " ".join(capsys.readouterr().out.split())
    (run,) = load_answers([tmp_path / "v.jsonl"])[0].values()
    assert run.grids["external"].of("first").min() == 1


def test_the_baseline_is_the_one_that_is_named_and_else_the_first_rows(tmp_path):
    path = write(tmp_path / "v.csv", asked("yes|no", "no", "yes", "no", "no"))
    assert scores_of(path)["e", "shift"] == 50.0
    assert scores_of(path, "--baseline", "e")["p", "shift"] == -50.0
    with pytest.raises(DataError, match="--baseline f: no row has this framing"):
        load_answers([path], "f")
    placebos = write(tmp_path / "w.jsonl", [{**row, "framing": "placebo 1"} for row in asked("yes|no", "no", "no")])
    with pytest.raises(DataError, match="a placebo cannot be the baseline"):
        load_answers([placebos, path], "placebo 1")


@pytest.mark.parametrize(("second", "n_doubts"), [("yes", 1), ("no", 0)])
def test_a_file_in_which_one_answer_is_always_right_is_doubted(second, n_doubts, tmp_path):
    rows = [{**row, "label": ("yes", second)[i // 2]} for i, row in enumerate(asked("yes|no", *["yes"] * 4))]
    (run,) = load_answers([write(tmp_path / "v.csv", rows)])[0].values()
    assert sum("'yes' is right everywhere" in doubt for doubt in run.doubts) == n_doubts


@pytest.mark.parametrize("name", ["right", "Correct", "accuracy", "consistent", "yes"])
def test_what_is_right_stands_in_a_column_of_its_own_whatever_the_first_answer_is_called(name, tmp_path):
    given = [name, "other", name, name, "other", "other"]
    rows = [{**row, "label": "other"} for row in asked(f"{name}|other", *given)]
    path = write(tmp_path / "v.csv", rows)
    words = [str(path), "--out", str(tmp_path / "out"), "--draws", "100"]
    table = framings_table(results_of_files(verb_options("score", words)))
    columns = {head: [row[i] for row in table.rows] for i, head in enumerate(table.columns)}
    assert columns[f"answers {name} %"] == pytest.approx([200 / 3, 100 / 3])
    assert columns["right %"] == pytest.approx([100 / 3, 200 / 3])


def test_ids_are_one_however_pandas_writes_them_and_one_row_of_a_prompt_is_enough_for_label_and_cluster(tmp_path):
    rows = [
        {**row, "item_id": (1, "1.0")[i % 2], "label": (None, "yes")[i // 2], "cluster": ("", 2.0)[i // 2]}
        for i, row in enumerate(asked("yes|no", "yes", "no", "yes", "no"))
    ]
    values = scores_of(write(tmp_path / "v.jsonl", rows))
    assert (values["e", "shift"], values["p", "right"], values["e", "right"]) == (-100.0, 100.0, 0.0)
    (run,) = load_answers([tmp_path / "v.jsonl"])[0].values()
    assert {(prompt.item_id, prompt.cluster) for prompt in run.plan} == {("1", "2")}


def test_responses_are_read_where_no_row_has_an_answer(tmp_path):
    texts = ["I choose [[A]].", "B: it is longer.", "[[A]]", "[[A]] or [[B]]"]
    rows = [{**row, "response": text} for row, text in zip(asked("A|B", *[None] * 4), texts, strict=True)]
    for row in rows:
        del row["answer"]
    values = scores_of(write(tmp_path / "v.jsonl", rows))
    assert (values["p", "value"], values["e", "value"], values["e", "unread"]) == (100.0, 0.0, 50.0)
    answered = [{**row, "answer": "B"} for row in rows]
    assert scores_of(write(tmp_path / "w.jsonl", answered))["p", "value"] == 0.0
    del rows[3]["response"]
    with pytest.raises(DataError, match=r"v\.jsonl:4: field 'answer' is absent, and so is a response"):
        scores_of(write(tmp_path / "v.jsonl", rows))


def test_a_word_that_is_no_answer_and_answers_that_are_one_are_refused(tmp_path):
    for rows, problem in [
        (asked("yes|no", "yes", "maybe " * 40), r"v\.jsonl:2: answer is .maybe maybe .{0,40}\.\.\., which is not"),
        (asked("yes|no", "yes", "no", label="true"), "label is 'true'"),
        (asked("Yes|yes", "yes", "yes"), "every row names all answers"),
        (asked("1|1.0", "1", "1"), "every row names all answers"),
        (asked("yes|no", "yes", "no", dataset="(all)"), r"field 'dataset' is '\(all\)', and names in brackets"),
        (asked("yes|no", "yes", "no", case="\ud800"), "field 'case' holds half a surrogate pair"),
        (asked("yes|no", "yes", "no", order="back"), "given, swapped"),
        (asked("1|2|3", "1", "2", order="swapped"), "one order"),
    ]:
        with pytest.raises(DataError, match=problem):
            load_answers([write(tmp_path / "v.jsonl", rows)])


def test_repeated_rows_are_asked_about_and_samples_are_not(tmp_path):
    rows = asked("yes|no", "yes", "no", "no", "yes")
    samples = asked("yes|no", "yes", "yes", "no", "yes")
    kinds = {"once": [], "samples": samples, "twice": rows, "uneven": rows[:1]}
    files = [write(tmp_path / f"{name}.jsonl", [*rows, *more]) for name, more in kinds.items()]
    once, sampled, twice, uneven = (load_answers([file])[0]["external"].doubts for file in files)
    assert [len(doubts) for doubts in (once, sampled, twice, uneven)] == [0, 0, 1, 1]
    assert "every answer stands 2 times" in twice[0]
