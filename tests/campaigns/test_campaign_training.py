"""Training and merging killed before file operations: adapter, metrics and checkpoint are an undisturbed run's."""

import shutil
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from evenhand.config import to_yaml
from tests.made.fuzz import N_KILLS
from tests.made.kill_campaign import Campaign, Command, Host
from tests.made.training_runs import tiny_model, tiny_run

pytestmark = [pytest.mark.campaign, pytest.mark.slow]
REFERENCE = {"training.reference.SHARD_SIZE": 8}  # examples: the base is asked in several shards
CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "sft": ("sft", {}),
    "dpo with a reference and a dev split": ("dpo", {"dev": {"n_items": 2, "every_steps": 2}}),
}


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_model(tmp_path_factory.mktemp("model"))


def training(model: Path, method: str, **sections: Any) -> Command:
    """`evenhand train` of a tiny model in 6 steps, with a checkpoint every second step."""
    settings = {"lora": {"r": 4, "dropout": 0.1}, "optimiser": {"max_steps": 6}, "run": {"save_steps": 2}, **sections}
    text = to_yaml(tiny_run(method, model, Path("runs"), **settings))
    return Command(
        entry="training.__main__:main",
        words=["config.yaml"],
        prepare=lambda folder: (folder / "config.yaml").write_text(text),
        settings=REFERENCE,
    )


@pytest.mark.parametrize("case", CASES)
def test_training(case: str, model: Path, tmp_path: Path) -> None:
    method, sections = CASES[case]
    with Campaign(training(model, method, **sections), tmp_path) as campaign:
        campaign.run(N_KILLS, campaign.refuse_differences)


def test_merging(model: Path, tmp_path: Path) -> None:
    trained = tmp_path / "trained"
    trained.mkdir()
    train = training(model, "sft")
    train.prepare(trained)
    assert Host().run(train, trained) == 0, Path(f"{trained}.log").read_text()
    (run,) = trained.glob("runs/training/*")
    command = Command(
        entry="training.merge:main",
        words=["run", "--n-prompts", "8"],
        prepare=partial(copied, run),
        settings={"training.merged_checkpoint.SHARD_SIZE": "3MB"},
    )
    with Campaign(command, tmp_path) as campaign:
        assert len(list((campaign.calm / "run" / "merged-bf16").glob("*.safetensors"))) > 1
        campaign.run(N_KILLS, campaign.refuse_differences)


def copied(run: Path, folder: Path) -> None:
    shutil.copytree(run, folder / "run")
