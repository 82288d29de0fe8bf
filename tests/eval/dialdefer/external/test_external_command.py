"""`evenhand score FILE... --out DIR`: its options, what it prints and what it writes."""

from pathlib import Path

import pytest

from eval.__main__ import score_main
from eval.dialdefer.verdict_files import LAYOUT
from evenhand.errors import DataError
from studies.dialdefer.records import Condition
from tests.made.made_verdicts import only, scores_of, verdict_rows, write


def test_both_denominators_give_two_rows_a_key_and_the_default_one(tmp_path: Path) -> None:
    rows = verdict_rows("bbq")
    rows[2]["choice"] = None
    assert {row["denominator"] for row in scores_of(tmp_path, rows)} == {"published"}
    both = scores_of(tmp_path, rows, "--denominator", "both")
    assert [(row["denominator"], row["acc_c2_correct"]) for row in both if row["dataset"] == "bbq"] == [
        ("published", pytest.approx(80)),
        ("answered", pytest.approx(800 / 9)),
    ]


def test_scoring_by_both_denominators_at_once_changes_neither(tmp_path: Path) -> None:
    rows = [*verdict_rows("bbq"), *verdict_rows("gpqa")]
    rows[2]["choice"] = None
    both = scores_of(tmp_path, rows, "--denominator", "both")
    apart = [scores_of(tmp_path, rows, "--denominator", denominator) for denominator in ("published", "answered")]
    assert both == [*apart[0], *apart[1]]


def test_files_and_runs_are_told_apart_by_suffix_and_never_mixed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path / "v.jsonl", verdict_rows("bbq"))
    for words in ([str(path)], [str(path), str(tmp_path), "--out", "x"]):
        with pytest.raises(SystemExit):
            score_main(words)
    printed = capsys.readouterr().err
    assert "files of verdicts need --out DIR" in printed
    assert "score runs and files of verdicts apart" in printed


def test_the_help_explains_every_column(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        score_main(["--help"])
    printed = capsys.readouterr().out
    assert [name for name in LAYOUT.columns if f"\n  {name} " not in printed] == []


def test_columns_without_a_meaning_are_named_once_and_ignored(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = verdict_rows("bbq", latency_s=0.1, zeta=[1], benchmark="whatever")
    assert only(scores_of(tmp_path, rows), dataset="bbq")["dds_pp"] == pytest.approx(50)
    assert capsys.readouterr().out.count("ignored: 'latency_s', 'zeta'.") == 1


def test_tables_say_whose_verdicts_they_are_and_how_replies_were_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [*verdict_rows("bbq"), *verdict_rows("bbq", model="other"), *verdict_rows("bbq", model="other", arm="sft")]
    scores_of(tmp_path, rows)
    printed = capsys.readouterr().out
    assert "m, no mitigation, roles 2->1 (verdicts.jsonl)" in printed
    assert "other, no mitigation, roles 2->1 (verdicts.jsonl)" in printed
    assert "other, sft, roles 2->1 (verdicts.jsonl)" in printed
    assert "verdict: external, as given; denominator: published" in printed


def test_what_is_left_out_of_files_is_said_and_strict_refuses_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [*verdict_rows("bbq"), *verdict_rows("gpqa", conditions=tuple(Condition)[2:])]
    assert {row["dataset"] for row in scores_of(tmp_path, rows)} == {"bbq", "bench_avg"}
    assert "Left out: model 'm', gpqa, arm none" in capsys.readouterr().out
    with pytest.raises(DataError, match="there is no shift to score"):
        scores_of(tmp_path, rows, "--strict")
