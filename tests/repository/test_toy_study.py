"""A third study is one folder and one registration line (tests/toy_study), and every verb takes it."""

import json

import pytest

from eval.__main__ import compare_main, report_main, score_main
from evenhand.cli.scorecard import main as scorecard_main
from evenhand.config import read_yaml
from evenhand.registry import STUDIES
from evenhand.run_directory import is_done
from inference.config import parse_sampling_config
from inference.sampling import sample
from tests.made.made_runs import made_items, make_run, say
from tests.made.places import CONFIGS
from tests.made.scripted_engine import AnsweringEngine, scripted
from tests.toy_study import KEY, TOY
from tests.toy_study.section import FRUITS
from training.config import parse_training_config
from training.merged_checkpoint import merge
from training.train import train


@pytest.fixture(autouse=True)
def registered(monkeypatch):
    monkeypatch.setitem(STUDIES, KEY, TOY)


def sampled(root, monkeypatch, name, takes_back):
    def says(prompt):
        return "no" if prompt.factors.step == 1 and prompt.item_id in takes_back else "yes"

    scripted(monkeypatch, AnsweringEngine(says))
    tree = {"name": name, "model": {"name": name}, KEY: {}, "verdict": "answer", "run": {"root": root}}
    return sample(parse_sampling_config(tree, "toy.yaml"))


def row_of(file, measure):
    """The one row of a measure in a long frame."""
    (row,) = (row for row in json.loads(file.read_text()) if row["measure"] == measure)
    return row


def test_score_compare_report_and_scorecard_take_it(tmp_path, monkeypatch, capsys):
    before = sampled(tmp_path, monkeypatch, "before", ["mango", "fig", "date"])
    after = sampled(tmp_path, monkeypatch, "after", ["mango"])
    few = ["--draws", "200"]
    score_main([str(before), *few])
    score = row_of(before / "scores" / "scores.json", "taken_back")
    assert (score["study"], score["measure"], score["value"], score["n_units"]) == ("toy", "taken_back", 50.0, 6)
    compare_main([str(before), str(after), *few, "--out", str(tmp_path / "compare")])
    assert "after: -33.3 pp taken back [" in capsys.readouterr().out
    change = row_of(tmp_path / "compare" / "compare.json", "taken_back")
    assert (change["first"], change["second"]) == ("before", "after")
    assert change["change"] == pytest.approx(-100 / 3)
    report_main([str(before), str(after), *few, "--out", str(tmp_path / "report")])
    assert "before takes 50% of its answers back" in (tmp_path / "report" / "report.html").read_text()
    pocket = [
        make_run(tmp_path, lambda prompt: say(1), items=made_items("truthfulqa", 4), name=name)
        for name in ("base", "arm")
    ]
    words = [str(pocket[0]), f"sft={pocket[1]}", "--with", f"base={before}", "--with", f"sft={after}", *few]
    scorecard_main([*words, "--allow-differences", "--out", str(tmp_path / "card")])
    assert "answers taken back" in capsys.readouterr().out
    change = row_of(tmp_path / "card" / "scorecard_changes.json", "taken_back")
    assert (change["study"], change["change"]) == ("toy", pytest.approx(-100 / 3))
    rows = json.loads((tmp_path / "card" / "scorecard.json").read_text())
    assert [round(row["taken_back"], 1) for row in rows] == [50.0, 16.7]


@pytest.mark.slow
def test_a_judge_is_trained_on_its_groups_and_merged(model, tmp_path):
    tree = read_yaml(CONFIGS / "training" / "pocket-sft.yaml")
    del tree["dialdefer"]
    tree |= {KEY: {}, "model": {"name": str(model)}, "run": {"root": str(tmp_path)}}
    tree |= {"examples": {"loss_on_eos": False}, "method": "paired", "paired": {"weight": 1.0}}
    tree["optimiser"] |= {"batch_by": "item", "max_steps": 2}
    path = train(parse_training_config(tree, "toy.yaml"))
    assert is_done(path)
    assert json.loads((path / "DONE.json").read_text())["n_examples"] == 2 * len(FRUITS)
    card = (merge(path, "bf16", n_prompts=4, min_agreement=0.0) / "README.md").read_text()
    assert "12 examples from 6 fruits" in card
