"""One tiny model and one tiny finished run for all tests of training."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from evenhand.checkpoints import load_tokenizer
from evenhand.embedded import embedded_model_path
from tests.made.one_batch import byte_model
from tests.made.training_runs import tiny_model, tiny_run
from training.train import train


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny model with the embedded model's tokenizer."""
    return tiny_model(tmp_path_factory.mktemp("model"))


@pytest.fixture(scope="session")
def byte_judge(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny model that reads bytes."""
    return byte_model(tmp_path_factory.mktemp("bytes"))


@pytest.fixture(scope="session")
def tokenizer() -> Any:
    """The embedded model's."""
    return load_tokenizer(embedded_model_path())


@pytest.fixture(scope="session")
def finished(model: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run of SFT; not to be changed."""
    optimiser = {"max_steps": 2, "learning_rate": 0.05}
    return train(tiny_run("sft", model, tmp_path_factory.mktemp("runs"), optimiser=optimiser))


@pytest.fixture
def run(finished: Path, tmp_path: Path) -> Path:
    """A copy of the finished run."""
    return Path(shutil.copytree(finished, tmp_path / finished.name))
