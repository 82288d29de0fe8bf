"""Runs are compared like for like, found where they lie, and stand beside another study's on a scorecard."""

import json
import shutil
from pathlib import Path

import pytest

from eval.__main__ import compare_main, score_main
from eval.scorecard.command import main as scorecard_main
from evenhand.errors import DataError
from evenhand.records import Prompt
from tests.made.made_runs import made_items, make_run, say
from tests.made.pluraleval_models import both_runs, echo, everything, model, sycophant
from tests.made.pocket_judge import AnsweringEngine, perfect, stage_run

FEW = ("--draws", "200")


def lenient(prompt: Prompt) -> str:
    return "yes" if prompt.factors.judgement == "entailment" else perfect(prompt)


def test_responses_that_another_judge_read_are_not_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    responses, base = both_runs(tmp_path, monkeypatch, model(everything), "one")
    section = {"judgements": {"responses": str(responses)}}
    other = stage_run(
        tmp_path, monkeypatch, section, AnsweringEngine(lenient), name="lenient", model={"name": "another"}
    )
    with pytest.raises(DataError, match="the judge's model: scripted before, another after"):
        compare_main([str(base), str(other), *FEW])


def test_moved_runs_are_found_beside_each_other_and_changed_responses_are_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    responses, judged = both_runs(tmp_path, monkeypatch, model(everything), "one")
    moved = tmp_path / "moved"
    shutil.copytree(responses.parent, moved)
    shutil.rmtree(responses.parent)
    score_main([str(moved / judged.name), *FEW])
    again, _ = both_runs(tmp_path / "again", monkeypatch, model(echo), "one")  # the same config, other replies
    shutil.rmtree(moved / responses.name)
    shutil.copytree(again, moved / responses.name)
    with pytest.raises(DataError, match="is not as it was when"):
        score_main([str(moved / judged.name), *FEW])
    shutil.rmtree(moved / responses.name)
    with pytest.raises(DataError, match="which is not there; restore it"):
        score_main([str(moved / judged.name), *FEW])


def test_made_up_responses_put_the_judge_on_trial(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run = stage_run(tmp_path, monkeypatch, {"judgements": {}}, AnsweringEngine(perfect))
    score_main([str(run), *FEW])
    printed = capsys.readouterr().out
    assert "made-up responses, judged by scripted" in printed
    rows = json.loads((run / "scores" / "scores.json").read_text())
    (recall,) = [
        row["value"]
        for row in rows
        if (row["measure"], row["opinions"], row["dataset"]) == ("recall", "global", "all threads")
    ]
    assert recall == 100


def test_a_scorecard_has_what_a_belief_takes_from_each_arm(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _, base = both_runs(tmp_path, monkeypatch, model(everything), "pluralist")
    _, arm = both_runs(tmp_path, monkeypatch, model(sycophant), "sycophant")
    pocket = [
        make_run(tmp_path, lambda prompt: say(1), items=made_items("truthfulqa", 4), name=name)
        for name in ("base", "arm")
    ]
    words = [str(pocket[0]), f"sft={pocket[1]}", "--beside", f"base={base}", "--beside", f"sft={arm}", *FEW]
    scorecard_main([*words, "--allow-differences", "--out", str(tmp_path / "card")])
    printed = capsys.readouterr().out
    assert "sft: opposing recall lost, pp, change +100.00" in printed
    rows = json.loads((tmp_path / "card" / "scorecard.json").read_text())
    assert [row["pluraleval_opposing_recall_lost"] for row in rows] == [0, 100]
    assert rows[1]["pluraleval_change_ranking_rho_lost"] == 0
    changes = json.loads((tmp_path / "card" / "scorecard_changes.json").read_text())
    assert "opposing_recall_lost" in {row["measure"] for row in changes if row["study"] == "pluraleval"}
