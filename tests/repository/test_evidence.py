"""docs/evidence: what is packed of a run gives its verdicts again, and holds no item's text and no weights."""

import json
import runpy
import tarfile
from pathlib import Path

import pytest

from eval.scorecard.arms import cost_of
from evenhand.errors import DataError
from studies.dialdefer.panels import load_run
from tests.made.framing_runs import claims, run_of, study
from tests.made.made_runs import lean, made_items, make_run, say
from tests.made.places import ROOT

pack = runpy.run_path(str(ROOT / "docs" / "evidence" / "pack.py"))["main"]
ITEMS = made_items("bbq", 5)
MERGED = Path("runs/training/arm/merged-bf16")


def trained_run():
    """A sampling run of a merged checkpoint, with paths from the current folder."""
    MERGED.mkdir(parents=True)
    for folder in (MERGED, MERGED.parent):
        (folder / "DONE.json").write_text(json.dumps({"seconds": 60.0, "n_processes": 1, "device": "cpu"}))
    for name in ("config.yaml", "provenance.json", "metrics.jsonl"):
        (MERGED.parent / name).write_text("{}")
    (MERGED / "model.safetensors").write_text("the weights")
    answer = lambda prompt: lean(int(prompt.item_id[-1]) - 2.5)  # noqa: E731
    return make_run(Path("runs/inference"), answer, items=ITEMS, model=str(MERGED), verdict="margin")


def test_an_archive_gives_the_verdicts_again_without_items_texts_or_weights(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run = trained_run()
    assert any("the right answer 3" in shard.read_text() for shard in (run / "completions").iterdir())
    pack(["evidence", str(run)])
    there = tmp_path / "elsewhere"
    with tarfile.open(Path("evidence", f"{run.name}.tar.xz")) as archive:
        archive.extractall(there, filter="data")
    before, after = load_run(run), load_run(there / run)
    assert [(v.choice, v.margin) for v in after.verdicts] == [(v.choice, v.margin) for v in before.verdicts]
    assert {verdict.margin for verdict in after.verdicts} == {-2.5, -1.5, -0.5, 0.5, 1.5}
    monkeypatch.chdir(there)
    assert cost_of(after.config, run)["seconds"] == 60
    texts = [file.read_text() for file in there.rglob("*") if file.is_file()]
    assert len(texts) == 10
    assert not any(words in text for text in texts for words in ("answer 3", "question 3", "the weights"))


def test_the_archives_of_the_knowing_judge_give_its_tables_again(tmp_path, monkeypatch, capsys):
    folder = ROOT / "docs" / "evidence" / "knowing-judge"
    read = runpy.run_path(str(folder / "read.py"))["main"]
    monkeypatch.chdir(tmp_path)
    for run in ("knowing-screening-b30c6826", "knowing-gate-a5813a8e"):
        with tarfile.open(folder / f"{run}.tar.xz") as archive:
            archive.extractall(filter="data")
    read(["families", "runs/inference/knowing-screening-b30c6826"])
    assert capsys.readouterr().out.split() == ["capitals", "kinds", "opposites", "pocket"]
    read(["gate", "runs/inference/knowing-gate-a5813a8e"])
    table = capsys.readouterr().out
    assert "| expert | 3.8 | 100.0 | -102.5 [-111.2, -93.8] | -0.46 [-0.51, -0.42] |" in table
    assert "| are you sure? | 93.8 | 26.2 | +61.2 [+48.8, +73.8] | +0.07 [+0.01, +0.13] |" in table


def test_a_run_with_words_of_items_in_its_replies_and_one_under_way_are_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DataError, match="completions hold words of the items"):
        pack(["evidence", str(make_run(Path("runs"), lambda _: say(1), items=ITEMS, verdict="reason"))])
    shown = study(claims(tmp_path / "claims.jsonl", 2), answers={"accept": "{{ yes }}", "reject": "{{ no }}"})
    with pytest.raises(DataError, match="completions hold words of the items"):
        pack(["evidence", str(run_of(Path("runs"), shown, lambda _: lean(1), monkeypatch, verdict="margin"))])
    run = trained_run()
    (run / "DONE.json").unlink()
    with pytest.raises(DataError, match="is no complete run"):
        pack(["evidence", str(run)])
