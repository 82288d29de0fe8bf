"""`evenhand plan`: items, prompts and tokens of the starter, with the judge's own run and without one."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from eval.report.tables import sentences
from evenhand.cli import init, plan
from evenhand.cli.planning import default_spread
from evenhand.errors import ConfigError, DataError
from inference.__main__ import main as sample
from tests.made.framing_runs import claims, run_of, study


@pytest.fixture
def folder(tmp_path, monkeypatch):
    init.main([str(tmp_path / "study")])
    monkeypatch.chdir(tmp_path / "study")
    return tmp_path / "study"


def planned(capsys, *words):
    """The lines of the table by true shift and placebos, and all that was printed."""
    capsys.readouterr()
    plan.main(["study.yaml", *words])
    printed = capsys.readouterr().out
    rows = [line.replace(" points", "").split() for line in printed.splitlines() if line[:1].isdigit()]
    return {(row[0], row[1]): row[2:] for row in rows if len(row) == 6}, printed


def test_the_starter_is_planned_from_its_own_run(folder, capsys, monkeypatch):
    for name, fewer in (("evenhand.cli.planning.SHIFTS", (5.0, 15.0)), ("evenhand.cli.planning.N_AT_LAST", 300)):
        monkeypatch.setattr(name, fewer)
    monkeypatch.setattr(plan, "N_PLACEBOS", (16,))
    sample(["study.yaml"])
    run = capsys.readouterr().out.splitlines()[-1]
    rows, printed = planned(capsys, "--run", run)
    items, power, prompts, tokens = (int(cell.replace(",", "")) for cell in rows["15", "16"])
    assert power >= 80
    assert items % 2 == 0  # twins count as one unit
    assert prompts == items * 4 * (1 + 4 + 16)  # claims × orders, framings with the baseline, placebos
    assert 60 < tokens / prompts < 120
    assert {placebos for true, placebos in rows if true == "5"} == set()
    assert "5 points with 1 placebo (" in " ".join(printed.split())
    assert "SD of a unit's shift 16" in printed


def test_rewordings_are_told_beyond_the_noise_of_items():
    facts = {"measured": SimpleNamespace(has_floor=True), "run": Path("r"), "spread": default_spread(4, 4)}
    (_, said) = sentences(plan.WORDS, {**facts, "little": 5.0, "unreached": [], "has_few": False, "has_tokens": True})[""]
    assert said.endswith("points, of rewordings 4.0 beyond what the items alone vary, as in r.")


def test_a_run_without_a_known_shift_plans_nothing(tmp_path, monkeypatch):
    run = run_of(tmp_path, study(claims(tmp_path / "items.jsonl", 3)), lambda _: "Hm.", monkeypatch)
    with pytest.raises(DataError, match="no shift of its judge is known"):
        plan.measured_in(run)


def test_a_study_without_framings_beside_a_baseline_is_refused():
    with pytest.raises(ConfigError, match="evenhand plan"):
        plan.main(["pocket"])
