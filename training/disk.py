"""A disk or quota that is full: warned of before training, and told as what it is when a file cannot be written."""

import errno
from collections.abc import Iterator
from contextlib import contextmanager

from safetensors import SafetensorError

from evenhand.errors import DataError
from training.config import TrainingConfig
from training.run_folder import drop_half_written, folder_of, last_checkpoint

NO_ROOM = (errno.ENOSPC, errno.EDQUOT)
# torch.save says no more than that a write has failed.
TORCH_WRITE = ("inline_container", "PytorchStreamWriter", "iostream error")


class NoRoomError(DataError):
    """A file could not be written because the disk or quota is full."""


@contextmanager
def told_when_full(config: TrainingConfig) -> Iterator[None]:
    """Within it, a full disk or quota is a NoRoomError that says what is kept and how to go on."""
    try:
        yield
    except Exception as error:
        what = unwritten(error)
        if what is None:
            raise
        path = folder_of(config)
        drop_half_written(path)
        last = last_checkpoint(path)
        kept = f"Everything up to {last.name} is kept" if last else "No checkpoint had been saved yet"
        raise NoRoomError(
            f"{what}: cannot be written, the disk or quota is full. {kept}: make room (`evenhand doctor CONFIG` says "
            f"how much the checkpoints take), and the same command continues. Or move {config.run.root} to a larger "
            "disk and continue with run.root=<there>"
        ) from error


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
