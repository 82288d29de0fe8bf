"""A disk or quota that is full: warned of before training, and told as what it is when a file cannot be written."""

import errno
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch
from safetensors import SafetensorError

from benchmarks.errors import DataError
from benchmarks.hub import TOKENIZER_FILES
from training.config import TrainingConfig
from training.run import drop_half_written, folder_of, last_checkpoint

NO_ROOM = (errno.ENOSPC, errno.EDQUOT)
# torch.save says no more than that a write has failed.
TORCH_WRITE = ("inline_container", "PytorchStreamWriter", "iostream error")
N_STATES = 3  # a weight and Adam's two moments


class NoRoomError(DataError):
    """A file could not be written because the disk or quota is full."""


@contextmanager
def told_when_full(config: TrainingConfig, checkpoint_bytes: int | None = None) -> Iterator[None]:
    """Within it, a full disk or quota is a NoRoomError that says what is kept and how much room is needed."""
    try:
        yield
    except NoRoomError:
        raise
    except Exception as error:
        what = unwritten(error)
        if what is None:
            raise
        drop_half_written(folder_of(config))
        raise NoRoomError(message(config, what, checkpoint_bytes)) from error


def unwritten(error: BaseException) -> str | None:
    """What could not be written for want of room, as far as the error says; None if it is another error."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, OSError) and cause.errno in NO_ROOM:
            return str(cause.filename or "a file")
        if any(f"os error {number}" in str(cause) for number in NO_ROOM):  # of safetensors and tokenizers, in Rust
            return "the adapter's weights" if isinstance(cause, SafetensorError) else "a checkpoint's tokenizer"
        if isinstance(cause, RuntimeError) and any(name in str(cause) for name in TORCH_WRITE):
            return "a checkpoint's optimiser or random state"
        cause = cause.__cause__ or cause.__context__
    return None


def message(config: TrainingConfig, what: str, checkpoint_bytes: int | None) -> str:
    """What could not be written, how much room there is and is needed, what is kept, and how to go on."""
    path = folder_of(config)
    last = last_checkpoint(path)
    size = bytes_in(last) if last else checkpoint_bytes
    n_kept = config.run.keep_checkpoints
    takes = (
        f"a checkpoint takes about {shown(size)}, and run.keep_checkpoints={n_kept} needs {n_kept + 1} of them while "
        "one is saved"
        if size
        else "how much a checkpoint takes is not known yet"
    )
    kept = f"Everything up to {last.name} is kept" if last else "No checkpoint had been saved yet"
    return (
        f"{what}: cannot be written, the disk or quota is full. {shown(free_bytes(path))} are free at {path}; {takes}. "
        f"{kept}: make room, and the same command continues. Or move {config.run.root} to a larger disk and continue "
        "with run.root=<there>" + ("" if n_kept == 2 else "; run.keep_checkpoints=2 is the least")
    )


def bytes_in(folder: Path) -> int:
    """How much the files of a folder take, those of its subfolders too: a sharded checkpoint has some."""
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def warn_of_little_room(config: TrainingConfig, checkpoint_bytes: int) -> None:
    """Say on stderr when the checkpoints that a run will keep do not fit on its disk."""
    path = folder_of(config)
    there = bytes_in(path)
    n_kept = config.run.keep_checkpoints
    needed = (n_kept + 1) * checkpoint_bytes - there
    if (free := free_bytes(path)) < needed:
        print(
            f"Warning: {shown(free)} are free at {path}, but run.keep_checkpoints={n_kept} needs about {shown(needed)} "
            f"more ({n_kept + 1} checkpoints of {shown(checkpoint_bytes)} while one is saved). Make room, or choose "
            "another run.root",
            file=sys.stderr,
        )


def bytes_of_checkpoint(config: TrainingConfig, n_trainable: int, base: Path) -> int:
    """About how much a checkpoint takes: each trainable weight and Adam's two moments of it, in the adapter's dtype,
    and the tokenizer of the base's folder.
    """
    n_bytes: int = getattr(torch, config.lora.dtype).itemsize
    tokenizer = sum((base / name).stat().st_size for name in TOKENIZER_FILES if (base / name).is_file())
    return N_STATES * n_trainable * n_bytes + tokenizer


def free_bytes(path: Path) -> int:
    """Free bytes where a folder lies or will lie."""
    while not path.exists():
        path = path.parent
    return shutil.disk_usage(path).free


def shown(n_bytes: float) -> str:
    """A size for a person: 1.5 GiB."""
    for unit in ("bytes", "KiB", "MiB"):
        if n_bytes < 1024:
            return f"{n_bytes:.3g} {unit}" if unit != "bytes" else f"{n_bytes:.0f} bytes"
        n_bytes /= 1024
    return f"{n_bytes:.3g} GiB"
