"""The batch is the config's: what the launcher, the order and the trackers may not change behind its back."""

import re
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from evenhand.errors import ConfigError
from tests.made.training_runs import tiny_run
from training.arguments import shared_arguments
from training.run import refuse_other_batch


def test_another_number_of_processes_than_the_batch_is_counted_for_is_refused(tmp_path: Path) -> None:
    keys: dict[str, Any] = {"n_processes": 4, "gradient_accumulation_steps": 2}
    four = tiny_run("sft", tmp_path, tmp_path, optimiser=keys)
    says = "n_processes is 4, but 1 were launched: the effective batch would be 8 instead of 32"
    with pytest.raises(ConfigError, match=says):
        refuse_other_batch(four)
    refuse_other_batch(tiny_run("sft", tmp_path, tmp_path))


def test_batches_that_cannot_hold_whole_items_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValidationError, match=r"set optimiser\.per_device_batch_size to a multiple of 4"):
        tiny_run("sft", tmp_path, tmp_path, optimiser={"order": "whole_items", "per_device_batch_size": 6})
    tiny_run("sft", tmp_path, tmp_path, optimiser={"order": "whole_items", "per_device_batch_size": 8})


def test_a_tracker_that_is_not_installed_is_named_before_anything_is_loaded(tmp_path: Path) -> None:
    run = tiny_run("sft", tmp_path, tmp_path, run={"report_to": ["no-such-tracker"]})
    with pytest.raises(ConfigError, match=re.escape("run.report_to: tracker 'no-such-tracker' is not installed")):
        shared_arguments(run, tmp_path)
