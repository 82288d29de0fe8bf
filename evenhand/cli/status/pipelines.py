"""How far the jobs of a pipeline have come, told from the notes that slurm/pipeline.sh and its jobs leave.

stages.tsv has a line for each job that was submitted: name, kind, id, ids that it waits for. Beside it lie NAME (where
its result lies), NAME.task3.began while a task runs, NAME.task3.ended with what a task failed of.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from glob import escape
from pathlib import Path

from evenhand.cli.status.progress import Progress, seconds_since, short
from evenhand.run_directory import CONFIG_FILE, is_done

PIPELINES_FOLDER, STAGES_FILE = "pipelines", "stages.tsv"
JOB = "job"
HERE = "here"  # the id of a job that ran without Slurm
ENDED = {"failed": "failed", "unfinished": "is unfinished"}  # what waits for such a job may wait for ever
SIGNAL = 128  # an exit code above it: ended by a signal


@dataclass(frozen=True, slots=True)
class Stage:
    """A job that was submitted."""

    name: str
    kind: str  # "sample", "train", "merge", "score"
    job: str
    after: frozenset[str]


def newest(folder: Path) -> list[str]:
    """The name of the last pipeline of a folder, which begins with its time; none where there is none."""
    return sorted(file.parent.name for file in folder.glob(f"*/{STAGES_FILE}"))[-1:]


class WatchedPipeline:
    """A pipeline's folder of notes."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def look(self) -> list[Progress]:
        """Each of its jobs, in the order in which they were submitted."""
        stages = self.stages()
        states = {stage.name: self.state_of(stage) for stage in stages}
        return [self.progress(stage, states, stages) for stage in stages]

    def stages(self) -> list[Stage]:
        """The jobs, as far as they are submitted."""
        lines = [line.split("\t") for line in text_of(self.path / STAGES_FILE).splitlines()]
        return [Stage(of[0], of[1], of[2], frozenset(filter(None, of[3].split(":")))) for of in lines if len(of) == 4]

    def state_of(self, stage: Stage) -> str:
        """ "complete", "failed", "stopped" (by a signal), "running", "waiting", or "unfinished": tasks have ended well,
        none runs, and their run is not whole."""
        if self.is_complete(stage):
            return "complete"
        codes = [code for code, _ in self.ends(stage).values()]
        if any(code <= SIGNAL for code in codes):
            return "failed"
        if self.began(stage):
            return "running"
        return "stopped" if codes else "unfinished" if text_of(self.path / stage.name).strip() else "waiting"

    def is_complete(self, stage: Stage) -> bool:
        """Whether its result is there. Any task of an array notes where; the run itself says whether it is whole."""
        noted = text_of(self.path / stage.name).strip()
        return bool(noted) and (stage.kind != "sample" or is_done(self.run_of(stage)))

    def run_of(self, stage: Stage) -> Path:
        """The run directory that a sampling job has noted, wherever status was asked from."""
        noted = Path(text_of(self.path / stage.name).strip())
        moved = self.path.parent.parent / "inference" / noted.name
        return moved if moved.is_dir() else noted

    def began(self, stage: Stage) -> dict[str, str]:
        """Task → where it runs, of those that do."""
        return {task: text for task, text in self.tasks(stage, "began").items() if task not in self.ends(stage)}

    def ends(self, stage: Stage) -> dict[str, tuple[int, str]]:
        """Task → (exit code, last lines of its log), of those that did not end well."""
        found = {}
        for task, text in self.tasks(stage, "ended").items():
            code, _, log = text.partition("\n")
            found[task] = (int(code) if code.isdecimal() else 1, log)
        return found

    def tasks(self, stage: Stage, what: str) -> dict[str, str]:
        """Task → what it has noted."""
        files = sorted(self.path.glob(f"{escape(stage.name)}.task*.{what}"))
        return {file.name.removeprefix(f"{stage.name}.task").removesuffix(f".{what}"): text_of(file) for file in files}

    def progress(self, stage: Stage, states: Mapping[str, str], stages: Sequence[Stage]) -> Progress:
        """The job as a line of the table."""
        state = states[stage.name]
        places = [*dict.fromkeys(text.strip() for text in self.began(stage).values())]
        return Progress(
            kind=JOB,
            path=self.path / stage.name,
            state=state,
            counts="jobs",
            written_s_ago=seconds_since([self.path / stage.name, *self.path.glob(f"{escape(stage.name)}.task*")]),
            holder=", ".join(places) if state == "running" else None,
            note=self.note(stage, states, stages),
        )

    def note(self, stage: Stage, states: Mapping[str, str], stages: Sequence[Stage]) -> str | None:
        """What it waits for, or what its tasks failed of."""
        state = states[stage.name]
        if state == "waiting":
            before = [one.name for one in stages if one.job in stage.after and states[one.name] != "complete"]
            waits = [f"{name}, which {ENDED[states[name]]}" if states[name] in ENDED else name for name in before]
            return f"waits for {'; '.join(waits)}" if waits else f"waits for a node (job {stage.job})"
        if state == "unfinished":
            where = self.run_of(stage)
            pending = "" if stage.job == HERE else f"if `squeue -j {stage.job}` lists no more of them, "
            more = f"`evenhand sample {where}/{CONFIG_FILE}` asks for what is left"
            return f"no task works on {where}, which is not complete: {pending}{more}"
        told = []
        for task, (code, log) in self.ends(stage).items() if state in ("failed", "stopped") else ():
            how = (
                f"exit code {code}"
                if code <= SIGNAL
                else f"ended by signal {code - SIGNAL}, may be put back in the queue"
            )
            told.append(f"job {stage.job}, task {task}: {how}{': ' if log.strip() else ''}{short(log)}")
        return "; ".join(told) or None


def text_of(file: Path) -> str:
    """A note; empty where there is none, or none yet."""
    try:
        return file.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
