"""The divergence guard: what stops a run, what does not, what is left of it, and what it says to change."""

import math
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest
import torch
from safetensors.torch import load_file
from transformers import TrainerControl, TrainerState, TrainingArguments

from evenhand.errors import ModelError
from evenhand.run_directory import DONE_FILE
from tests.made.easy_task import begin_fp16_at, easy_items, easy_run, plant
from tests.made.places import cases
from tests.made.training_runs import logged, tiny_run
from training.guard import DivergenceGuard, LossMonitor, check_not_diverged
from training.reference import Chance
from training.run_folder import ADAPTER_FILES, DIVERGED_FILE, folder_of, last_checkpoint
from training.train import train

GUESSES = Chance(loss=math.log(2), slope=0.5, accuracy=0.5)
ARGUMENTS = cast(TrainingArguments, None)  # not looked at


def config_of(root=Path("runs")):
    return tiny_run("dpo", "no-model", root, guard={"patience_steps": 30}, optimiser={"warmup_ratio": 0.03})


LOGS = cases(__file__)


@pytest.mark.parametrize("name", LOGS)
def test_a_log_stops_a_run_where_it_shows_that_nothing_is_learnt(name):
    log = LOGS[name]
    monitor = LossMonitor(config_of(), replace(GUESSES, **log.get("chance", {})), log.get("n_warmup", 0))
    records = [{"loss": loss, **log.get("also", {})} for loss in log["losses"] * log.get("repeated", 1)]
    taken = [monitor.take({"step": 10 * number, **record}) for number, record in enumerate(records, start=1)]
    stops = ([divergence[0], 10 * number] for number, divergence in enumerate(taken, start=1) if divergence)
    assert next(stops, None) == log.get("stops")


def fed(path, values, state):
    """Have a run log these losses every ten steps."""
    guard = DivergenceGuard(path, config_of(path), GUESSES)
    guard.on_train_begin(ARGUMENTS, state, TrainerControl())
    for loss in values:
        state.global_step += 10
        state.log_history.append({"step": state.global_step, "loss": loss})
        guard.on_log(ARGUMENTS, state, TrainerControl(), logs={"loss": loss})


def test_a_stopped_run_says_what_to_change_by_how_much_and_where_its_best_adapter_is(tmp_path):
    with pytest.raises(ModelError) as caught:
        fed(tmp_path, [0.69, 0.4, 0.2, 0.3, 0.7, 0.69, 0.71], TrainerState(best_model_checkpoint="checkpoint-30"))
    assert "stopped at step 70: for 30 steps the mean loss has been at chance (0.693)" in str(caught.value)
    assert "The best checkpoint by the dev split is checkpoint-30." in str(caught.value)
    with pytest.raises(ModelError, match=f"stopped at step 70.*when {DIVERGED_FILE} is deleted"):
        check_not_diverged(tmp_path)


def test_a_continued_run_is_stopped_where_an_undisturbed_one_is(tmp_path):
    state = TrainerState()
    fed(tmp_path, [0.69, 0.2], state)
    fed(tmp_path, [0.7, 0.69], state)  # which would be all that it knows, had it forgotten
    with pytest.raises(ModelError, match="stopped at step 50"):
        fed(tmp_path, [0.7], state)


@pytest.mark.slow
def test_a_run_of_nothing_but_overflows_is_stopped(model, tmp_path, device, monkeypatch):
    plant(easy_items(8), monkeypatch)
    begin_fp16_at(2.0**120, device, monkeypatch)
    optimiser = {"mixed_precision": "fp16", "max_steps": 8, "per_device_batch_size": 2}
    config = easy_run(model, tmp_path, optimiser=optimiser)
    with pytest.raises(ModelError, match=r"fp16 has overflowed 8 times in a row.*mixed_precision=bf16"):
        train(config)
    assert not (folder_of(config) / DONE_FILE).exists()


@pytest.mark.slow
def test_a_gradient_that_is_no_number_stops_the_run_before_it_spoils_the_weights_and_for_good(
    model, tmp_path, monkeypatch
):
    optimiser = {"learning_rate": 1e30, "schedule": "constant"}
    config = tiny_run("sft", model, tmp_path, optimiser=optimiser, run={"save_steps": 1})
    says = r"step 2: the gradient is not finite; the step has not.*Lower optimiser\.learning_rate from 1e\+30 to 1e\+29"
    with pytest.raises(ModelError, match=says):
        train(config)
    checkpoint = last_checkpoint(folder_of(config))
    assert checkpoint is not None
    assert (checkpoint.name, list(logged(folder_of(config)))) == ("checkpoint-1", [1])
    assert all(torch.isfinite(weight).all() for weight in load_file(checkpoint / ADAPTER_FILES[1]).values())
    monkeypatch.setattr("training.train.inputs_of", lambda *_: pytest.fail("goes on"))
    with pytest.raises(ModelError, match=says):
        train(config)
