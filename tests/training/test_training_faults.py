"""Faults planted in a training run: each ends in a message that says what is wrong and what to do.

A full disk is in test_disk_full, test items that come with a built train split in test_leaks.
"""

import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoTokenizer

from evenhand.command import run_main
from evenhand.config import to_yaml
from evenhand.errors import ModelError
from evenhand.run_directory import DONE_FILE
from studies.dialdefer.datasets import DatasetSpec, load_items
from tests.made.easy_task import easy_items, easy_run, plant
from tests.made.training_runs import tiny_model
from training.__main__ import main
from training.callbacks import read_metrics
from training.config import AnyRun
from training.dialdefer.examples import make_examples
from training.divergence_guard import DIVERGED_FILE
from training.examples import Example
from training.run import folder_of, last_checkpoint
from training.train import train

GUARD = {"patience_steps": 20}
LEARNING_RATE = 1e-2
# SimPO's chance is -log sigmoid(-1).
CHANCE = r"stopped at step 2\d: for 20 steps the mean loss has been at chance \(1\.313\) or above"


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_model(tmp_path_factory.mktemp("model"))


@pytest.fixture(autouse=True)
def easy(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    plant(easy_items(60), monkeypatch)
    yield
    torch.set_num_threads(before)


def losses(config: AnyRun) -> list[float]:
    return [r["loss"] for r in read_metrics(folder_of(config) / "metrics.jsonl") if "loss" in r]


def stopped(config: AnyRun, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Asserts that a run is stopped with this message, and that the same command says so again and does not train."""
    with pytest.raises(ModelError, match=message):
        train(config)
    monkeypatch.setattr("training.train.open_training", lambda _: pytest.fail("goes on"))
    with pytest.raises(ModelError, match=message):
        train(config)


@pytest.mark.slow
def test_the_task_is_learnt_where_nothing_is_planted(model: Path, tmp_path: Path) -> None:
    config = easy_run(model, tmp_path, guard=GUARD, optimiser={"max_steps": 24})
    assert (train(config) / DONE_FILE).exists()
    assert max(losses(config)[-5:]) < 0.5


@pytest.mark.slow
@pytest.mark.campaign
def test_a_hundredfold_learning_rate_is_named(model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = easy_run(model, tmp_path, guard=GUARD, optimiser={"learning_rate": 100 * LEARNING_RATE})
    stopped(config, rf"{CHANCE}.*Lower optimiser\.learning_rate from 1 to 0\.1", monkeypatch)


@pytest.mark.slow
@pytest.mark.campaign
def test_shuffled_labels_are_named(model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def shuffled(*arguments: Any) -> tuple[list[Example], Any]:
        examples, excluded = make_examples(*arguments)
        labels = [example.right for example in examples]
        random.Random(0).shuffle(labels)
        return [replace(example, right=right) for example, right in zip(examples, labels, strict=True)], excluded

    monkeypatch.setattr("training.dialdefer.examples.make_examples", shuffled)
    stopped(easy_run(model, tmp_path, guard=GUARD), rf"{CHANCE}.*Look at .* which verdict is called right", monkeypatch)


@pytest.mark.slow
def test_a_batch_that_is_no_number_stops_the_run_before_it_spoils_the_weights(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    items = easy_items(60)
    items[7] = replace(items[7], question="What is a snowman? ☃")
    plant(items, monkeypatch)
    config = easy_run(poisoned(model, tmp_path / "poisoned", "☃"), tmp_path, run={"save_steps": 1})
    stopped(config, r"the gradient is no number \(the step's items: .*\); it has not been applied", monkeypatch)
    told = json.loads((folder_of(config) / DIVERGED_FILE).read_text())
    assert items[7].item_id in told["reason"]
    checkpoint = last_checkpoint(folder_of(config))
    assert checkpoint is not None
    assert (checkpoint.name, len(losses(config))) == (f"checkpoint-{told['step'] - 1}", told["step"] - 1)
    for folder in (checkpoint, folder_of(config) / "best"):
        assert all(torch.isfinite(tensor).all() for tensor in load_file(folder / "adapter_model.safetensors").values())


def poisoned(model: Path, folder: Path, text: str) -> Path:
    """A copy of a model that makes no number of what holds this text."""
    folder.mkdir()
    for file in model.iterdir():
        (folder / file.name).write_bytes(file.read_bytes())
    weights = load_file(folder / "model.safetensors")
    (name,) = [name for name in weights if "embed_tokens" in name]
    weights[name][AutoTokenizer.from_pretrained(model).encode(text)[-1]] = torch.nan
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    return folder


def command(config: AnyRun, folder: Path) -> int:
    """What `evenhand train` exits with."""
    file = folder / "planted.yaml"
    file.write_text(to_yaml(config))
    return run_main(main, [str(file)])


def said(capsys: pytest.CaptureFixture[str]) -> str:
    return capsys.readouterr().err


def test_a_test_item_among_the_training_items_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def of(split: str) -> Sequence[Any]:
        return load_items([DatasetSpec.model_validate({"dataset": "pocket", "split": split, "n_items": 3})])

    stolen = of("test")[0]
    plant([*of("train"), replace(stolen, item_id="new-1")], monkeypatch)
    config = easy_run(Path("no-model"), tmp_path)
    assert command(config, tmp_path) == 2
    assert f"training item 'new-1' asks the same question as the test item '{stolen.item_id}'" in said(capsys)
    assert not folder_of(config).exists()
