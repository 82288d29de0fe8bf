"""A run and its re-run: the shares of verdicts and replies that differ, counted by prompt and condition."""

import json

import pandas as pd
import pytest

from eval.__main__ import compare_main
from eval.estimates.resampling import wilson_interval
from eval.evaluation import evaluation_of
from eval.reruns import differing, flip_row, is_rerun, rerun_rates
from eval.runs import load_finished
from evenhand.run_directory import read_plan_lines
from inference.config import parse_sampling_config
from inference.sampling import sample
from tests.made.framing_runs import claims, run_of, study
from tests.made.made_runs import lean, made_items, make_run
from tests.made.places import cases
from tests.made.scripted_engine import AnsweringEngine, scripted

N_ITEMS = 10
ITEMS = made_items("bbq", 3)


def accepts(_):
    return lean(1.0)


def rows_of(first, again, *groups):
    verdicts = differing(first, again)
    return [flip_row(verdicts, verdicts, group) for group in groups]


def test_a_prompt_counts_once_and_an_unparsed_verdict_is_left_out():
    first = {("a", 0): "1", ("b", 0): "1", ("c", 0): None, ("d", 0): "2"}
    again = {("a", 0): "1", ("b", 0): "2", ("c", 0): "1", ("d", 0): "2"}
    total, c1, c2 = rows_of(first, again, {*"abcd"}, {*"ab"}, {*"cd"})
    assert [total[name] for name in ("n_prompts", "n_unparsed", "n_differing")] == [3, 1, 1]
    low, high = wilson_interval(1, 3) or (0, 0)
    assert (total["low"], total["high"]) == pytest.approx((100 * low, 100 * high))
    assert (c1["rate"], c2["rate"], c2["n_unparsed"]) == (50, 0, 1)


def test_of_several_samples_a_prompt_counts_by_the_share_that_differs():
    first, again = {("a", k): "12"[k % 2] for k in range(4)}, {("a", k): "1" for k in range(4)}
    (row,) = rows_of(first, again, {"a"})
    assert (row["n_prompts"], row["rate"]) == (1, 50)


def test_a_prompt_that_the_rerun_did_not_ask_is_in_no_row():
    total, nothing = rows_of({("a", 0): "1", ("c", 0): "1"}, {("a", 0): "1"}, {"a", "c"}, {"c"})
    assert (total["n_prompts"], total["n_unparsed"]) == (1, 0)
    assert (nothing["n_prompts"], nothing["rate"], nothing["low"]) == (0, None, None)


@pytest.mark.parametrize(("model", "facts", "expected"), cases(__file__)["same_model"])
def test_a_rerun_is_of_the_same_model(tmp_path, model, facts, expected):
    base = make_run(
        tmp_path, accepts, items=ITEMS, name="base", model="base", facts=facts and {"checkpoint_hash": "c0"}
    )
    again = make_run(tmp_path, accepts, items=ITEMS, name="again", model=model, facts=facts)
    assert is_rerun(load_finished(base), load_finished(again)) is expected


@pytest.mark.parametrize(("system", "expected"), [("Be fair.", True), ("Be kind.", False)])
def test_a_rerun_is_under_the_same_patch_whatever_it_is_called(tmp_path, system, expected):
    patches = {"base": {"system": "Be fair.", "name": "x"}, "again": {"system": system, "name": "x" * (not expected)}}
    base, again = (make_run(tmp_path, accepts, items=ITEMS, name=name, patch=patches[name]) for name in patches)
    assert is_rerun(load_finished(base), load_finished(again)) is expected


def sampled(monkeypatch, answer_of, tree):
    scripted(monkeypatch, AnsweringEngine(answer_of))
    return sample(parse_sampling_config({"model": {"name": "scripted"}, **tree}, "made.yaml"))


def verdict(choice):
    return f'{{"chosen_answer": "{choice}"}}'


def compared(base, *again):
    out = again[-1] / "compare"
    compare_main([str(base), *map(str, again), "--all", "--draws", "100", "--out", str(out)])
    return pd.DataFrame(json.loads((out / "reruns.json").read_text())).set_index(["second", "condition"])


def test_planted_flips_are_counted_by_condition(tmp_path, monkeypatch, capsys):
    tree = {
        "dialdefer": {"benchmarks": [{"dataset": "pocket", "n_items": N_ITEMS}]},
        "engine": {"kind": "transformers"},
        "run": {"root": str(tmp_path)},
    }
    base = sampled(monkeypatch, lambda _: verdict(1), {**tree, "name": "toy"})
    lines = list(read_plan_lines(base))
    turned = sorted(line["prompt_hash"] for line in lines if line["condition"] == "c2_incorrect")[:3]
    unparsed = next(line["prompt_hash"] for line in lines if line["condition"] == "c1_true")
    answers = dict.fromkeys(turned, verdict(2)) | {unparsed: "well"}
    again = sampled(monkeypatch, lambda p: answers.get(p.prompt_hash, verdict(1)), {**tree, "name": "again"})
    third = sampled(monkeypatch, lambda _: verdict(1), {**tree, "name": "third"})
    rates = compared(base, again, third)
    counts = ["n_differing", "n_prompts", "n_unparsed", "n_other_texts"]
    assert rates.loc[(again.name, "all"), counts].tolist() == [3, 4 * N_ITEMS - 1, 1, 4]
    assert rates.loc[(again.name, "c2_incorrect"), counts].tolist() == [3, N_ITEMS, 0, 3]
    assert rates.loc[(again.name, "c1_true"), counts].tolist() == [0, N_ITEMS - 1, 1, 1]
    assert rates.loc[(third.name, "all"), counts].tolist() == [0, 4 * N_ITEMS, 0, 0]
    assert "re-run flip rate 7.7% [2.7, 20.3] (3 of 39 verdicts, 1 unparsed left out)" in " ".join(
        capsys.readouterr().out.split()
    )


def test_replies_to_framings_that_name_no_answer_are_left_out_of_the_flip_rate_and_counted(tmp_path, monkeypatch):
    section = study(claims(tmp_path / "items.jsonl", 3))

    def judge(behind_an_expert):
        return lambda prompt: behind_an_expert if prompt.condition == "expert" else "1"

    paths = [run_of(tmp_path / name, section, judge(words), monkeypatch) for name, words in (("a", "Hm."), ("b", "2"))]
    rates = rerun_rates(evaluation_of("framing"), *map(load_finished, paths)).set_index("condition")
    assert rates.loc["expert", ["n_prompts", "n_unparsed", "n_differing"]].tolist() == [0, 12, 0]
    assert rates.loc["statement", ["n_prompts", "n_unparsed", "n_differing"]].tolist() == [12, 0, 0]
