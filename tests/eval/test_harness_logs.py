"""Logs of lm-eval and inspect, made up here; tests/eval/test_real_harnesses.py has those of the real ones."""

import json
import math
from zipfile import ZIP_DEFLATED, ZipFile

import pytest

from eval.__main__ import compare_main, score_main
from eval.harness_logs import figures, lm_eval_answer, read_log
from evenhand.cli.export import main as export_main
from evenhand.completions import read_answers
from evenhand.config import read_yaml
from evenhand.errors import ConfigError, DataError
from evenhand.files import write_json, write_jsonl
from inference.config import parse_sampling_config
from inference.sampling import sample
from tests.made.framing_runs import claims, planted, run_of, study
from tests.made.scripted_engine import AnsweringEngine, scripted


def by_length(prompt):
    """Log-probabilities that hang on the prompt: a judge with margins and options."""
    n = sum(len(message.content) for message in prompt.messages)
    odds = {answer: 1.5 ** (n * (place + 3) % 7) for place, answer in enumerate(prompt.answer_space)}
    logs = {answer: math.log(odd / sum(odds.values())) for answer, odd in odds.items()}
    return {"text": max(logs, key=lambda answer: logs[answer]), "finish_reason": "stop", "answer_logprobs": logs}


def asked(root, name, monkeypatch):
    """A finished run, answered without any harness."""
    if name == "shift":
        return run_of(root, study(claims(root / "items.jsonl", 6)), planted(1, defers=0.5), monkeypatch)
    of = {
        "dds": {
            "verdict": "margin",
            "dialdefer": {"benchmarks": [{"dataset": "pocket", "split": "test", "n_items": 5}]},
        },
        "pr": {"verdict": "options", "narrator": {"corpus": {"dataset": "pocket-conflicts", "n_conversations": 3}}},
    }
    scripted(monkeypatch, AnsweringEngine(by_length, room=64))
    sampling = {"temperature": 1.0} if name == "pr" else {}
    tree = {"name": name, "model": {"name": "scripted"}, "run": {"root": str(root)}, "sampling": sampling, **of[name]}
    return sample(parse_sampling_config(tree, "config"))


def inspect_samples(prompts, run):
    """The samples of a log of inspect that holds a run's replies."""
    replies, samples = read_answers(run).without_errors, []
    for prompt in prompts:
        reply = replies[prompt["evenhand"]["prompt_hash"]][0]
        choice = {"message": {"role": "assistant", "content": reply.text}, "stop_reason": "stop"}
        if reply.answer_logprobs:
            listed = [{"token": f"Ġ{token}", "logprob": p} for token, p in reply.answer_logprobs.items()]
            choice["logprobs"] = {"content": [{**listed[-1], "top_logprobs": listed}]}
        messages = [*prompt["messages"], choice["message"]]
        metadata = {"evenhand": prompt["evenhand"]}
        samples.append(
            {"id": prompt["id"], "messages": messages, "metadata": metadata, "output": {"choices": [choice]}}
        )
    return samples


def inspect_log(path, exported, samples):
    """A log of inspect, in either format."""
    task = json.loads((exported / "task.json").read_text())
    header = {"eval": {"model": "scripted", "task": "t", "metadata": {"evenhand": task}}}
    if path.suffix == ".json":
        write_json(path, {**header, "samples": samples})
        return path
    with ZipFile(path, "w", ZIP_DEFLATED) as archive:
        for name, content in [("header.json", header), *((f"samples/{s['id']}_epoch_1.json", s) for s in samples)]:
            archive.writestr(name, json.dumps(content))
    return path


def lm_eval_log(path, exported, prompts, run):
    """A log of lm-eval with its results beside it."""
    replies, samples = read_answers(run).without_errors, []
    for prompt in prompts:
        own, texts = prompt["evenhand"], {message["role"]: message["content"] for message in prompt["messages"]}
        reply = replies[own["prompt_hash"]][0]
        given = [reply.text]
        if logs := reply.answer_logprobs:
            given = [[repr(logs[answer]), "False"] for answer in own["answers"]]
        doc = {"system": "", **texts, "evenhand": json.dumps(own)}
        arguments = {f"gen_args_{i}": {"arg_0": texts["user"], "arg_1": a} for i, a in enumerate(own["answers"])}
        samples.append({"doc": doc, "resps": [], "filtered_resps": given, "arguments": arguments})
    write_jsonl(path / "samples_t_2026.jsonl", samples)
    task = json.loads((exported / "task.json").read_text())
    results = {"model_name": "scripted", "configs": {"t": {"metadata": {"evenhand": task}}}}
    write_json(path / "results_2026.json", results)
    return path / "samples_t_2026.jsonl"


def scores(source, out, *words):
    """Every score of a source, without its names."""
    score_main([str(source), "--out", str(out), "--draws", "100", *words])
    rows = json.loads((out / "scores.json").read_text())
    return [tuple(v for key, v in sorted(row.items()) if key not in ("run", "judge", "model")) for row in rows]


@pytest.mark.parametrize("name", ["dds", "shift", "pr"])
@pytest.mark.parametrize("kind", [".json", ".eval", "lm-eval"])
def test_a_log_is_scored_as_the_run_whose_replies_it_holds(name, kind, tmp_path, monkeypatch):
    run, harness, exported = asked(tmp_path, name, monkeypatch), kind.strip("."), tmp_path / "task"
    if name == "pr" and kind != "lm-eval":
        with pytest.raises(ConfigError, match="options"):
            export_main(["inspect", str(run / "config.yaml"), "--out", str(exported)])
        return
    export_main([harness if kind == "lm-eval" else "inspect", str(run / "config.yaml"), "--out", str(exported)])
    prompts = [json.loads(line) for line in (exported / "prompts.jsonl").read_text().splitlines()]
    if kind == "lm-eval":
        log = lm_eval_log(tmp_path / "logs", exported, prompts, run)
    else:
        log = inspect_log(tmp_path / f"log{kind}", exported, inspect_samples(prompts, run))
    of_log = scores(log, tmp_path / "of_log")
    of_run = scores(run, tmp_path / "of_run")
    assert len(of_log) == len(of_run) > 0
    for row, other in zip(of_log, of_run, strict=True):
        assert [*row] == [pytest.approx(cell, abs=1e-9) if isinstance(cell, float) else cell for cell in other]
    if kind == "lm-eval":  # what the task prints
        task = json.loads((exported / "task.json").read_text())
        samples = [json.loads(line) for line in log.read_text().splitlines()]
        printed = figures(task, [lm_eval_answer(sample, task["config"]["verdict"]) for sample in samples])
        assert list(task["figures"]) == sorted(printed)
        assert all(
            value in {cell for row in of_log for cell in row if isinstance(cell, float)} for value in printed.values()
        )


def test_a_mapping_makes_rows_of_log_probabilities_and_of_several_replies(tmp_path):
    """lm-eval's choices as DialDefer's verdicts: DDS 100 (accepts the false claim as a speaker's alone)."""
    no = {"c1_false": -0.5}
    samples = [
        {"doc": {"key": f"i{i}", "condition": condition}, "resps": [], "arguments": [["?", " yes"], ["?", " no"]]}
        | {"filtered_resps": [["-1.0", "True"], [str(no.get(condition, -2.0)), "False"]]}
        for i in range(3)
        for condition in ("c1_true", "c1_false", "c2_correct", "c2_incorrect")
    ]
    write_jsonl(tmp_path / "samples_claims_2026.jsonl", samples)
    write_json(tmp_path / "results_2026.json", {"model_name": "m"})
    columns = {"model": "{{ model }}", "dataset": "claims", "item_id": "{{ doc.key }}"}
    columns |= {"condition": "{{ doc.condition }}", "choice": "{{ 1 if logprobs.yes > logprobs.no else 2 }}"}
    write_json(tmp_path / "claims.yaml", {"columns": columns})
    log = tmp_path / "samples_claims_2026.jsonl"
    score_main([str(log), "--mapping", str(tmp_path / "claims.yaml"), "--out", str(tmp_path / "out")])
    rows = json.loads((tmp_path / "out" / "scores.json").read_text())
    assert {row["value"] for row in rows if row["measure"] == "dds"} == {100.0}


def test_a_folder_whose_task_is_damaged_is_refused_and_one_with_the_same_task_is_not(tmp_path, monkeypatch):
    export = ["inspect", str(asked(tmp_path, "dds", monkeypatch) / "config.yaml"), "--out", str(tmp_path / "task")]
    export_main(export)
    export_main(export)
    (tmp_path / "task" / "task.json").write_text("{")
    with pytest.raises(ConfigError, match="already holds another task"):
        export_main(export)


def exported_samples(tmp_path, monkeypatch):
    """An exported task of 6 items, and the samples of a log of it."""
    run = asked(tmp_path, "shift", monkeypatch)
    export_main(["inspect", str(run / "config.yaml"), "--out", str(tmp_path / "task")])
    prompts = [json.loads(line) for line in (tmp_path / "task" / "prompts.jsonl").read_text().splitlines()]
    return tmp_path / "task", inspect_samples(prompts, run)


def dropped(samples):
    del samples[1:]


def reworded(samples):
    samples[2]["messages"][0]["content"] += " Think hard."


@pytest.mark.parametrize(("change", "problem"), [(dropped, "no item has all"), (reworded, "shown another one")])
def test_a_log_of_other_prompts_or_of_no_whole_item_is_refused(change, problem, tmp_path, monkeypatch):
    exported, samples = exported_samples(tmp_path, monkeypatch)
    change(samples)
    with pytest.raises(DataError, match=problem):
        score_main([str(inspect_log(tmp_path / "log.json", exported, samples))])


def test_epochs_are_samples_and_items_with_a_failed_sample_are_left_out_and_counted(tmp_path, monkeypatch, capsys):
    exported, samples = exported_samples(tmp_path, monkeypatch)
    twice = [{**sample, "epoch": epoch} for epoch in (1, 2) for sample in samples]
    twice[3] |= {"error": {"message": "provider failed"}, "output": {"choices": []}}
    log = inspect_log(tmp_path / "log.json", exported, [*twice, twice[0]])
    score_main([str(log), "--draws", "100"])
    (said,) = [line for line in capsys.readouterr().out.splitlines() if "left out" in line]
    assert f"1 of 6 items lack replies and are left out (1 of {2 * len(samples)} samples failed)" in said
    run = log.with_suffix(".run")
    replies = read_answers(run).without_errors
    assert {tuple(reply.sample_index for reply in of_prompt) for of_prompt in replies.values() if of_prompt} >= {(0, 1)}
    assert read_yaml(run / "config.yaml")["sampling"]["n"] == 2


def test_a_run_says_what_the_harness_did_and_logs_stand_where_they_were_named(tmp_path, monkeypatch):
    exported, samples = exported_samples(tmp_path, monkeypatch)
    logs = [inspect_log(tmp_path / f"{name}.json", exported, samples) for name in ("base", "after")]
    changed = json.loads(logs[1].read_text())
    changed["plan"] = {"config": {"temperature": 0.7, "max_tokens": 9, "top_p": None}}
    for each in changed["samples"]:
        each["output"]["choices"][0]["message"]["content"] = "1"
    write_json(logs[1], {**changed, "eval": {**changed["eval"], "model": "provider/other"}})
    score_main([str(logs[0]), "--draws", "100"])
    named = [str(logs[0].with_suffix(".run")), str(logs[1])]
    compare_main([*named, "--draws", "100", "--out", str(tmp_path / "c"), "--allow-differences"])
    rows = json.loads((tmp_path / "c" / "compare.json").read_text())
    assert {(row["first"], row["second"]) for row in rows} == {("scripted", "other")}
    config = read_yaml(logs[1].with_suffix(".run") / "config.yaml")
    drawn = {key: config["sampling"][key] for key in ("temperature", "max_tokens", "top_p")}
    assert (config["model"]["name"], drawn) == (
        "provider/other", {"temperature": 0.7, "max_tokens": 9, "top_p": 1.0},
    )  # fmt: skip


def test_arguments_of_lm_eval_may_be_a_list_and_say_how_replies_were_drawn(tmp_path):
    sample = {"doc": {}, "resps": [], "filtered_resps": [["-1.0", "True"], ["-2.0", "False"]]}
    named = {f"gen_args_{i}": {"arg_0": "?", "arg_1": answer} for i, answer in enumerate((" yes", " no"))}
    for arguments in (named, [["?", " yes"], ["?", " no"]]):
        write_jsonl(tmp_path / "samples_t_1.jsonl", [{**sample, "arguments": arguments}])
        (read,) = read_log(tmp_path / "samples_t_1.jsonl").samples
        assert (read["reply"], read["logprobs"]) == ("yes", {"yes": -1.0, "no": -2.0})
    generated = {"do_sample": False, "temperature": 1.0, "max_gen_toks": 64, "until": []}
    texts = {**sample, "filtered_resps": ["yes"], "arguments": [["?", generated]]}
    write_jsonl(tmp_path / "samples_t_1.jsonl", [texts])
    assert read_log(tmp_path / "samples_t_1.jsonl").sampling == {"temperature": 0.0, "max_tokens": 64}


HEADER, BLANKS = json.dumps({"eval": {"model": "m", "task": "t"}}), " " * (1 << 23)


@pytest.mark.parametrize(
    ("header", "sample", "damaged", "says"),
    [
        (HEADER, f"{{{BLANKS}}}", None, "unpacks to over"),
        (HEADER + BLANKS, "{}", None, "unpacks to over"),
        ('{"eval": ' + "[" * 100_000, "{}", None, "no whole log"),
        (HEADER, "{}", (b"header.json", 11), "no whole log"),  # the first packed byte
        (HEADER, "{}", (b"PK\1\2", 10), "no whole log"),  # how it is packed
    ],
)
def test_a_log_that_unpacks_to_far_more_than_its_size_or_is_damaged_is_refused(header, sample, damaged, says, tmp_path):
    with ZipFile(tmp_path / "log.eval", "w", ZIP_DEFLATED) as archive:
        archive.writestr("header.json", header)
        archive.writestr("samples/1.json", sample)
    content = bytearray((tmp_path / "log.eval").read_bytes())
    if damaged:
        content[content.index(damaged[0]) + damaged[1]] = 255
    (tmp_path / "log.eval").write_bytes(content)
    with pytest.raises(DataError, match=says):
        read_log(tmp_path / "log.eval")
