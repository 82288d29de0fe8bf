"""scores.json, compare.json and scorecard_changes.json: what they hold, and that one file holds all studies."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from eval.__main__ import compare_main, report_main, score_main
from eval.scorecard.command import main as scorecard_main
from tests.made.narrator_runs import fair, made_conversations, make_narrator_run, protector
from tests.made.report_runs import bends, pocket_run

CONVERSATIONS = made_conversations({2: 4, 3: 4})
FEW = ["--draws", "50"]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Before and after in both studies."""
    root = tmp_path_factory.mktemp("runs")
    return {
        "dds": pocket_run(root, bends, name="dds"),
        "dds_after": pocket_run(root, bends, name="after", model="runs/merged/sft"),
        "narrator": make_narrator_run(root, protector(0.5), CONVERSATIONS, name="narrator", n=3),
        "narrator_after": make_narrator_run(
            root, fair, CONVERSATIONS, name="narrator-after", model="runs/merged/sft", n=3
        ),
    }


COLUMNS = {
    "scores": {"study", "run", "judge", "dataset", "measure", "unit", "value", "low", "high", "n_units"},
    "changes": {"study", "first", "second", "dataset", "measure", "unit", "before", "after", "change", "p", "p_holm"},
}


def valid(file: Path, kind: str) -> list[dict[str, Any]]:
    """The rows of a file that has the columns of its kind, in CSV too."""
    rows: list[dict[str, Any]] = json.loads(file.read_text(encoding="utf-8"))
    assert all(COLUMNS[kind] <= set(row) for row in rows)
    with file.with_suffix(".csv").open(encoding="utf-8") as lines:
        found = list(csv.DictReader(lines))
    assert len(found) == len(rows)
    assert set(found[0]) == {name for row in rows for name in row}
    return rows


def studies(rows: list[dict[str, Any]]) -> list[str]:
    return list(dict.fromkeys(row["study"] for row in rows))


def key(row: dict[str, Any]) -> str:
    """Everything of a row but its numbers."""
    numbers = {"value", "low", "high", "n_units", "n_draws", "seed"}
    return json.dumps({name: value for name, value in row.items() if name not in numbers})


def test_a_report_of_two_studies_has_the_scores_and_changes_of_both(runs: dict[str, Path], tmp_path: Path) -> None:
    words = [str(runs[name]) for name in ("dds", "dds_after", "narrator", "narrator_after")]
    report_main([*words, *FEW, "--out", str(tmp_path / "report")])
    scores = valid(tmp_path / "report" / "scores.json", "scores")
    assert (
        studies(scores) == studies(valid(tmp_path / "report" / "compare.json", "changes")) == ["dialdefer", "narrator"]
    )
    assert len({key(row) for row in scores}) == len(scores), "a row for each measure and setting"


@pytest.mark.parametrize("name", ["dds", "narrator"])
def test_scores_of_one_run_lie_in_it(runs: dict[str, Path], name: str) -> None:
    score_main([str(runs[name]), *FEW])
    rows = valid(runs[name] / "scores" / "scores.json", "scores")
    assert {row["run"] for row in rows} == {runs[name].name}


@pytest.mark.parametrize("name", ["dds", "narrator"])
def test_changes_of_one_study_are_written(runs: dict[str, Path], name: str, tmp_path: Path) -> None:
    compare_main([str(runs[name]), str(runs[f"{name}_after"]), *FEW, "--out", str(tmp_path)])
    rows = valid(tmp_path / "compare.json", "changes")
    for row in rows:
        assert row["change"] == pytest.approx(row["after"] - row["before"])


def test_the_changes_of_a_scorecard_are_of_every_study_on_it(runs: dict[str, Path], tmp_path: Path) -> None:
    beside = ["--beside", f"base={runs['narrator']}", "--beside", f"sft={runs['narrator_after']}"]
    out = ["--allow-differences", "--out", str(tmp_path)]
    scorecard_main([str(runs["dds"]), f"sft={runs['dds_after']}", *beside, *FEW, *out])
    rows = valid(tmp_path / "scorecard_changes.json", "changes")
    assert studies(rows) == ["dialdefer", "narrator"]
    assert {(row["first"], row["second"]) for row in rows} == {("base", "sft")}
