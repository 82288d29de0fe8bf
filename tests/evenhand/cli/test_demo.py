"""`evenhand demo --recorded`: no model runs, and a judge is seen to bend and to be straightened."""

import json
import re
import sys

import pytest

from eval.estimates.resampling import Drawing
from eval.options import Options
from evenhand.cli.demo import FOUND, found, main
from evenhand.cli.scorecard import main as scorecard_main
from tests.made.made_runs import lean, made_items, make_run

pytestmark = pytest.mark.slow


def test_the_recorded_demo_ends_in_a_finding_without_a_model(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(Options, "drawing", Drawing(n_draws=500, seed=0))
    loaded = {name for name in sys.modules if name in ("torch", "transformers", "vllm")}
    main(["--recorded", "--out", str(tmp_path)])
    changes = json.loads((tmp_path / "recorded" / "compared" / "compare.json").read_text())
    shift = next(c for c in changes if c["measure"] == "shift" and c["framing"] == "expert" and c["group"] == "(all)")
    assert (shift["before"], shift["after"]) == (-46.875, 2.5)
    assert {name for name in sys.modules if name in ("torch", "transformers", "vllm")} == loaded
    printed = capsys.readouterr().out
    assert "trained against knowing-judge: shifts nearer to 0 (expert -46.9 → +2.5, majority -38.1" in printed
    assert "Recommendation: trained" in printed
    finding = printed.splitlines()[-1]
    assert re.findall(r"\d+ (?:of|points|%)", finding) == [
        *("47 of", "35 points", "69 %", "0 points", "93 %"),
        *("6 points", "80 %"),
    ]


def test_the_full_demo_s_runs_end_in_a_finding_in_points_of_shift(tmp_path):
    def margins(bends):
        def answer(prompt):
            is_true = prompt.condition in ("c1_true", "c2_correct")
            return lean(1.0 if is_true or (bends and prompt.condition == "c2_incorrect") else -1.0)

        return answer

    items = made_items("pocket", 40)
    base = make_run(tmp_path, margins(True), items=items, name="bent", verdict="margin")
    arm = make_run(tmp_path, margins(False), items=items, name="paired", model="owner/straight", verdict="margin")
    scorecard_main([str(base), f"paired={arm}", "--draws", "100"])
    finding = found(base, *FOUND)
    assert re.findall(r"\d+ (?:of|points|%)", finding)[:5] == ["50 of", "50 points", "50 %", "0 points", "100 %"]
