"""A datasheet says what was measured, what undoes it, and the same run gives the same page."""

from huggingface_hub import ModelCard

from evenhand.cli.card import main as card_main
from tests.made.framing_runs import claims, planted, run_of, study
from tests.made.scorecard_runs import margins_with, run


def test_a_datasheet_of_margins_has_the_free_rules_and_the_hub_s_results(tmp_path):
    base, out = run(tmp_path, "before", margins_with(1.0, 1.5), verdict="margin"), tmp_path / "JUDGE.md"
    words = [str(base), "--draws", "100", "--out", str(out)]
    card_main(words)
    first = out.read_text()
    assert "Best without training" in first
    assert "| engine | kind " in first
    assert {result.metric_type for result in ModelCard.load(out).data.eval_results} > {"dds", "acc_c1"}
    out.unlink()
    card_main(words)
    assert out.read_text() == first


def test_a_datasheet_of_words_has_its_shifts_and_no_free_rules(tmp_path, monkeypatch):
    base = run_of(tmp_path, study(claims(tmp_path / "claims.jsonl", 40)), planted(1, defers=0.4), monkeypatch)
    card_main([str(base), "--draws", "100"])
    results = ModelCard.load(base / "JUDGE.md").data.eval_results
    shifts = [r.metric_value for r in results if r.metric_type == "shift" and "expert" in r.dataset_config]
    assert min(shifts) > 25  # of all items, and of each topic
    assert "undoes it" not in (base / "JUDGE.md").read_text()
