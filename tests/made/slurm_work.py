"""Jobs for a real Slurm whose programs are scripted: a unit of work a second, each kept, as much as is wanted.

A unit is a file that says how often the job had been requeued by then.
"""

from pathlib import Path

# Stands in for evenhand. Sampling does UNITS units of work and ends at SIGTERM. Other verbs are done at once.
WORKER = """#!/usr/bin/env bash
trap 'exit 143' TERM
echo "${0##*/} $*" >> "$RUN_ROOT/calls"
case $1 in sample)
  work=$RUN_ROOT/$SLURM_JOB_NAME/$SLURM_ARRAY_TASK_ID
  mkdir -p "$work"
  while n=$(find "$work" -type f | wc -l) && [ "$n" -lt "$UNITS" ]; do
    sleep 1
    echo "${SLURM_RESTART_COUNT:-0}" > "$work/$n"
    touch "$EVENHAND_PROGRESS_FILE"
  done;;
esac
mkdir -p "$RUN_ROOT/made" && touch "$RUN_ROOT/made/DONE.json" && echo "$RUN_ROOT/made"
"""


def work_place(folder: Path, **settings: str) -> dict[str, str]:
    """The settings of slurm/settings.sh for jobs that do such work, with what they leave in the folder."""
    programs = folder / "venv" / "bin"
    programs.mkdir(parents=True)
    (programs / "evenhand").write_text(WORKER)
    (programs / "evenhand").chmod(0o755)
    (folder / "runs").mkdir()
    places = {"VENV": folder / "venv", "RUN_ROOT": folder / "runs", "LOGS": folder / "logs"}
    cpus = {f"{kind}_CPUS": "1" for kind in ("SAMPLE", "TRAIN", "MERGE", "SCORE")}
    return {**{key: str(path) for key, path in places.items()}, **cpus, "GPU": "", "TRAIN_GPUS": "0", **settings}


def n_requeued(place: dict[str, str], task: int) -> list[int]:
    """Of each unit that an array's task has sampled, in order: how often the job had been requeued by then."""
    work = Path(place["RUN_ROOT"]) / "evenhand-sample" / str(task)
    return [int(file.read_text()) for file in sorted(work.glob("*"), key=lambda file: int(file.name))]
