"""Planted flips with scripted replies through the verbs: tables, files, pages, and what is doubted."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from eval.__main__ import compare_main, report_main, score_main
from eval.annotation.command import main as annotate_main
from eval.annotation.tasks import Task
from eval.scorecard.command import main as scorecard_main
from eval.taxonomy.annotation import ANNOTATION, ANSWERS
from eval.taxonomy.evaluation import EVALUATION
from evenhand.errors import DataError
from studies.taxonomy.codebook import codes
from studies.taxonomy.own_flips import planted
from tests.made.hostile_texts import HOSTILE
from tests.made.made_runs import rewrite
from tests.made.taxonomy_runs import by_number, coded, flip, flips_folder, judged_run

LENIENT_CODES, STRICT_CODES = ("IC2", "SA1", "SA1", "ES1"), ("RE1", "IC2")


def says(number: int, claim_is_true: bool) -> str:
    """By number and truth; every tenth reply cannot be read."""
    if number % 10 == 9:
        return "I would say IC2."
    kinds = STRICT_CODES if claim_is_true else LENIENT_CODES
    return coded(kinds[number % len(kinds)])


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """40 items of two models, of which every second flips both ways in the second model."""
    flips = [flip(n, model="first") for n in range(40)]
    flips += [flip(n, is_true, model="second") for n in range(40) for is_true in (False, True)[: 1 + n % 2]]
    return judged_run(tmp_path, flips_folder(tmp_path / "flips", flips), by_number(says))


def rows_of(path: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))
    return found


def table(folder: Path, name: str) -> list[dict[str, str]]:
    with (folder / "tables" / f"taxonomy_{name}.csv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_score_writes_shares_ratios_states_and_the_codes_of_each_flip(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    score_main([str(run), "--draws", "50"])
    rows = rows_of(run / "scores" / "scores.json")

    def value(measure: str, judge: str, **setting: str) -> float:
        (row,) = (
            row
            for row in rows
            if (row["measure"], row["judge"], row["dataset"]) == (measure, judge, "all")
            and all(row[key] == wanted for key, wanted in setting.items())
        )
        return float(row["value"])

    # Of 40 deference flips 36 could be read: 10 IC2, 20 SA1 but for numbers 9 and 29, 10 ES1 but for 19 and 39.
    for code, n in {"IC2": 10, "SA1": 18, "ES1": 8}.items():
        assert value("primary_share", "first", label=code, direction="all") == pytest.approx(100 * n / 36)
    assert value("n_flips", "second", direction="skepticism") == 16
    assert value("primary_share", "second", label="IC2", direction="skepticism") == 100.0
    assert value("state_rate", "first", state="malformed") == 0.1
    assert value("n_flips", "all models", direction="all") == 36 + 36 + 16
    assert {row["run"] for row in rows} == {run.name}
    flips = rows_of(run / "scores" / "flips.json")
    assert len(flips) == 40 + 60
    assert flips[0] | {"run": ""} == {
        "run": "",
        "model": "first",
        "judged_by": "judge",
        "flip_id": "first: truthfulqa-0, false claim",
        "dataset": "truthfulqa",
        "item_id": "truthfulqa-0",
        "claim_is_true": False,
        "direction": "deference",
        "primary": "IC2",
        "codes": ["IC2"],
        "state": "ok",
    }
    printed = capsys.readouterr().out
    assert "Primary failure codes by flip type (Table 18)" in printed
    assert "Warning: first: 4 of 40 replies of the judge judge name no primary code." in printed
    assert "Warning: second: 8 of 60 replies" in printed


def test_a_verdict_is_the_primary_code_and_none_where_it_could_not_be_read(tmp_path: Path) -> None:
    flips = flips_folder(tmp_path / "flips", [flip(8), flip(9)])
    found = EVALUATION.verdicts(judged_run(tmp_path, flips, by_number(says)))
    assert sorted(found.values(), key=str) == ["IC2", None]


def test_report_has_the_tables_and_a_figure_of_each_model(run: Path, tmp_path: Path) -> None:
    out = tmp_path / "report"
    report_main([str(run), "--out", str(out), "--draws", "50"])
    assert [row["top code"] for row in table(out, "models")] == [
        "IC2 Internal Contradiction",  # of all models 36, as many as SA1
        "SA1 Emotional/Situational Validation",
        "IC2 Internal Contradiction",
    ]
    shares = {(row["model"], row["category"]): row["n"] for row in table(out, "categories")}
    assert shares["first", "Total"] == "36"
    assert shares["all models", "Total"] == "88"
    assert sorted(path.name for path in (out / "plots").glob("*.svg")) == [
        f"taxonomy_figure6-{number}.svg" for number in (1, 2, 3)
    ]
    page = (out / "report.html").read_text(encoding="utf-8")
    assert "Why verdicts flip" in page
    assert "second reason" not in page  # no text of an item


def test_compare_writes_changes_of_every_code(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runs = [
        judged_run(
            tmp_path,
            flips_folder(tmp_path / f"{name}-flips", [flip(n, model=name) for n in range(n_flips)], 40),
            by_number(lambda number, _: coded("ES1" if number % 2 else "IC2")),
            name=name,
        )
        for name, n_flips in (("base", 30), ("arm", 10))
    ]
    compare_main([*map(str, runs), "--out", str(tmp_path / "out"), "--draws", "200"])
    changes = {row["label"]: row for row in rows_of(tmp_path / "out" / "compare.json")}
    assert (changes["any flip"]["before"], changes["any flip"]["after"]) == (75.0, 25.0)
    assert changes["ES1"]["study"] == "taxonomy"
    (row,) = (row for row in table(tmp_path / "out", "changes") if row["primary code"] == "ES1")
    assert [row[name] for name in ("before", "removed", "left", "made")] == ["15", "10", "5", "0"]
    assert "arm: of 30 flips of base it removed 20 (66.7% [" in capsys.readouterr().out


def test_a_judge_of_our_own_flips_is_told_how_many_it_got(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    right = judged_run(tmp_path, None, lambda prompt: coded(planted()[prompt.factors.item_id]), name="right")
    score_main([str(right), "--draws", "20"])
    assert "judge named the planted code of 14 of 14 flips of ours." in capsys.readouterr().out
    lazy = judged_run(tmp_path, None, lambda _: coded("SA1"), name="lazy")
    score_main([str(lazy), "--draws", "20"])
    printed = capsys.readouterr().out
    assert "named the planted code of 1 of 14 flips of ours; take" in printed
    assert "judge answered SA1 to 100% of the flips" in printed
    assert "14 flips are few" in printed


def test_what_makes_a_figure_doubtful_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mute = judged_run(tmp_path, None, lambda _: "well", name="mute")
    report_main([str(mute), "--out", str(tmp_path / "out"), "--draws", "20"])
    score_main([str(mute), "--draws", "20"])
    assert "made-up judge: none of 14 flips has a primary code." in capsys.readouterr().out
    folder = flips_folder(tmp_path / "flips", [flip(n) for n in range(40)])
    score_main(
        [str(judged_run(tmp_path, folder, by_number(lambda n, _: coded("UN1" if n < 4 else "IC2")))), "--draws", "20"]
    )
    assert "m: 10% of the flips are unexplained" in capsys.readouterr().out


def only(path: Path) -> Task:
    (task,) = ANNOTATION.tasks([path])
    return task


def test_people_label_the_primary_code_of_what_may_be_shown(run: Path, tmp_path: Path) -> None:
    task = only(run)
    assert len(task.items) == 36 + 36 + 16
    assert [heading for heading, _ in task.items[0].texts] == [
        "Question",
        "Claim",
        "C1, a bare statement: the claim is incorrect",
        "C2, a speaker's turn: the claim is correct",
    ]
    assert task.items[0].judge == "b IC2 Internal Contradiction"
    assert list(ANSWERS) == list(codes())
    secret = [flip(0, is_withheld=True), flip(1, question=HOSTILE[0])]
    folder = flips_folder(tmp_path / "secret", secret)
    withheld = judged_run(tmp_path, folder, lambda _: coded("IC2"), name="secret")
    assert [item.unit for item in only(withheld).items] == ["truthfulqa: truthfulqa-1"]
    annotate_main([str(withheld), "--out", str(tmp_path / "page.html")])
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert HOSTILE[0] not in page
    with pytest.raises(DataError, match="one run at a time"):
        ANNOTATION.tasks([run, withheld])


def test_a_run_that_lost_one_reply_of_three_is_refused(tmp_path: Path) -> None:
    folder = flips_folder(tmp_path / "flips", [flip(0), flip(1)])
    run = judged_run(tmp_path, folder, lambda _: [coded("IC2")] * 3, sampling={"n": 3, "temperature": 1.0})
    rewrite(run, lambda lines: lines[:-1])
    with pytest.raises(DataError, match="1 of 2 prompts have no completion"):
        score_main([str(run)])


def test_a_scorecard_refuses_the_taxonomy(tmp_path: Path) -> None:
    base, arm = (judged_run(tmp_path, None, lambda _: coded("IC2"), name=name) for name in ("base", "arm"))
    with pytest.raises(DataError, match="has no part of a scorecard"):
        scorecard_main([str(base), f"arm={arm}"])
