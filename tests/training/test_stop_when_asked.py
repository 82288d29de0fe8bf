"""A training whose job script asks it to stop saves a checkpoint behind its step, and later ends as if undisturbed."""

import signal
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from transformers import TrainerControl, TrainerState, TrainingArguments

from evenhand.command import Stopped, run_main
from evenhand.config import to_yaml
from evenhand.job_signs import PROGRESS_VARIABLE, STOP_VARIABLE
from evenhand.run_directory import is_done
from tests.made.places import CONFIGS
from tests.made.process_runs import accelerate_variables, free_port, start, torchrun_variables
from tests.made.training_runs import tiny_model, tiny_run
from training.__main__ import main
from training.callbacks import GradientCheck, read_metrics
from training.run import folder_of, last_checkpoint
from training.train import train

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_model(tmp_path_factory.mktemp("model"))


@pytest.fixture
def stop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file that asks to stop; that of progress lies beside it."""
    monkeypatch.setenv(STOP_VARIABLE, str(tmp_path / "signs.stop"))
    monkeypatch.setenv(PROGRESS_VARIABLE, str(tmp_path / "signs.progress"))
    return tmp_path / "signs.stop"


def ask_in(step: int, stop: Path, patch: pytest.MonkeyPatch) -> None:
    """Have the script ask while the training is in this step."""
    check = GradientCheck.on_pre_optimizer_step

    def ask(
        self: GradientCheck, args: TrainingArguments, state: TrainerState, control: TrainerControl, **more: object
    ) -> None:
        if state.global_step + 1 == step:
            stop.touch()
        check(self, args, state, control, **more)

    patch.setattr(GradientCheck, "on_pre_optimizer_step", ask)


def adapter_of(run: Path) -> dict[str, torch.Tensor]:
    return dict(load_file(run / "adapter" / "adapter_model.safetensors"))


@pytest.mark.parametrize("sections", [{}, {"dev": {"n_items": 2, "every_steps": 3}}], ids=["no dev split", "dev split"])
def test_it_stops_with_a_checkpoint_of_its_step_and_continues_to_the_same_adapter(
    sections: dict[str, dict[str, int]], model: Path, tmp_path: Path, stop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    undisturbed = train(tiny_run("sft", model, tmp_path / "undisturbed", **sections))
    stop.with_suffix(".progress").unlink()
    config = tiny_run("sft", model, tmp_path / "stopped", **sections)
    with monkeypatch.context() as patch:
        ask_in(2, stop, patch)
        with pytest.raises(Stopped):
            train(config)
    run = folder_of(config)
    assert not is_done(run)
    assert last_checkpoint(run) == run / "checkpoints" / "checkpoint-2"
    assert stop.with_suffix(".progress").exists()
    stop.unlink()
    assert train(config) == run
    expected, found = adapter_of(undisturbed), adapter_of(run)
    assert all(torch.equal(found[name], tensor) for name, tensor in expected.items())
    steps = [record["step"] for record in read_metrics(run / "metrics.jsonl") if "loss" in record]
    assert steps == [1, 2, 3, 4]


def test_asked_in_its_last_step_it_ends(
    model: Path, tmp_path: Path, stop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask_in(4, stop, monkeypatch)
    assert is_done(train(tiny_run("sft", model, tmp_path)))


def test_the_command_says_that_it_was_stopped(
    model: Path, tmp_path: Path, stop: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stop.touch()
    file = tmp_path / "config.yaml"
    config = tiny_run("sft", model, tmp_path, run={"logging_steps": 10})
    file.write_text(to_yaml(config))
    assert run_main(main, [str(file)]) == 128 + signal.SIGUSR1
    steps = [record["step"] for record in read_metrics(folder_of(config) / "metrics.jsonl") if "loss" in record]
    assert steps == [1], "what it has trained since its last log is logged"
    assert "interrupted by SIGUSR1; what was computed is kept, the same command continues" in capsys.readouterr().err


def test_two_processes_stop_at_one_step_though_only_the_first_looks(model: Path, tmp_path: Path) -> None:
    config = tiny_run("sft", model, tmp_path, optimiser={"n_processes": 2, "per_device_batch_size": 2})
    file, stop, port = tmp_path / "config.yaml", tmp_path / "stop", free_port()
    file.write_text(to_yaml(config))
    stop.touch()
    variables = accelerate_variables(CONFIGS / "accelerate" / "ddp.yaml", 2, port)
    signs = [stop, tmp_path / "not seen on the other node yet"]
    processes = [
        start(file, {**variables, **torchrun_variables(rank, 2, port), STOP_VARIABLE: str(signs[rank])})
        for rank in range(2)
    ]
    for process in processes:
        process.join(timeout=300)
    assert [process.exitcode for process in processes] == [128 + signal.SIGUSR1] * 2, Path(f"{file}.log").read_text()
    assert last_checkpoint(folder_of(config)) == folder_of(config) / "checkpoints" / "checkpoint-1"
