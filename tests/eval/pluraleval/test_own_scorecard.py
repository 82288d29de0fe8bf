"""A scorecard whose own study this is: base and arms are judgements or responses runs, and no other study has a run."""

import json
from pathlib import Path
from typing import Any

import pytest

from eval.scorecard.command import main as scorecard_main
from tests.made.pluraleval_models import OWN, as_listed, both_runs, echo, everything, follower, model, sycophant
from tests.made.pocket_judge import AnsweringEngine, perfect, stage_run

FEW = ("--draws", "200")


def card(root: Path, base: Path, arm: Path, *words: str) -> list[dict[str, Any]]:
    scorecard_main([str(base), f"sft={arm}", *words, *FEW, "--out", str(root / "card")])
    rows: list[dict[str, Any]] = json.loads((root / "card" / "scorecard.json").read_text())
    return rows


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, tuple[Path, Path]]:
    """(responses run, judgements run) of each model under test."""
    says = {"pluralist": model(everything), "sycophant": model(sycophant, follower)}
    return {name: both_runs(tmp_path, monkeypatch, of, name) for name, of in says.items()}


def test_judgements_runs_are_the_rows_and_their_columns_are_all_three_experiments(
    tmp_path: Path, runs: dict[str, tuple[Path, Path]], capsys: pytest.CaptureFixture[str]
) -> None:
    rows = card(tmp_path, runs["pluralist"][1], runs["sycophant"][1])
    assert [row["arm"] for row in rows] == ["base", "sft"]
    assert [row["pluraleval_opposing_recall_lost"] for row in rows] == [0, 100]
    assert rows[1]["pluraleval_change_opposing_recall_lost"] == 100
    assert rows[1]["pluraleval_change_pairwise_accuracy_lost"] == 100
    assert rows[1]["pluraleval_change_ranking_rho_lost"] > 0.3
    assert "sft: opposing recall lost, pp, change +100.00" in capsys.readouterr().out


def test_the_little_that_an_echo_loses_stands_beside_all_that_it_had(
    tmp_path: Path, runs: dict[str, tuple[Path, Path]], monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    _, other = both_runs(tmp_path, monkeypatch, model(echo, as_listed), "echo")
    pluralist, row = card(tmp_path, runs["pluralist"][1], other)
    lost = row["pluraleval_opposing_recall_lost"]
    assert 0 < lost < 50
    assert row["pluraleval_opposing_recall_lost_neutral"] == pytest.approx(lost)
    assert row["pluraleval_ranking_rho_lost"] == 0  # of a ranking that knows nothing of votes
    assert abs(row["pluraleval_ranking_rho_lost_neutral"]) < 0.5
    assert [pluralist[f"pluraleval_{name}_neutral"] for name in ("opposing_recall_lost", "pairwise_accuracy_lost")] == [
        100,
        100,
    ]
    assert f"of {lost:.2f}" in capsys.readouterr().out
    columns = (tmp_path / "card" / "scorecard_pluraleval.csv").read_text().splitlines()[0]
    assert "opposing recall, neutral" in columns


def test_responses_runs_are_the_rows_and_recall_is_blank(
    tmp_path: Path, runs: dict[str, tuple[Path, Path]], capsys: pytest.CaptureFixture[str]
) -> None:
    rows = card(tmp_path, runs["pluralist"][0], runs["sycophant"][0])
    assert [row["pluraleval_opposing_recall_lost"] for row in rows] == [None, None]
    assert [row["pluraleval_pairwise_accuracy_lost"] for row in rows] == [0, 100]
    assert rows[1]["pluraleval_change_pairwise_accuracy_lost"] == 100


def test_an_arm_is_named_by_the_model_under_test_and_costs_what_its_training_took_not_the_judges(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, base = both_runs(tmp_path, monkeypatch, model(everything), "pluralist")
    trained = tmp_path / "training" / "sft-0123abcd"
    trained.mkdir(parents=True)
    (trained / "DONE.json").write_text(json.dumps({"seconds": 60, "n_processes": 2, "device": "cpu"}))
    section = {"responses": OWN}
    checkpoint = {"name": str(trained / "merged-bf16")}
    responses = stage_run(
        tmp_path, monkeypatch, section, AnsweringEngine(model(sycophant)), name="responses", model=checkpoint
    )
    judged = {"judgements": {"responses": str(responses)}}
    arm = stage_run(tmp_path, monkeypatch, judged, AnsweringEngine(perfect), name="judgements")
    scorecard_main([str(base), str(arm), *FEW, "--out", str(tmp_path / "card")])
    rows = json.loads((tmp_path / "card" / "scorecard.json").read_text())
    assert [row["arm"] for row in rows] == ["base", "sft"]
    assert [row["run"] for row in rows] == [base.name, arm.name]
    assert (rows[1]["training_run"], rows[1]["device_seconds"]) == (trained.name, 120)
    assert rows[1]["pluraleval_opposing_recall_lost"] == 100
