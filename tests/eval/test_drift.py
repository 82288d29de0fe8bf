"""One judge over time: what differs from the frozen run, and when that is more than asking again does by itself."""

import json
import random
from datetime import datetime
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from eval.__main__ import compare_main
from eval.drift import control_limit
from evenhand.errors import DataError
from tests.made.framing_runs import claims, run_of, study
from tests.made.made_runs import lean, made_items, make_run

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


def asked(tmp_path, monkeypatch, name, judge, date):
    section = study(claims(tmp_path / "claims.jsonl", 60))
    monkeypatch.setattr("evenhand.provenance.datetime", SimpleNamespace(now=lambda _: datetime.fromisoformat(date)))
    return str(run_of(tmp_path, section, judge, monkeypatch, name=name))


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


def test_a_run_of_claims_and_speakers_is_followed_in_its_dds_and_accuracy(tmp_path, monkeypatch, capsys):
    items, paths = made_items("bbq", 30), []
    for day, bent in enumerate([0.2, 0.2, 0.2, 1.0], start=1):
        monkeypatch.setattr("evenhand.provenance.datetime", SimpleNamespace(now=lambda _, d=day: datetime(2026, 1, d)))

        def answer(prompt, bent=bent):
            is_true = prompt.condition in ("c1_true", "c2_correct")
            is_bent = prompt.condition == "c2_incorrect" and int(prompt.item_id.rpartition("-")[2]) < 30 * bent
            return lean(2.0 if is_true or is_bent else -2.0)

        paths.append(str(make_run(tmp_path, answer, items=items, name=f"day-{day}", model="judge", verdict="margin")))
    compare_main([*paths, "--drift", "--out", str(tmp_path / "out"), "--draws", "400"])
    rows = json.loads((tmp_path / "out" / "drift.json").read_text())
    assert [row["is_beyond"] for row in rows] == [False, False, True]
    assert [round(rows[2][key]) for key in ("before_1", "after_1", "before_2", "after_2")] == [20, 100, 95, 75]
    assert "no figure changed" not in capsys.readouterr().out


def test_runs_of_which_no_reply_could_be_read_are_not_called_steady(tmp_path, monkeypatch, capsys):
    items, paths = made_items("bbq", 6), []
    for day in (1, 2, 3):
        monkeypatch.setattr("evenhand.provenance.datetime", SimpleNamespace(now=lambda _, d=day: datetime(2026, 1, d)))
        paths.append(str(make_run(tmp_path, lambda _: lean(1.0), items=items, name=f"day-{day}", model="judge")))
    compare_main([*paths, "--drift", "--out", str(tmp_path / "out"), "--draws", "400"])
    rows = json.loads((tmp_path / "out" / "drift.json").read_text())
    assert [(row["flips"], row["limit"], row["is_beyond"]) for row in rows] == [(None, None, False)] * 2
    assert capsys.readouterr().out.startswith("Cannot tell: of day-2-0000, day-3-0000")


def test_another_judges_run_is_no_drift(tmp_path, monkeypatch):
    frozen = asked(tmp_path, monkeypatch, "frozen", moody(0), "2026-01-01")
    other = run_of(
        tmp_path, study(claims(tmp_path / "claims.jsonl", 60)), moody(1), monkeypatch, model={"name": "other"}
    )
    with pytest.raises(DataError, match="asked another model"):
        compare_main([frozen, str(other), "--drift", "--out", str(tmp_path / "out")])


@pytest.mark.parametrize("rate", [0.0, 0.03, 0.2])
def test_a_judge_that_does_not_drift_passes_its_limit_in_less_than_two_percent(rate):
    rng = np.random.default_rng(1)
    n_runs, n_items, n_prompts = 400, 60, 10
    first, later = rng.binomial(n_prompts, rate, size=(2, n_runs, n_items)) / n_prompts
    limits = [control_limit(pd.DataFrame({"mean": shares, "count": n_prompts})) for shares in first]
    assert np.mean(100 * later.mean(axis=1) > limits) < 0.02
