"""`evenhand plan`: items, prompts and tokens of the starter, with the judge's own run and without one."""

import pytest

from evenhand.cli import init, plan
from evenhand.errors import ConfigError
from inference.__main__ import main as sample


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
    assert ", of rewordings 4.0 beyond what the items alone vary, as in " in " ".join(printed.split())


def test_a_study_without_framings_beside_a_baseline_is_refused():
    with pytest.raises(ConfigError, match="evenhand plan"):
        plan.main(["pocket"])
