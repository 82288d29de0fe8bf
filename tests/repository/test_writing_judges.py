"""A judge that bends in what it writes, by the commands of docs/training.md, from `sample` to `scorecard`."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from evenhand.cli.scorecard import main as scorecard_main
from evenhand.run_directory import DONE_FILE, read_json
from inference.__main__ import main as sample_main
from tests.made.written_runs import bent_writer, spoken
from training.__main__ import main as train_main
from training.merge import main as merge_main

pytestmark = pytest.mark.slow
RATES = {"bct": 5e-3, "right_replies": 5e-3, "dpo": 5e-4}
FRAMINGS = ["statement", "expert", "friend"]


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """A folder with the bent judge's checkpoint, its configs, its run on train items and one on test items."""
    root = tmp_path_factory.mktemp("writing")
    model, items = bent_writer(root)
    base = {"model": {"name": str(model)}, "run": {"root": str(root)}}
    asked = {"verdict": "answer", "engine": {"kind": "transformers", "batch_size": 64}, **base}
    drawn = {"n": 2, "temperature": 1.0, "max_tokens": 30}
    trained = {
        "lora": {"r": 16, "alpha": 16, "dropout": 0.0},
        "quantisation": {"kind": "none", "compute_dtype": "float32"},
        "optimiser": {"learning_rate": 1.0, "max_steps": 20, "mixed_precision": "no", "gradient_checkpointing": False},
    }
    configs = {
        "draw": {**asked, "framing": spoken(items, "train", FRAMINGS[:2]), "sampling": drawn},
        "test": {**asked, "framing": spoken(items, "test", FRAMINGS), "sampling": {"max_tokens": 30}},
        "arm": {**base, **trained, "method": "bct", "framing": spoken(items, "train", FRAMINGS[:2])},
    }
    configs["arm"]["optimiser"] |= {"per_device_batch_size": 16, "gradient_accumulation_steps": 1}
    for name, config in configs.items():
        (root / f"{name}.yaml").write_text(yaml.safe_dump({"name": name, **config}, sort_keys=False))
    for name in ("draw", "test"):
        sample_main([str(root / f"{name}.yaml")])
    return root


def run_in(root: Path, kind: str, name: str) -> Path:
    (run,) = root.glob(f"{kind}/{name}-*")
    return run


@pytest.mark.parametrize("method", ["bct", "dpo", pytest.param("right_replies", marks=pytest.mark.campaign)])
def test_a_judge_that_bends_in_its_replies_is_straight_after_training_on_them(method, root, capsys):
    arm, again = f"arm-{method}", f"after-{method}"
    words = [f"name={arm}", f"method={method}", f"optimiser.learning_rate={RATES[method]}"]
    train_main([str(root / "arm.yaml"), *words, f"examples.replies={run_in(root, 'inference', 'draw')}"])
    trained = run_in(root, "training", arm)
    counts = read_json(trained / DONE_FILE)["replies"]
    assert counts.keys() == {*FRAMINGS[:2]}
    assert counts["expert"]["kept"]
    merge_main([str(trained), "--n-prompts", "8"])
    assert "in greedy replies" in capsys.readouterr().out
    sample_main([str(root / "test.yaml"), f"name={again}", f"model.name={trained / 'merged-bf16'}"])
    runs = [str(run_in(root, "inference", name)) for name in ("test", again)]
    scorecard_main([runs[0], f"arm={runs[1]}", "--draws", "200", "--out", str(root / method)])
    base, after = json.loads((root / method / "scorecard.json").read_text())
    assert [base[f"shift_{i}"] for i in (1, 2)] == pytest.approx([50, 50], abs=5), "it accepts what is false"
    assert [after[f"shift_{i}"] for i in (1, 2)] == pytest.approx([0, 0], abs=5), "in a framing not trained in, too"
    assert (after["right"], after["right_framed"]) == pytest.approx((100, 100), abs=5)


@pytest.mark.campaign
def test_the_five_commands_on_the_embedded_model(tmp_path):
    """Not that it helps: that each command takes what the one before left, and says where its own lies."""
    few = ["sampling.structured=json", "sampling.max_tokens=64", f"run.root={tmp_path}"]

    def items(split, n):
        return f"dialdefer.benchmarks=[{{dataset: pocket, split: {split}, n_items: {n}}}]"

    def evenhand(*words):
        done = subprocess.run([sys.executable, "-m", "evenhand", *words], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr[-1500:]
        return done.stdout.splitlines()[-1]

    drawn = evenhand("sample", "pocket-reason", "sampling.n=4", "sampling.temperature=1.0", items("train", 2), *few)
    before = evenhand("sample", "pocket-reason", items("test", 2), *few)
    words = [f"examples.replies={drawn}", items("train", 2), "optimiser.max_steps=1", few[-1]]
    run = evenhand("train", "pocket-bct", *words)
    merged = evenhand("merge", run, "--onto", "nf4", "--n-prompts", "4", "--min-agreement", "0.5")
    after = evenhand("sample", "pocket-reason", "name=after", items("test", 2), f"model.name={merged}", *few)
    evenhand("scorecard", before, f"bct={after}", "--draws", "100", "--out", str(tmp_path / "card"))
    base, arm = json.loads((tmp_path / "card" / "scorecard.json").read_text())
    assert (base["arm"], arm["arm"]) == ("base", "bct")
