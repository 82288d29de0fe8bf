"""A disk or quota that fills up: every writer's error is told as that, what was saved stays, and room is all it needs.

File systems of a few MiB are mounted for it, so that the errors are real ones.
"""

import os
import subprocess

import pytest
import torch
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from transformers import TrainerState

from evenhand.errors import DataError
from evenhand.files import write_jsonl
from tests.made.training_runs import tiny_model, tiny_run
from training.callbacks import MetricsFile
from training.run_folder import folder_of, read_metrics
from training.shortage import shortage_explained
from training.train import train

WEIGHTS = {"a": torch.zeros(300_000)}


@pytest.fixture
def small_disk(tmp_path):
    """A file system of its own that holds 1 MiB."""
    if os.geteuid() != 0:
        pytest.skip("only root can mount a small file system")
    folder = tmp_path / "disk"
    folder.mkdir()
    resize(folder, "1m", "mount")
    yield folder
    subprocess.run(["umount", "-l", folder], check=True)


def resize(folder, size, how="remount"):
    options = f"size={size}" if how == "mount" else f"remount,size={size}"
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", folder], capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"this container may not mount: {done.stderr.strip()}")


def tokenizer():
    """One whose file takes more than 1 MiB."""
    return Tokenizer(WordLevel({str(number): number for number in range(100_000)}, unk_token="0"))


WRITERS = {
    "safetensors": lambda file: save_file(WEIGHTS, file),
    "a tokenizer": lambda file: tokenizer().save(str(file)),
    "torch": lambda file: torch.save(WEIGHTS, file),
    "our own": lambda file: write_jsonl(file, [{"text": "x" * 2_000_000}]),
    "metrics": lambda file: MetricsFile(file.parent).on_log(None, TrainerState(), None, logs={"note": "x" * 2_000_000}),
}


@pytest.mark.parametrize("writer", WRITERS)
def test_every_writer_that_runs_out_of_room_is_told(writer, small_disk):
    with pytest.raises(DataError, match="the disk or quota is full"), shortage_explained("buy some"):
        WRITERS[writer](small_disk / "file")


@pytest.mark.campaign
@pytest.mark.slow
def test_a_run_whose_disk_fills_up_keeps_its_checkpoints_and_continues_with_room(small_disk, tmp_path):
    model = tiny_model(tmp_path / "model")
    undisturbed = train(tiny_run("sft", model, tmp_path / "roomy"))
    resize(small_disk, "350k")  # a checkpoint takes some 130 KiB: a third has no room
    config = tiny_run("sft", model, small_disk, run={"save_steps": 1})
    with pytest.raises(DataError) as caught:
        train(config)
    for part in ("What was saved before is kept", "run.root=<there>"):
        assert part in str(caught.value)
    assert {folder.name for folder in (folder_of(config) / "checkpoints").iterdir()} >= {"checkpoint-1", "checkpoint-2"}
    resize(small_disk, "40m")
    run = train(config)
    expected = load_file(undisturbed / "adapter" / "adapter_model.safetensors")
    found = load_file(run / "adapter" / "adapter_model.safetensors")
    assert all(torch.equal(found[name], tensor) for name, tensor in expected.items())
    assert [r["step"] for r in read_metrics(run / "metrics.jsonl") if "loss" in r] == [1, 2, 3, 4]
