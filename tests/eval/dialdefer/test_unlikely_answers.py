"""A judge that hardly says one of the two answers somewhere: named, and in no average."""

import json
import math
from pathlib import Path
from typing import Any

import pytest

from eval.__main__ import score_main
from evenhand.records import Prompt
from tests.made.made_runs import lean, made_items, make_run


def test_a_dataset_on_whose_dialogues_neither_answer_is_likely_is_named_and_in_no_average(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    items = [item for dataset in ("bbq", "harp", "amqa") for item in made_items(dataset, 10)]

    def breaks_off(prompt: Prompt) -> dict[str, Any]:
        """On HARP's dialogues it hardly ever says 1 or 2, as the real judge after DPO; elsewhere it does."""
        is_lost = prompt.dataset == "harp" and prompt.condition.is_dialogue
        return lean(1.0 if prompt.condition.claim_is_true or is_lost else -1.0, lost=6.0 if is_lost else 0.5)

    run = make_run(tmp_path, breaks_off, items=items, verdict="margin")
    score_main([str(run), "--draws", "500", "--denominator", "published"])
    rows = {row["dataset"]: row for row in json.loads((run / "scores" / "scores_wide.json").read_text())}
    assert (rows["bench_avg"]["datasets"], rows["bench_avg"]["dds_pp"]) == (["bbq", "amqa"], 0)
    assert rows["harp"]["dds_pp"] == 100
    warned = [line for line in capsys.readouterr().out.splitlines() if "harp, C2 (0.0056)" in line]
    assert len(warned) == 1
    assert "C1" not in warned[0]
    long = json.loads((run / "scores" / "scores.json").read_text())
    found = {row["dataset"]: row["value"] for row in long if row["measure"] == "p_answer_c2"}
    assert found["harp"] == pytest.approx(math.exp(-5.5) + math.exp(-6.5))
