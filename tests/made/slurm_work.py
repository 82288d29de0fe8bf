"""Jobs for a real Slurm whose programs are scripted: a unit of work a second, each kept, as much as is wanted.

A unit is a file that names its node and how often the job had been requeued by then.
"""

from dataclasses import dataclass
from pathlib import Path

# Stands in for evenhand and accelerate. Sampling and training do UNITS units of work; sampling
# ends at SIGTERM and training for the stop file. Other verbs are done at once.
WORKER = """#!/usr/bin/env bash
trap 'exit 143' TERM
echo "${0##*/} $*" >> "$RUN_ROOT/calls"
case $1 in sample | launch)
  work=$RUN_ROOT/$SLURM_JOB_NAME/${SLURM_ARRAY_TASK_ID:-$SLURM_NODEID}
  mkdir -p "$work"
  while n=$(find "$work" -type f | wc -l) && [ "$n" -lt "$UNITS" ]; do
    if [ "$1" = launch ] && [ -e "$EVENHAND_STOP_FILE" ]; then exit 1; fi
    sleep 1
    echo "$SLURMD_NODENAME ${SLURM_RESTART_COUNT:-0}" > "$work/$n"
    touch "$EVENHAND_PROGRESS_FILE"
  done;;
esac
mkdir -p "$RUN_ROOT/made" && touch "$RUN_ROOT/made/DONE.json" && echo "$RUN_ROOT/made"
"""


@dataclass(frozen=True)
class Unit:
    """A unit of work as it was done."""

    node: str
    n_requeued: int


def work_place(folder: Path, **settings: str) -> dict[str, str]:
    """The settings of slurm/settings.sh for jobs that do such work, with what they leave in the folder."""
    programs = folder / "venv" / "bin"
    programs.mkdir(parents=True)
    for name in ("evenhand", "accelerate"):
        (programs / name).write_text(WORKER)
        (programs / name).chmod(0o755)
    (folder / "runs").mkdir()
    places = {"VENV": folder / "venv", "RUN_ROOT": folder / "runs", "LOGS": folder / "logs"}
    cpus = {f"{kind}_CPUS": "1" for kind in ("SAMPLE", "TRAIN", "MERGE", "SCORE")}
    return {**{key: str(path) for key, path in places.items()}, **cpus, "GPU": "", "TRAIN_GPUS": "0", **settings}


def units(place: dict[str, str], job: str, part: int) -> list[Unit]:
    """What a job's task or node has done, in order."""
    work = Path(place["RUN_ROOT"]) / f"evenhand-{job}" / str(part)
    found = [file.read_text().split() for file in sorted(work.glob("*"), key=lambda file: int(file.name))]
    return [Unit(words[0], int(words[1])) for words in found if words]


def verbs(place: dict[str, str]) -> list[str]:
    """The verbs that evenhand was called with, in order."""
    lines = (Path(place["RUN_ROOT"]) / "calls").read_text().splitlines()
    return [line.split()[1] for line in lines if line.startswith("evenhand")]


def logs(place: dict[str, str]) -> str:
    """Everything that the jobs have said."""
    return "".join(file.read_text(errors="replace") for file in sorted(Path(place["LOGS"]).glob("*.log")))
