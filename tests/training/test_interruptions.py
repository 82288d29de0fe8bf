"""A run that is killed or asked to stop continues to the same adapter, and the base is not asked again."""

from functools import cache
from unittest.mock import Mock

import pytest
import torch

from evenhand.run_directory import DONE_FILE, is_done
from evenhand.terminal import PROGRESS_VARIABLE, STOP_VARIABLE, Stopped
from tests.made.easy_task import begin_fp16_at
from tests.made.places import cases
from tests.made.training_runs import adapter_of, in_step, logged, tiny_run
from training.run_folder import folder_of, last_checkpoint
from training.train import train

pytestmark = pytest.mark.slow


N_STEPS = 4
RUNS = cases(__file__)
ON_CUDA = [pytest.param("cuda", name, marks=pytest.mark.gpu) for name in RUNS]


@pytest.fixture(scope="module")
def undisturbed_of(model, tmp_path_factory):
    """Name → a finished run, trained once."""

    @cache
    def get(name):
        return train(tiny_run(model=model, root=tmp_path_factory.mktemp("undisturbed"), **RUNS[name]))

    return get


@pytest.mark.parametrize(("device", "name"), [("cpu", "dpo"), ("cpu", "fp16"), *ON_CUDA], indirect=["device"])
def test_a_killed_run_continues_to_the_same_losses_and_adapter(
    device, name, undisturbed_of, model, tmp_path, monkeypatch
):
    if name == "fp16":
        # Overflows at first, so that the scale is part of what continues: from 2^16 an H200 left out no step.
        begin_fp16_at(2.0 ** {"cpu": 16, "cuda": 18}[device], device, monkeypatch)
    undisturbed = undisturbed_of(name)
    config = tiny_run(model=model, root=tmp_path / "killed", run={"save_steps": 2}, **RUNS[name])
    with monkeypatch.context() as patch:
        in_step(N_STEPS, Mock(side_effect=KeyboardInterrupt), patch)
        with pytest.raises(KeyboardInterrupt):
            train(config)
    path = folder_of(config)
    assert not (path / DONE_FILE).exists()
    half_written = path / "checkpoints" / "checkpoint-3"  # killed while saving
    half_written.mkdir()
    (half_written / "trainer_state.json").write_text('{"global_st')
    with (path / "metrics.jsonl").open("a") as file:
        file.write('{"step": 4, "lo')  # torn
    assert train(config) == path
    # A GPU adds up gradients in any order. Other dropout behind the kill moved a loss by 0.19 and 0.16 on a CPU.
    assert logged(path) == pytest.approx(logged(undisturbed), abs={"cpu": 0, "cuda": 0.02}[device])
    assert list(logged(path)) == [1, 2, 3, 4]
    expected, adapter = adapter_of(undisturbed), adapter_of(path)
    assert device == "cuda" or all(torch.equal(adapter[name], weights) for name, weights in expected.items())


@pytest.fixture
def stop(tmp_path, monkeypatch):
    """The file that asks to stop; that of progress lies beside it."""
    monkeypatch.setenv(STOP_VARIABLE, str(tmp_path / "job.stop"))
    monkeypatch.setenv(PROGRESS_VARIABLE, str(tmp_path / "job.progress"))
    return tmp_path / "job.stop"


def test_it_stops_with_a_checkpoint_of_its_step_and_continues_to_the_same_adapter(
    undisturbed_of, model, tmp_path, stop, monkeypatch
):
    undisturbed = undisturbed_of("dpo")
    stop.with_suffix(".progress").unlink(missing_ok=True)
    config = tiny_run("dpo", model, tmp_path / "stopped")
    with monkeypatch.context() as patch:
        in_step(2, stop.touch, patch)  # the script asks to stop
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
    assert list(logged(run)) == [1, 2, 3, 4]


def test_checkpoints_that_a_kill_behind_the_last_file_has_left_are_deleted(run, model):
    config = tiny_run("sft", model, run.parent, optimiser={"max_steps": 2, "learning_rate": 0.05})
    folder = folder_of(config)
    folder.parent.mkdir()
    run.rename(folder)
    (folder / "checkpoints" / "checkpoint-2").mkdir(parents=True)
    assert train(config) == folder
    assert not (folder / "checkpoints").exists()
