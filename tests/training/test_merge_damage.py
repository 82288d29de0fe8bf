"""What is not as it was trained or merged is neither merged nor sampled, and the file is named."""

import json
import shutil
from pathlib import Path

import pytest

from evenhand import lease
from evenhand.checkpoints import ModelConfig, checkpoint_hash, fingerprint
from evenhand.errors import DataError, ModelError
from evenhand.run_directory import DONE_FILE, read_json
from inference.sampling import model_facts
from tests.made.made_merges import spoil, with_margins
from tests.made.sampling_configs import sampling_config
from tests.made.training_runs import tiny_model, tiny_run
from training.merged_checkpoint import merge
from training.train import train

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_model(tmp_path_factory.mktemp("model"))


@pytest.fixture(scope="module")
def finished(model: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return train(tiny_run("sft", model, tmp_path_factory.mktemp("runs"), optimiser={"max_steps": 1}))


@pytest.fixture
def run(finished: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(finished, tmp_path / finished.name))


def test_1_kb_of_other_bytes_in_merged_weights_passed_as_merged_already(
    run: Path, model: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with_margins(monkeypatch, 1.0)
    merged = merge(run, "bf16", n_prompts=4)
    facts = fingerprint(ModelConfig(name=str(merged)), merged)
    assert facts["training_run"] == run.name
    assert facts["base_hash"] == checkpoint_hash(model)
    assert facts["checkpoint_hash"] == read_json(merged / DONE_FILE)["checkpoint_hash"]
    spoil(merged / "model.safetensors")
    capsys.readouterr()
    with pytest.raises(DataError, match=r"merged-bf16: its files have changed .* delete the folder and merge again"):
        merge(run, "bf16", n_prompts=4)
    assert "agree" not in capsys.readouterr().out
    with pytest.raises(DataError, match=r"merged-bf16: its files have changed .* merge it anew"):
        model_facts(
            sampling_config({"name": "x", "model": {"name": str(merged)}, "benchmarks": [{"dataset": "pocket"}]})
        )


def test_an_adapter_that_is_not_as_trained_is_not_merged(run: Path) -> None:
    weights = run / "adapter" / "adapter_model.safetensors"
    spoil(weights)
    with pytest.raises(DataError, match=r"adapter: its files have changed .* delete the run and train again"):
        merge(run, "bf16")


@pytest.mark.parametrize("name", ["adapter_config.json", "adapter_model.safetensors"])
def test_an_emptied_adapter_of_a_run_that_recorded_no_hash_was_a_traceback(name: str, run: Path) -> None:
    facts = read_json(run / DONE_FILE)
    del facts["adapter_hash"]
    (run / DONE_FILE).write_text(json.dumps(facts))
    (run / "adapter" / name).write_bytes(b"")
    with pytest.raises(ModelError, match=r"adapter: cannot be loaded"):
        merge(run, "bf16")


@pytest.mark.parametrize(
    ("name", "text"),
    [(f, "{}") for f in ("DONE.json", "provenance.json", "merged-bf16/DONE.json", "excluded.jsonl")]
    + [("merged-bf16/DONE.json", "")],
)
def test_one_damaged_file_was_a_traceback(name: str, text: str, run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with_margins(monkeypatch, 1.0)
    (run / "merged-bf16").mkdir()
    (run / name).write_text(text)
    (run / "merging.lease").write_text("[]")
    monkeypatch.setattr(lease, "STALE_S", 0.2)
    monkeypatch.setattr(lease, "LOOK_S", 0.05)
    with pytest.raises(DataError, match=name):
        merge(run, "bf16", n_prompts=4)
