"""How far the jobs of a pipeline have come, told from the notes that slurm/pipeline.sh and its jobs leave.

stages.tsv has a line for each job that was submitted: name, kind, id, ids that it waits for. Beside it lie NAME (where
its result lies), NAME.task3.began while a task runs, NAME.task3.ended with what a task failed of.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from glob import escape
from pathlib import Path

from evenhand.cli.status.runs import Progress, seconds_since, short
from evenhand.run_directory import CONFIG_FILE, is_done

PIPELINES_FOLDER, STAGES_FILE = "pipelines", "stages.tsv"
HERE = "here"  # the id of a job that ran without Slurm
ENDED = {"failed": "failed", "unfinished": "is unfinished"}  # what waits for such a job may wait for ever
SIGNAL = 128  # an exit code above it: ended by a signal


def pipeline_progress(folder: Path) -> list[Progress]:
    """Each job of a pipeline, in the order in which they were submitted."""
    lines = [line.split("\t") for line in text_of(folder / STAGES_FILE).splitlines()]
    jobs = {words[0]: Job(folder / words[0], words[1], words[2], words[3].split(":")) for words in lines}
    return [job.progress(jobs) for job in jobs.values()]


@dataclass(frozen=True)
class Job:
    """A job that was submitted, and what it has noted."""

    path: Path  # of the note of its result
    kind: str  # "sample", "train", "merge", "score"
    number: str
    after: list[str]  # the numbers of the jobs that it waits for

    @cached_property
    def result(self) -> str:
        """Where its result lies; "" as long as no task has noted it."""
        return text_of(self.path).strip()

    @cached_property
    def run(self) -> Path:
        """The run directory that a sampling job has noted, wherever status was asked from."""
        moved = self.path.parents[2] / "inference" / Path(self.result).name
        return moved if moved.is_dir() else Path(self.result)

    @cached_property
    def ends(self) -> dict[str, tuple[int, str]]:
        """Task → (exit code, last lines of its log), of those that did not end well."""
        notes = {task: text.partition("\n") for task, text in self.tasks("ended").items()}
        return {task: (int(code) if code.isdecimal() else 1, log) for task, (code, _, log) in notes.items()}

    @cached_property
    def state(self) -> str:
        """ "complete", "failed", "stopped" (by a signal), "running", "waiting", or "unfinished": tasks have ended well,
        none runs, and their run is not whole."""
        if self.result and (self.kind != "sample" or is_done(self.run)):
            return "complete"
        if any(code <= SIGNAL for code, _ in self.ends.values()):
            return "failed"
        if self.tasks("began").keys() - self.ends:
            return "running"
        return "stopped" if self.ends else "unfinished" if self.result else "waiting"

    def tasks(self, what: str) -> dict[str, str]:
        """Task → what it has noted."""
        files = sorted(self.path.parent.glob(f"{escape(self.path.name)}.task*.{what}"))
        return {file.name.split(".task")[-1].removesuffix(f".{what}"): text_of(file) for file in files}

    def progress(self, jobs: Mapping[str, "Job"]) -> Progress:
        """The job as a line of the table."""
        places = dict.fromkeys(text.strip() for task, text in self.tasks("began").items() if task not in self.ends)
        notes = self.path.parent.glob(f"{escape(self.path.name)}.task*")
        return Progress(
            kind="job",
            path=self.path,
            state=self.state,
            written_s_ago=seconds_since([self.path, *notes]),
            holder=", ".join(places) if self.state == "running" else None,
            note=self.note(jobs),
        )

    def note(self, jobs: Mapping[str, "Job"]) -> str | None:
        """What it waits for, or what its tasks failed of."""
        if self.state == "waiting":
            before = {name: job.state for name, job in jobs.items() if job.number in self.after}
            waits = [
                f"{name}, which {ENDED[state]}" if state in ENDED else name
                for name, state in before.items()
                if state != "complete"
            ]
            return f"waits for {'; '.join(waits)}" if waits else f"waits for a node (job {self.number})"
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
    """A note; empty where there is none, or none yet."""
    try:
        return file.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
