"""A study of one's own, as `evenhand init` writes it, goes through the whole loop on a tiny model."""

import json

import pytest
import yaml

from evenhand.cli.command import entry_of
from studies.framing.measures import ALL

pytestmark = pytest.mark.slow


def test_the_starter_study_is_sampled_scored_trained_on_merged_and_sampled_again(model, tmp_path, monkeypatch, capfd):
    def run(words):
        """A command's last printed line."""
        verb, *rest = words.split()
        entry_of(verb)(rest)
        return capfd.readouterr().out.strip().splitlines()[-1]

    monkeypatch.chdir(tmp_path)
    run("init mine")
    monkeypatch.chdir(tmp_path / "mine")
    text = (tmp_path / "mine" / "study.yaml").read_text()
    framings = yaml.safe_load(text)["framing"]["framings"]
    engine, tiny = 'engine={"kind":"transformers","row_tokens":2048}', f"model.name={model}"
    small = f"framing.items.n_items=2 framing.placebos=[] {engine}"
    before = run(f"sample study.yaml {small} {tiny} framing.items.split=test")
    trained = run(
        f"train training.yaml {tiny} framing=<study.yaml framing.items.split=train framing.items.n_items=2 "
        "framing.placebos=[] optimiser.per_device_batch_size=16 optimiser.epochs=1"
    )
    merged = run(f"merge {trained} --onto bf16")
    after = run(
        f"sample study.yaml {small} framing.items.split=test name=after model.name={merged} model.label=trained"
    )
    run(f"compare {before} {after} --draws 200 --out compared")
    fitted = run(f"sample study.yaml {small} {tiny} name=fitted framing.items.split=train")
    run(f"calibrate {fitted} {before}")
    run(f"scorecard {before} sft={after} --calibrated {before}/calibrated/thresholds.json --draws 200 --out card")
    changes = json.loads((tmp_path / "mine" / "compared" / "compare.json").read_text())
    shifts = {row["framing"]: row for row in changes if row["measure"] == "soft_shift" and row["group"] == ALL}
    assert set(shifts) == set(framings) - {"statement"}
    assert all(row["n_units"] == 2 and row["before"] != row["after"] for row in shifts.values())
    arms = json.loads((tmp_path / "mine" / "card" / "scorecard.json").read_text())
    scored = [row["arm"] for row in arms if row["mean_abs_shift"] is not None]
    free = ["both orders", "threshold", "both orders + threshold"]
    assert scored == ["base", "sft", "calibrated", *free]
