"""How far a training run and the merges of its adapter have come, told from its directory."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from evenhand.cli.status.progress import Progress, config_of, holder_of, json_of, seconds_since, short, whole_lines
from evenhand.run_directory import CONFIG_FILE, DONE_FILE
from training.run_folder import DIVERGED_FILE, MERGED_PREFIX, MERGING_LEASE, METRICS_FILE, TRAINING_LEASE

RATE_OVER = 20  # lines of metrics.jsonl


class WatchedTraining:
    """A training run and its merges."""

    def __init__(self, path: Path) -> None:
        self.path = path
        optimiser = config_of(path).get("optimiser")
        n = optimiser.get("max_steps") if isinstance(optimiser, dict) else None
        self.max_steps: int | None = n if isinstance(n, int) else None

    def look(self) -> list[Progress]:
        """The training, then each merge that was begun."""
        return [self.training(), *merges(self.path)]

    def training(self) -> Progress:
        """The training as a stage."""
        done, stopped = json_of(self.path / DONE_FILE), json_of(self.path / DIVERGED_FILE)
        logged = read_log(self.path / METRICS_FILE)
        step = logged[-1]["step"] if logged else None
        n_steps = self.n_steps(logged)
        note = None
        if done:
            n = done.get("n_steps")
            step = n_steps = n if isinstance(n, int) else step
            if early := done.get("stopped_early_at_step"):
                note = f"stopped early at step {early}: the dev loss got no lower"
        elif stopped:
            note = f"stopped at step {stopped.get('step', '?')}: {short(stopped.get('reason', '?'))}"
        holder = None if done else holder_of(self.path / TRAINING_LEASE)
        rate = None if done else steps_per_second(logged)
        runs = holder is not None and holder.silent_s is None
        return Progress(
            kind="training",
            path=self.path,
            state="complete" if done else "diverged" if stopped else "unfinished",
            counts="steps",
            done=step,
            planned=n_steps,
            per_second=rate,
            seconds_left=(n_steps - step) / rate
            if runs and rate and n_steps is not None and step is not None
            else None,
            written_s_ago=seconds_since(
                self.path / name for name in (CONFIG_FILE, METRICS_FILE, DIVERGED_FILE, DONE_FILE)
            ),
            holder=holder.name if holder else None,
            silent_s=holder.silent_s if holder else None,
            note=note,
        )

    def n_steps(self, logged: Sequence[dict[str, Any]]) -> int | None:
        """How many steps the run takes: as its config says, or by the share of its one pass that a line is behind."""
        share = logged[-1].get("epoch") if logged else None
        if self.max_steps is None and isinstance(share, float | int) and share > 0:
            return round(int(logged[-1]["step"]) / share)
        return self.max_steps


def read_log(file: Path) -> list[dict[str, Any]]:
    """The whole lines of a metrics file that name step and seconds."""
    try:
        lines = list(whole_lines(file))
    except OSError:
        return []
    return [
        line for line in lines if isinstance(line.get("step"), int) and isinstance(line.get("seconds"), float | int)
    ]


def steps_per_second(logged: Sequence[dict[str, Any]]) -> float | None:
    """Steps a second while it trained, by the last lines."""
    points = [(0, 0.0), *((line["step"], line["seconds"]) for line in logged)][-RATE_OVER:]
    (first, began), (last, ended) = points[0], points[-1]
    return (last - first) / (ended - began) if last > first and ended > began else None


def merges(run: Path) -> list[Progress]:
    """The merged checkpoints of a run, and a merge under way or cut off."""
    holder = holder_of(run / MERGING_LEASE)
    whole = sorted(
        file.parent for file in run.glob(f"{MERGED_PREFIX}*/{DONE_FILE}") if file.parent.suffix != ".partial"
    )
    partial = sorted(run.glob(f"{MERGED_PREFIX}*.partial"))
    found = [
        Progress(
            kind="merge",
            path=path,
            state="complete",
            counts="checkpoints",
            done=1,
            planned=1,
            written_s_ago=seconds_since([path / DONE_FILE]),
        )
        for path in whole
    ]
    if partial or holder:
        path = run / partial[0].name.partition(".")[0] if partial else run / f"{MERGED_PREFIX}…"
        found.append(
            Progress(
                kind="merge",
                path=path,
                state="unfinished",
                counts="checkpoints",
                written_s_ago=seconds_since(file for folder in partial for file in folder.glob("*")),
                holder=holder.name if holder else None,
                silent_s=holder.silent_s if holder else None,
            )
        )
    return found
