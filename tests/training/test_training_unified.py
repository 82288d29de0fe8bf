"""DPO on a built train split, which a config names in one line."""

import json
from pathlib import Path

import pytest

from studies.dialdefer.datasets import DatasetSpec
from tests.made.built_folder import build_small
from tests.made.training_runs import tiny_model, tiny_run
from training.train import train

pytestmark = pytest.mark.slow


def test_a_built_train_split_is_trained_on_with_one_config_line(tmp_path: Path) -> None:
    root = build_small(tmp_path, "socialiqa", "halueval", "advisorqa")
    line = DatasetSpec.model_validate({"dataset": "unified", "split": "train", "root": root, "n_items": 8})
    config = tiny_run("dpo", tiny_model(tmp_path / "model"), tmp_path / "runs")
    section = config.study.model_copy(update={"benchmarks": (line,)})
    run = train(config.model_copy(update={"dialdefer": section}))
    done = json.loads((run / "DONE.json").read_text())
    assert (done["n_examples"] + done["n_excluded"], done["n_steps"]) == (32, 4)
    assert "dataset: unified" in (run / "config.yaml").read_text()
