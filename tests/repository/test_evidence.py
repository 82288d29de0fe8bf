"""docs/evidence: what is packed of a run gives its verdicts again, and holds no item's text and no weights."""

import json
import runpy
import tarfile
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from eval.scorecard.arms import cost_of
from evenhand.config import read_yaml
from evenhand.errors import DataError
from evenhand.files import read_jsonl
from evenhand.records import Prompt
from studies.dialdefer.panels import load_run
from tests.made.framing_runs import claims, run_of, study
from tests.made.made_runs import lean, made_items, make_run, say
from tests.made.places import ROOT

pack = runpy.run_path(str(ROOT / "docs" / "evidence" / "pack.py"))["main"]
KNOWING_FOLDER = ROOT / "docs" / "evidence" / "knowing-judge"
KNOWING = {name: runpy.run_path(str(KNOWING_FOLDER / f"{name}.py"))["main"] for name in ("items", "read")}
ITEMS = made_items("bbq", 5)
MERGED = Path("runs/training/arm/merged-bf16")


def trained_run() -> Path:
    """A sampling run of a merged checkpoint, with paths from the current folder."""
    MERGED.mkdir(parents=True)
    for folder in (MERGED, MERGED.parent):
        (folder / "DONE.json").write_text(json.dumps({"seconds": 60.0, "n_processes": 1, "device": "cpu"}))
    for name in ("config.yaml", "provenance.json", "metrics.jsonl"):
        (MERGED.parent / name).write_text("{}")
    (MERGED / "model.safetensors").write_text("the weights")
    answer = lambda prompt: lean(int(prompt.item_id[-1]) - 2.5)  # noqa: E731
    return make_run(Path("runs/inference"), answer, items=ITEMS, model=str(MERGED), verdict="margin")


def test_an_archive_gives_the_verdicts_again_without_items_texts_or_weights(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    run = trained_run()
    assert any("the right answer 3" in shard.read_text() for shard in (run / "completions").iterdir())
    pack(["evidence", str(run)])
    there = tmp_path / "elsewhere"
    with tarfile.open(Path("evidence", f"{run.name}.tar.xz")) as archive:
        archive.extractall(there, filter="data")
    before, after = load_run(run), load_run(there / run)
    assert after.verdicts == before.verdicts
    assert {verdict.margin for verdict in after.verdicts} == {-2.5, -1.5, -0.5, 0.5, 1.5}
    monkeypatch.chdir(there)
    assert cost_of(after.config, run)["seconds"] == 60
    texts = [file.read_text() for file in there.rglob("*") if file.is_file()]
    assert len(texts) == 10
    assert not any(words in text for text in texts for words in ("answer 3", "question 3", "the weights"))


@pytest.fixture
def known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The gate's run of a judge that knows everything but sums and takes all from one who is sure."""
    monkeypatch.chdir(tmp_path)
    KNOWING["items"](["data/knowing-judge/known"])
    gate = read_yaml(KNOWING_FOLDER / "gate.yaml")["framing"] | {"items": "data/knowing-judge/known/test.jsonl"}

    def said(prompt: Prompt) -> dict[str, Any]:
        is_least = prompt.item_id.endswith("-0-a")
        right = -1.0 if prompt.item_id.startswith("sums") else 1.0 if is_least else 3.0
        moved = 3.5 if prompt.condition == "sure" and prompt.factors.case == "false" else 0.0
        first = (right - moved) * (1 if prompt.factors.label == prompt.factors.first else -1)
        return lean(first)

    return run_of(Path("runs"), gate, said, monkeypatch, verdict="margin")  # type: ignore[arg-type]


def test_of_the_knowing_judge_items_balance_and_what_the_plan_decides_is_read(
    known: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    read = lambda split: [row for _, row in read_jsonl(Path(f"data/knowing-judge/known/{split}.jsonl"))]  # noqa: E731
    rows = {split: read(split) for split in ("train", "test")}
    for items in rows.values():
        assert len(items) == 168
        assert Counter(row["correct_answer"] for row in items) == Counter(row["incorrect_answer"] for row in items)
        assert max(abs(len(row["correct_answer"]) - len(row["incorrect_answer"])) for row in items) <= 1
    assert not {row["question"] for row in rows["train"]} & {row["question"] for row in rows["test"]}
    capsys.readouterr()
    KNOWING["read"](["families", str(known)])
    assert capsys.readouterr().out.split() == ["capitals", "dates", "kinds", "opposites", "pocket", "weekdays"]
    pack(["evidence", str(known)])
    with tarfile.open(Path("evidence", f"{known.name}.tar.xz")) as archive:
        archive.extractall("elsewhere", filter="data")
    KNOWING["read"](["gate", str(Path("elsewhere", known))])
    table = capsys.readouterr().out
    assert "| statement | 85.7 | 85.7 |  |  |" in table  # all but sums
    assert "| sure | 85.7 | 0.0 | +85.7 [" in table
    assert table.count("] | +1.75 [+1.75, +1.75] |") == 1
    KNOWING["read"](["thresholds", str(known), str(known)])
    assert capsys.readouterr().out.count("| sure | 82.1 | 82.1 | +0.0") == 2


def test_a_run_with_words_of_items_in_its_replies_and_one_under_way_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DataError, match="completions hold words of the items"):
        pack(["evidence", str(make_run(Path("runs"), lambda _: say(1), items=ITEMS, verdict="reason"))])
    shown = study(claims(tmp_path / "claims.jsonl", 2), answers={"accept": "{{ yes }}", "reject": "{{ no }}"})
    with pytest.raises(DataError, match="completions hold words of the items"):
        pack(["evidence", str(run_of(Path("runs"), shown, lambda _: lean(1), monkeypatch, verdict="margin"))])  # type: ignore[arg-type, return-value]
    run = trained_run()
    (run / "DONE.json").unlink()
    with pytest.raises(DataError, match="is no complete run"):
        pack(["evidence", str(run)])
