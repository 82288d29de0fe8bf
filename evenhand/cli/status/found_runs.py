"""The run directories and pipelines below a folder, and who knows how far each has come."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from evenhand.cli.status.pipelines import PIPELINES_FOLDER, STAGES_FILE, WatchedPipeline, newest
from evenhand.cli.status.progress import Progress, Watched, config_of
from evenhand.cli.status.sampling import WatchedSampling
from evenhand.cli.status.training import WatchedTraining
from evenhand.errors import DataError, EvenhandError, told
from evenhand.run_directory import CONFIG_FILE, PROVENANCE_FILE

# What damaged files bring. It must not hide the other runs.
UNREADABLE = (
    EvenhandError,
    ArithmeticError,
    AttributeError,
    LookupError,
    OSError,
    RecursionError,
    TypeError,
    ValueError,
)


class Board:
    """All runs below some folders. It keeps what it has read of each, so that looking again reads only what is new."""

    def __init__(self, roots: Sequence[Path]) -> None:
        self.roots = roots
        self.watched: dict[Path, Watched] = {}

    def look(self) -> list[Progress]:
        """Every stage of every run, in the order of their paths. Raises DataError where a folder holds no run."""
        found: dict[Path, Watched] = {}
        for root in self.roots:
            paths = list(runs_below(root))
            if not paths:
                raise DataError(
                    f"{root}: there is no run in it (no folder with {CONFIG_FILE} and {PROVENANCE_FILE}); name a run's "
                    "directory, or a folder that runs lie in"
                )
            found |= {path: self.watched.get(path) or watched(path) for path in paths}
        self.watched = found
        return [stage for path, one in found.items() for stage in looked_at(path, one)]


def looked_at(path: Path, one: Watched) -> list[Progress]:
    """The stages of a run; one that says what is wrong where its files cannot be read."""
    try:
        return one.look()
    except UNREADABLE as error:
        note = f"{path}: a file of it is damaged ({told(error)})"
        return [Progress(kind="damaged", path=path, state="unfinished", counts="", note=note)]


def runs_below(root: Path) -> Iterator[Path]:
    """The run directories at or below a folder; none is looked into. Of pipelines the last that was submitted.

    Raises DataError where there is no folder.
    """
    if not root.is_dir():
        raise DataError(f"{root}: there is no such folder; name a run's directory, or a folder that runs lie in")
    for folder, inner, files in os.walk(root):
        if CONFIG_FILE in files and PROVENANCE_FILE in files:
            inner.clear()
            yield Path(folder)
        elif STAGES_FILE in files:
            yield Path(folder)
        elif Path(folder).name == PIPELINES_FOLDER:
            inner[:] = newest(Path(folder))
        inner[:] = sorted(name for name in inner if not name.startswith("."))


def watched(path: Path) -> Watched:
    """What looks at a run or a pipeline."""
    if (path / STAGES_FILE).exists():
        return WatchedPipeline(path)
    return WatchedTraining(path) if "method" in config_of(path) else WatchedSampling(path)
