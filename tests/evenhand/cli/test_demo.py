"""`evenhand demo --recorded`: no model runs, and a judge is seen to bend and to be straightened."""

import json
import re
import sys

import pytest

from eval.estimates.estimate import Drawing
from eval.options import Options
from evenhand.cli.demo import main

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
