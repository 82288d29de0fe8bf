"""`kill -9` at several moments of a training run: the adapter ends bitwise equal to an undisturbed run's."""

import json
import multiprocessing
import os
import random
import time
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from evenhand.config import to_yaml
from evenhand.run_directory import DONE_FILE
from tests.made.kill_campaign import OF_THE_MOMENT
from tests.made.training_runs import tiny_model, tiny_run
from training.callbacks import read_metrics
from training.run import folder_of

pytestmark = pytest.mark.slow
# Each start is a process of its own, forked from one that has done the imports, which take longer than the runs.
PROCESSES = multiprocessing.get_context("forkserver")
PROCESSES.set_forkserver_preload(["training.train", "training.__main__"])
CASES: dict[str, dict[str, Any]] = {
    "sft": {"method": "sft"},
    "dpo with a cached reference and a dev split": {"method": "dpo", "dev": {"n_items": 2, "every_steps": 3}},
}


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_model(tmp_path_factory.mktemp("model"))


def command(config: str, log: str) -> None:
    """`python -m training CONFIG`, in one thread: sums in one order, whatever else the machine does."""
    from evenhand.command import run_main
    from training.__main__ import main

    descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(descriptor, 1)
    os.dup2(descriptor, 2)
    torch.set_num_threads(1)
    os._exit(run_main(main, [config]))


def start(config: Path) -> Any:
    process = PROCESSES.Process(target=command, args=(str(config), f"{config}.log"))
    process.start()
    return process


def finished(config: Path) -> None:
    process = start(config)
    process.join(timeout=300)
    assert process.exitcode == 0, Path(f"{config}.log").read_text()[-3000:]


def checkpoints(run: Path) -> set[str]:
    return {file.parent.name for file in run.glob("checkpoints/*/COMPLETE")}


def adapter_of(run: Path) -> dict[str, torch.Tensor]:
    return dict(load_file(run / "adapter" / "adapter_model.safetensors"))


@pytest.mark.campaign
@pytest.mark.parametrize("case", CASES)
def test_a_run_killed_three_times_equals_an_undisturbed_one(case: str, model: Path, tmp_path: Path) -> None:
    sections = {"lora": {"r": 4, "dropout": 0.1}, "optimiser": {"max_steps": 12}, **CASES[case]}
    method = sections.pop("method")
    folders, files = [], []
    for name in ("calm", "disturbed"):
        run = tiny_run(method, model, tmp_path / name, run={"save_steps": 2}, **sections)
        folders.append(folder_of(run))
        files.append(tmp_path / f"{name}.yaml")
        files[-1].write_text(to_yaml(run))
    (calm, disturbed), (calm_file, file) = folders, files
    finished(calm_file)

    moments = random.Random(case)
    for kill in range(3):
        before = checkpoints(disturbed)
        process = start(file)
        # The first kill comes when the run has begun, the others when it has got further than the one before.
        while not (checkpoints(disturbed) - before if kill else (disturbed / "config.yaml").exists()):
            assert process.is_alive(), Path(f"{file}.log").read_text()[-3000:]
            time.sleep(0.002)
        time.sleep(moments.random() * 0.2)
        assert process.is_alive(), "the run ended before it could be killed: give it more steps"
        process.kill()
        process.join(timeout=60)
    finished(file)

    expected, found = adapter_of(calm), adapter_of(disturbed)
    assert expected.keys() == found.keys()
    assert all(torch.equal(found[name], tensor) for name, tensor in expected.items())
    assert steps_of(disturbed) == steps_of(calm)
    assert facts_of(disturbed) == facts_of(calm)


def facts_of(run: Path) -> dict[str, Any]:
    """DONE.json but for what depends on the clock and the machine."""
    done = json.loads((run / DONE_FILE).read_text())
    return {key: value for key, value in done.items() if key not in OF_THE_MOMENT}


def steps_of(run: Path) -> list[tuple[int, float]]:
    """Steps and losses of a run's metrics, the dev split's among them."""
    records = read_metrics(run / "metrics.jsonl")
    return [(r["step"], r.get("loss", r.get("eval_loss"))) for r in records if "loss" in r or "eval_loss" in r]


def test_a_kill_behind_the_last_file_left_the_checkpoints_for_ever(model: Path, tmp_path: Path) -> None:
    config = tiny_run("sft", model, tmp_path, optimiser={"max_steps": 2})
    file = tmp_path / "config.yaml"
    file.write_text(to_yaml(config))
    finished(file)
    left = folder_of(config) / "checkpoints" / "best-2"
    left.mkdir(parents=True)
    finished(file)
    assert not left.parent.exists()
