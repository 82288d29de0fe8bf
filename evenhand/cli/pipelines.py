"""The jobs of a pipeline, as read from the notes that slurm/pipeline.sh and its jobs leave.

stages.tsv has a line for each job that was submitted: name, kind, id, ids that it waits for. Beside it lie NAME (where
its result lies), NAME.task3.began while a task runs, NAME.task3.ended with what a task failed of.
"""

from dataclasses import dataclass, field
from functools import cached_property
from glob import escape
from pathlib import Path

from evenhand.errors import short
from evenhand.run_directory import CONFIG_FILE, is_done

PIPELINES_FOLDER, STAGES_FILE = "pipelines", "stages.tsv"
HERE = "here"  # the id of a job that ran without Slurm
WAITS_IN_VAIN = {"failed": ", which failed", "unfinished": ", which is unfinished"}  # state of a job before this one
SIGNAL = 128  # an exit code above it: ended by a signal


def jobs_of(folder: Path) -> list["Job"]:
    """Each job of a pipeline, in the order in which they were submitted."""
    lines = [line.split("\t") for line in text_of(folder / STAGES_FILE).splitlines()]
    jobs = [Job(folder / name, kind, number) for name, kind, number, *_ in lines]
    for job, (_, _, _, waits_for) in zip(jobs, lines, strict=True):
        job.before.extend(earlier for earlier in jobs if earlier.number in waits_for.split(":"))
    return jobs


@dataclass(frozen=True, eq=False)
class Job:
    """A job that was submitted, and what it has noted."""

    path: Path  # of the note of its result
    kind: str  # "sample", "train", "merge", "score"
    number: str
    before: list["Job"] = field(default_factory=list)  # that it waits for

    @cached_property
    def files(self) -> list[Path]:
        """All its notes."""
        return [self.path, *sorted(self.path.parent.glob(f"{escape(self.path.name)}.task*"))]

    @cached_property
    def result(self) -> str:
        """Where its result lies; "" as long as no task has noted it."""
        return text_of(self.path).strip()

    @cached_property
    def run(self) -> Path:
        """The run directory that a sampling job has noted, wherever status was asked from."""
        beside = self.path.parents[2] / "inference" / Path(self.result).name
        return beside if beside.is_dir() else Path(self.result)

    @cached_property
    def ends(self) -> dict[str, tuple[int, str]]:
        """Task → (exit code, last lines of its log), of those that did not end well."""
        notes = {task: text.partition("\n") for task, text in self.tasks(".ended").items()}
        return {task: (int(code) if code.isdecimal() else 1, log) for task, (code, _, log) in notes.items()}

    @cached_property
    def running(self) -> dict[str, str]:
        """Task → where it runs."""
        return {task: text.strip() for task, text in self.tasks(".began").items() if task not in self.ends}

    @cached_property
    def state(self) -> str:
        """ "complete", "failed", "stopped" (by a signal), "running", "waiting", or "unfinished": tasks have ended well,
        none runs, and their run is not whole."""
        if self.result and (self.kind != "sample" or is_done(self.run)):
            return "complete"
        if any(code <= SIGNAL for code, _ in self.ends.values()):
            return "failed"
        if self.running:
            return "running"
        return "stopped" if self.ends else "unfinished" if self.result else "waiting"

    @property
    def places(self) -> str | None:
        """Where its tasks run."""
        return ", ".join(dict.fromkeys(self.running.values())) if self.state == "running" else None

    def tasks(self, suffix: str) -> dict[str, str]:
        """Task → what it has noted in its file of this suffix."""
        files = [file for file in self.files if file.suffix == suffix]
        return {file.stem.rpartition(".task")[2]: text_of(file) for file in files}

    @property
    def note(self) -> str | None:
        """What it waits for, or what its tasks failed of."""
        if self.state == "waiting":
            names = [j.path.name + WAITS_IN_VAIN.get(j.state, "") for j in self.before if j.state != "complete"]
            return f"waits for {'; '.join(names) or f'a node (job {self.number})'}"
        if self.state == "unfinished":
            pending = "" if self.number == HERE else f"if `squeue -j {self.number}` lists no more of them, "
            more = f"`evenhand sample {self.run}/{CONFIG_FILE}` asks for what is left"
            return f"no task works on {self.run}, which is not complete: {pending}{more}"
        if self.state not in ("failed", "stopped"):
            return None
        notes = []
        for task, (code, log) in self.ends.items():
            signal = f"ended by signal {code - SIGNAL}, may be put back in the queue"
            how = f"exit code {code}" if code <= SIGNAL else signal
            notes.append(f"job {self.number}, task {task}: {how}{': ' if log.strip() else ''}{short(log)}")
        return "; ".join(notes)


def text_of(file: Path) -> str:
    """A note; empty where it does not exist yet."""
    try:
        return file.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
