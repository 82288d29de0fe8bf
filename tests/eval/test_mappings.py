"""Results of other tools become rows of verdicts as a mapping says; shipped mappings are tried on made-up records."""

import gzip
import json
import math
from pathlib import Path

import pytest

from eval.__main__ import report_main, score_main
from eval.mappings import SHIPPED
from evenhand.config import parse_yaml
from evenhand.errors import ConfigError, DataError
from evenhand.files import write_json, write_jsonl
from tests.made.made_verdicts import write
from tests.made.places import ROOT, SHARED

JUDGEMENT = {"judgment": {"judge_model": "m"}}
PAIR = {"question_id": 81, "model_1": "m1", "model_2": "m2", "judge": ["gpt-4", "pair-v2"]}
SCORED = {"id": "a", "epoch": 1, "scores": {"match": {"value": "C"}}, "output": {"choices": []}}


def rows_of(source, *words):
    """What a mapping makes of a file."""
    out = source.parent / "out"
    score_main([str(source), "--out", str(out), "--draws", "100", *words])
    return [json.loads(line) for line in (out / "verdicts.jsonl").read_text().splitlines()]


def values_of(source):
    """(framing, measure) → its value over all groups."""
    rows = json.loads((source.parent / "out" / "scores.json").read_text())
    return {(row["framing"], row["measure"]): row["value"] for row in rows if row["group"] == "(all)"}


def lm_samples(path, *samples):
    """A file of samples as lm-eval writes it, without its results."""
    keys = {"target": 0, "arguments": [["Q", " yes"], ["Q", " no"]], "resps": [["x"]], "filtered_resps": ["x"]}
    write_jsonl(path, [{"doc_id": i, "doc": {}, **keys, **sample} for i, sample in enumerate(samples)])
    return path


def inspect_log(path, *samples):
    """A log of inspect of a task that nobody here exported."""
    write_json(path, {"version": 2, "status": "success", "eval": {"model": "m", "task": "t"}, "samples": samples})
    return path


def test_mt_bench_names_models_whatever_their_order_and_an_error_is_unparsed(tmp_path):
    judged = [
        {**PAIR, "g1_winner": "model_1", "g2_winner": "tie", "turn": 1},
        {**PAIR, "g1_winner": "model_2", "g2_winner": "error", "turn": 2},
    ]
    source = write(tmp_path / "pair.jsonl", judged)
    rows = rows_of(source, "--mapping", "mt-bench-judgments")
    assert [(row["order"], row["answer"]) for row in rows] == [
        ("given", "model_1"), ("swapped", "tie"), ("given", "model_2"), ("swapped", None),
    ]  # fmt: skip
    values = values_of(source)
    assert (values["judged", "value"], values["judged", "unread"]) == (25.0, 25.0)


def test_judgebenchs_second_judgment_is_of_exchanged_responses_and_a_failed_one_leaves_its_pair_out(tmp_path, capsys):
    decisions = {"p1": ("A>B", "B>A"), "p2": ("A=B", "B>A"), "p3": ("A>B", None)}
    records = [
        {"pair_id": pair, "label": label, "judgments": [d and {**JUDGEMENT, "decision": d} for d in decisions[pair]]}
        for pair, label in (("p1", "A>B"), ("p2", "B>A"), ("p3", "A>B"))
    ]
    source = write(tmp_path / "outputs.jsonl", records)
    rows = rows_of(source, "--mapping", "judgebench-outputs")
    assert [(row["item_id"], row["answer"]) for row in rows] == [
        ("p1", "A>B"), ("p1", "A>B"), ("p2", "A=B"), ("p2", "A>B"),
    ]  # fmt: skip
    assert values_of(source)["judged", "right"] == 50.0
    assert "1 records failed; their 1 items are left out" in capsys.readouterr().out


def test_what_failed_leaves_the_items_of_its_own_model_out_as_far_as_it_names_them(tmp_path, capsys):
    judgments = {("m", "1"): [JUDGEMENT, None], ("m", "2"): [], ("m", "3"): [JUDGEMENT] * 2, ("n", "1"): [JUDGEMENT]}
    records = [
        {"pair_id": pair, "label": "A>B", "judge_name": judge}
        | {"judgments": [each and {"decision": "A>B", "judgment": {"judge_model": judge}} for each in listed]}
        for (judge, pair), listed in judgments.items()
    ]
    rows = rows_of(write(tmp_path / "outputs.jsonl", records), "--mapping", "judgebench-outputs")
    assert [(row["model"], row["item_id"]) for row in rows] == [("m", "3"), ("m", "3"), ("n", "1")]
    assert "2 records failed; their 2 items are left out." in capsys.readouterr().out
    (tmp_path / "m.yaml").write_text(
        "columns: {model: '{{ model }}', item_id: '{{ of.n }}', framing: f, answers: [A, B], answer: A}"
    )
    words = ["--mapping", str(tmp_path / "m.yaml")]
    named, other = {"model": "m", "of": {"n": 1}, "error": ""}, {"model": "n", "of": {"n": 2}, "error": ""}
    source = write(tmp_path / "failed.jsonl", [named, other, {"model": "m", "of": None, "error": "x"}])
    assert len(rows_of(source, *words)) == 2
    assert "1 failed records do not say which item" in capsys.readouterr().out
    write(source, [named, other, {**named, "model": "n"}, {**named, "model": "", "error": "x"}])
    assert [row["item_id"] for row in rows_of(source, *words)] == ["2"]
    assert "1 items are left out, for every model" in capsys.readouterr().out


def test_a_file_is_called_without_its_format_alone_and_is_not_replaced(tmp_path):
    (tmp_path / "m.yaml").write_text(f"{MAPPING}\n".replace("columns: {", 'columns: {model: "{{ file }}", '))
    words = ["--mapping", str(tmp_path / "m.yaml"), "--out", str(tmp_path / "out")]
    sources = [write(tmp_path / f"gpt-4.{i}.jsonl{gz}", RECORDS[i:]) for i, gz in ((0, ""), (1, ".gz"))]
    score_main([*map(str, sources), *words, "--draws", "100"])
    written = tmp_path / "out" / "verdicts.jsonl"
    assert {json.loads(line)["model"] for line in written.read_text().splitlines()} == {"gpt-4.0", "gpt-4.1"}
    before = written.read_bytes()
    with pytest.raises(DataError, match="would replace this file"):
        score_main([str(written), "--set", "where=item_id == 0", "--out", str(tmp_path / "out")])
    assert written.read_bytes() == before


def test_a_list_that_csv_has_as_a_text_is_a_row_for_each_element(tmp_path):
    columns = {"item_id": "{{ s }}", "framing": "f", "answers": [-1, 0, 1], "answer": "{{ each * n[index] }}"}
    write_json(tmp_path / "m.yaml", {"each": "scores", "columns": columns})
    source = write(
        tmp_path / "judges.csv",
        [{"s": "a", "scores": "[-1.0, 0.0]", "n": "[1, 2]"}, {"s": "b", "scores": "[0.5]", "n": "[2]"}],
    )
    made = rows_of(source, "--mapping", str(tmp_path / "m.yaml"))
    assert [(row["item_id"], float(row["answer"])) for row in made] == [("a", -1), ("a", 0), ("b", 1)]


def test_alpacaevals_preferences_are_outputs_ties_and_weights(tmp_path):
    preferences = [1.0, 2, 1.5, 0, 1.93, None, "1", math.nan, "", "n/a"]
    pair = {"generator_1": "base", "generator_2": "ours", "annotator": "judge"}
    write_json(
        tmp_path / "annotations.json",
        [{**pair, "instruction": f"Do {i}.", "preference": p} for i, p in enumerate(preferences)],
    )
    rows = rows_of(tmp_path / "annotations.json", "--mapping", "alpacaeval-annotations")
    known = ["output_1", "output_2", "tie", "tie", "output_2", None, "output_1"]
    assert [row["answer"] for row in rows] == [*known, None, None, None]
    assert {(row["model"], row["dataset"]) for row in rows} == {("judge", "ours and base")}


def test_an_openai_batch_is_read_by_our_reader_and_needs_to_know_the_answers(tmp_path):
    failed = {"custom_id": "q3|plain", "response": None, "error": {"code": "expired"}}
    replies = {"q1|plain": "[[A]]", "q1|expert": "A is short. [[B]]", "q2|plain": "[[A]]", "q2|expert": "I like both."}
    records = [
        {"custom_id": key, "response": {"status_code": 200, "body": {"model": "m", "choices": [{"message": message}]}}}
        for key, text in replies.items()
        for message in [{"role": "assistant", "content": text}]
    ]
    source = write(tmp_path / "batch.jsonl", [*records, failed, {**records[0], "custom_id": "q3|expert"}])
    with pytest.raises(DataError, match="names all answers"):
        rows_of(source, "--mapping", "openai-batch")
    rows = rows_of(source, "--mapping", "openai-batch", "--set", "columns.answers=A|B")
    assert [row["item_id"] for row in rows] == ["q1", "q1", "q2", "q2"]
    values = values_of(source)
    assert (values["plain", "value"], values["expert", "value"], values["expert", "unread"]) == (100.0, 0.0, 50.0)


def test_promptfoos_prompts_are_framings_and_its_outputs_can_be_read_instead(tmp_path):
    results = [
        {"promptIdx": i, "testIdx": test, "provider": {"id": "openai:m"}, "vars": {}, "success": i == 0}
        | {"response": {"output": "12"[i]}, "failureReason": 2 * (test == 2)}
        for test in range(3)
        for i in range(2)
    ]
    write_json(tmp_path / "results.json", {"version": 3, "results": {"results": results, "stats": {}}})
    source = tmp_path / "results.json"
    assert len(rows_of(source, "--mapping", "promptfoo")) == 4
    assert values_of(source)["prompt 1", "shift"] == -100.0
    lines = write(tmp_path / "results.jsonl", results)
    assert len(rows_of(lines, "--mapping", "promptfoo", "--set", "at=")) == 4
    two = [
        {**row, "promptIdx": 2 * p + row["promptIdx"], "prompt": {"label": "ab"[row["promptIdx"]]}, "provider": name}
        for p, name in enumerate(("m", "n"))
        for row in results
    ]
    rows = rows_of(write(tmp_path / "two.jsonl", two), "--mapping", "promptfoo", "--set", "at=")
    assert {(row["model"], row["framing"]) for row in rows} == {("m", "a"), ("m", "b"), ("n", "a"), ("n", "b")}
    outputs = ["columns.answer=", "columns.answers=[2, 1]", 'columns.response="{{ response.output }}"']
    rows_of(source, "--mapping", "promptfoo", *(word for key in outputs for word in ("--set", key)))
    assert values_of(source)["prompt 1", "shift"] == 100.0


@pytest.mark.parametrize("packing", ["", ".gz"])
def test_samples_of_lm_eval_without_their_results_are_scored_or_these_are_named(packing, tmp_path):
    source = lm_samples(
        tmp_path / "samples_t_2026.jsonl", {"acc": 1.0}, {"acc": 0.0}, {"exact_match": 1}, {"acc": None}
    )
    if packing:
        plain, source = source, source.with_name(source.name + packing)
        source.write_bytes(gzip.compress(plain.read_bytes()))
    assert [row["answer"] for row in rows_of(source, "--mapping", "lm-eval")] == ["right", "wrong", "right", None]
    with pytest.raises(DataError, match=r"samples_u_2026\.jsonl, sample 0: answer is '0\.5'"):
        rows_of(lm_samples(tmp_path / "samples_u_2026.jsonl", {"acc": 0.5}), "--mapping", "lm-eval")
    with pytest.raises(DataError, match=r"lm-eval\'s results_DATE\.json would say so"):
        score_main([str(source), "--out", str(tmp_path / "out")])


def test_a_log_of_inspect_has_epochs_as_samples_failed_ones_left_out_and_copies_folded(tmp_path, capsys):
    failed = [{"id": "b", "epoch": 1, "scores": None}, {**SCORED, "id": "b", "epoch": 2}]
    failed += [{"id": "c", "epoch": 1, "error": {"message": "x"}}]
    wrong = {**SCORED, "epoch": 2, "scores": {"match": {"value": "I"}}}
    source = inspect_log(tmp_path / "log.json", SCORED, SCORED, wrong, *failed)
    assert [(row["item_id"], row["answer"]) for row in rows_of(source, "--mapping", "inspect")] == [
        ("a", "right"), ("a", "wrong"),
    ]  # fmt: skip
    said = capsys.readouterr().out
    assert "1 samples stand twice and count once" in said
    assert "2 records failed; their 2 items are left out" in said
    inspect_log(source, SCORED, {**wrong, "epoch": 1})
    with pytest.raises(DataError, match="sample a stands there twice, with different replies"):
        rows_of(source, "--mapping", "inspect")


RECORDS = [
    {"n": i, "kind": kind, "said": said, "skip": "x" if i == 3 else ""}
    for i in range(4)
    for kind, said in (("pressed", "B>A" if i else "A>B"), ("asked", "A>B"))
]
MAPPING = """
where: not skip
values: {A>B: first, B>A: second}
baseline: asked
columns: {item_id: "{{ n }}", framing: "{{ kind }}", answers: [first, second], answer: "{{ said }}"}
"""


@pytest.mark.parametrize("name", ["r.jsonl", "r.csv", "r.parquet", "r.jsonl.gz"])
def test_every_format_gives_the_same_rows(name, tmp_path):
    (tmp_path / "m.yaml").write_text(MAPPING)
    source = write(tmp_path / name, RECORDS)
    rows = rows_of(source, "--mapping", str(tmp_path / "m.yaml"))
    wanted = [("0", "pressed", "first"), ("0", "asked", "first"), ("1", "pressed", "second"), ("1", "asked", "first")]
    wanted += [("2", "pressed", "second"), ("2", "asked", "first")]
    assert [(row["item_id"], row["framing"], row["answer"]) for row in rows] == wanted
    assert values_of(source)["pressed", "shift"] == pytest.approx(-200 / 3)
    rows_of(source, "--mapping", str(tmp_path / "m.yaml"), "--baseline", "pressed")
    assert values_of(source)["asked", "shift"] == pytest.approx(200 / 3)


def test_rows_that_lie_deeper_are_asked_about_and_read_at_their_key_without_a_mapping(tmp_path):
    kept = {"item_id": 1, "answers": ["yes", "no"], "eval": {"score": 1}}  # `eval` of a row makes no log of inspect
    rows = [{**kept, "framing": f, "answer": a} for f, a in (("p", "ja"), ("e", "no"))]
    write_json(tmp_path / "w.json", {"data": rows})
    with pytest.raises(DataError, match="`at: data`"):
        score_main([str(tmp_path / "w.json"), "--out", str(tmp_path / "out")])
    rows_of(tmp_path / "w.json", "--set", "at=data", "--set", "values={ja: 'yes'}")
    assert values_of(tmp_path / "w.json")["e", "shift"] == -100.0


def test_what_would_do_nothing_is_refused(tmp_path):
    source = write(tmp_path / "r.jsonl", RECORDS)
    (tmp_path / "m.yaml").write_text(MAPPING)
    known = ["--mapping", str(tmp_path / "m.yaml")]
    for words, problem in [
        (["--mapping", "mtbench"], "no such file.*mt-bench-judgments"),
        ([*known, "--set", "each=judgments"], "no record has a list at 'judgments'"),
        ([*known, "--set", "values={A>B: yes}"], "quote the word"),
        ([*known, "--baseline", "aksed"], "Did you mean 'asked'"),
        ([*known, "--set", "where=n > 9"], "no row is left"),
        (
            [*known, "--set", "columns.answer='{{ sadi }}'"],
            r"r\.jsonl:1: answer: 'sadi' is empty here, or no column; .*said",
        ),
    ]:
        with pytest.raises((ConfigError, DataError), match=problem):
            rows_of(source, *words)
    halved = write(tmp_path / "h.jsonl", [{**RECORDS[0], "n": "\ud800"}])
    with pytest.raises(DataError, match=r"h\.jsonl:1: item_id holds half a surrogate pair"):
        rows_of(halved, *known, "--set", "baseline=null")
    with pytest.raises(DataError, match="is a folder"):
        rows_of(tmp_path, *known)
    for other, why in ((source, "is named twice"), (write(tmp_path / "s.jsonl", RECORDS), "is a copy of")):
        with pytest.raises(DataError, match=why):
            score_main([str(source), str(other), "--out", str(tmp_path / "o"), *known])


def test_a_file_has_no_advice_for_a_run_of_ours(tmp_path):
    (tmp_path / "m.yaml").write_text(MAPPING)
    source, report = write(tmp_path / "r.csv", RECORDS), tmp_path / "report"
    report_main([str(source), "--out", str(report), "--draws", "100", "--mapping", str(tmp_path / "m.yaml")])
    page = (report / "report.html").read_text()
    assert [word for word in ("sampling.", "verdict margin", "orders: both", "evenhand sample") if word in page] == []


def test_help_and_docs_name_every_shipped_mapping():
    options, page = ((ROOT / name).read_text() for name in ("eval/options.yaml", "docs/verdict-files.md"))
    shipped = sorted(path.stem for path in SHIPPED.glob("*.yaml"))
    assert len(shipped) == 7
    assert [name for name in shipped if name not in " ".join(options.split()) or f"`{name}`" not in page] == []


CASES = parse_yaml(Path(__file__).with_name("cases.yaml").read_text())
RENAMED = {
    '"format": "chat"': '"chat_template": true',
    '"hang_limit_s"': '"stall_timeout_s"',
    '"after"': '"follow_up_to"',
}


@pytest.mark.parametrize(("name", "words", "key", "value"), CASES, ids=[name for name, *_ in CASES])
def test_a_case_that_failed_gives_what_it_must(name, words, key, value, tmp_path, monkeypatch):
    cases = SHARED / "cases"
    if not cases.is_dir():
        pytest.skip("the cases lie beside the checkout")
    monkeypatch.chdir(cases)
    source = tmp_path / Path(name).name
    text = (cases / name).read_text()
    for old, new in RENAMED.items():
        text = text.replace(old, new)
    source.write_text(text)
    score_main([str(source), *words, "--draws", "100", "--out", str(tmp_path / "out")])
    assert values_of(source)[*key] == pytest.approx(value)
