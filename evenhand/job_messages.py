"""What a job script and the programs in it tell each other: "stop soon" and "something was computed", each by a file.

Files, since a signal does not arrive: `accelerate launch` passes none on to its one process, and torchrun kills its
processes 30 s after a SIGTERM, which is too short for a large checkpoint. slurm/job.sh names the files.
"""

import os
from contextlib import suppress
from pathlib import Path

STOP_VARIABLE = "EVENHAND_STOP_FILE"  # the script makes this file when the time limit is near
PROGRESS_VARIABLE = "EVENHAND_PROGRESS_FILE"  # a program makes this one when it has kept something


def is_watched() -> bool:
    """Whether a job script may ask this program to stop."""
    return STOP_VARIABLE in os.environ


def is_stop_asked() -> bool:
    """Whether the job script has asked this program to stop."""
    file = os.environ.get(STOP_VARIABLE)
    return file is not None and Path(file).exists()


def note_progress() -> None:
    """Tell the job script that something was written which the same command need not compute again."""
    if file := os.environ.get(PROGRESS_VARIABLE):
        with suppress(OSError):  # the script then takes it for no progress, which it bears a few times
            Path(file).touch()
