"""A run and its re-run: the shares of verdicts and replies that differ, counted by prompt and condition; and over time:
what differs from the frozen run, and when that is more than asking again does by itself."""

import json
import random
from datetime import datetime
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from eval.__main__ import compare_main
from eval.evaluation import evaluation_of
from eval.reruns import control_limit, differing, flip_row, is_rerun, rerun_rates
from eval.runs import load_finished
from evenhand.errors import DataError
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


FLIPS = 0.04  # of verdicts, whenever the judge is asked again


def moody(day, *, drifted=0.0):
    """A judge that is right and does not bend; some verdicts flip each time, and a share may have drifted."""

    def answer(prompt):
        wanted = "accept" if prompt.factors.case == "true" else "reject"
        is_other = random.Random(f"{day} {prompt.prompt_hash}").random() < FLIPS
        is_other ^= random.Random(f"drift {prompt.prompt_hash}").random() < drifted
        names = prompt.factors.names
        return prompt.answer_space[names.index(wanted) ^ is_other]

    return answer


def asked(tmp_path, monkeypatch, name, judge, date, **keys):
    section = study(claims(tmp_path / "claims.jsonl", 60))
    monkeypatch.setattr("evenhand.provenance.datetime", SimpleNamespace(now=lambda _: datetime.fromisoformat(date)))
    return str(run_of(tmp_path, section, judge, monkeypatch, name=name, **keys))


def test_a_judge_that_drifts_is_told_from_one_that_flips_as_it_always_did(tmp_path, monkeypatch, capsys):
    frozen = asked(tmp_path, monkeypatch, "frozen", moody(0), "2026-01-01")
    again = asked(tmp_path, monkeypatch, "again", moody(1), "2026-01-02")
    steady = asked(tmp_path, monkeypatch, "steady", moody(2), "2026-02-01")
    drifted = asked(tmp_path, monkeypatch, "drifted", moody(3, drifted=0.15), "2026-03-01")
    compare_main([frozen, drifted, steady, again, "--drift", "--out", str(tmp_path / "out"), "--draws", "400"])
    rows = json.loads((tmp_path / "out" / "drift.json").read_text())
    assert [(row["date"], row["is_beyond"]) for row in rows] == [
        ("2026-01-02", False),
        ("2026-02-01", False),
        ("2026-03-01", True),
    ]
    assert rows[0]["limit"] is None
    assert rows[2]["after_2"] < rows[2]["before_2"] - 8
    assert rows[2]["p_2"] < 0.05 < rows[1]["p_2"]
    assert "Drift: drifted" in capsys.readouterr().out
    assert (tmp_path / "out" / "plots" / "drift.svg").is_file()


def followed(tmp_path, monkeypatch, judges, **keys):
    """The rows of drift.json of one model that answered so from day to day."""
    paths = []
    for day, judge in enumerate(judges, start=1):
        monkeypatch.setattr("evenhand.provenance.datetime", SimpleNamespace(now=lambda _, d=day: datetime(2026, 1, d)))
        paths.append(str(make_run(tmp_path, judge, name=f"day-{day}", model="judge", **keys)))
    compare_main([*paths, "--drift", "--out", str(tmp_path / "out"), "--draws", "400"])
    return json.loads((tmp_path / "out" / "drift.json").read_text())


def test_a_run_of_claims_and_speakers_is_followed_in_its_dds_and_accuracy(tmp_path, monkeypatch, capsys):
    def judge(n_bent):
        def answer(prompt):
            is_true = prompt.condition in ("c1_true", "c2_correct")
            is_bent = prompt.condition == "c2_incorrect" and int(prompt.item_id.rpartition("-")[2]) < n_bent
            return lean(2.0 if is_true or is_bent else -2.0)

        return answer

    judges = map(judge, (6, 6, 6, 30))
    rows = followed(tmp_path, monkeypatch, judges, items=made_items("bbq", 30), verdict="margin")
    assert [row["is_beyond"] for row in rows] == [False, False, True]
    assert [round(rows[2][key]) for key in ("before_1", "after_1", "before_2", "after_2")] == [20, 100, 95, 75]
    assert "no figure changed" not in capsys.readouterr().out


def test_runs_of_which_no_reply_could_be_read_are_not_called_steady(tmp_path, monkeypatch, capsys):
    rows = followed(tmp_path, monkeypatch, [accepts] * 3, items=ITEMS)
    assert [(row["flips"], row["limit"], row["is_beyond"]) for row in rows] == [(None, None, False)] * 2
    assert capsys.readouterr().out.startswith("Cannot tell: of day-2-0000, day-3-0000")


def test_another_judges_run_is_no_drift(tmp_path, monkeypatch):
    frozen = asked(tmp_path, monkeypatch, "frozen", moody(0), "2026-01-01")
    other = asked(tmp_path, monkeypatch, "other", moody(1), "2026-01-02", model={"name": "other"})
    with pytest.raises(DataError, match="asked another model"):
        compare_main([frozen, other, "--drift", "--out", str(tmp_path / "out")])


@pytest.mark.parametrize("rate", [0.0, 0.03, 0.2])
def test_a_judge_that_does_not_drift_passes_its_limit_in_less_than_two_percent(rate):
    rng = np.random.default_rng(1)
    n_runs, n_items, n_prompts = 400, 60, 10
    first, later = rng.binomial(n_prompts, rate, size=(2, n_runs, n_items)) / n_prompts
    limits = [control_limit(pd.DataFrame({"mean": shares, "count": n_prompts})) for shares in first]
    assert np.mean(100 * later.mean(axis=1) > limits) < 0.02
