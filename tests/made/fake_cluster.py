"""A pretended Slurm cluster: sbatch, evenhand and accelerate that write down how they were called."""

import os
import subprocess
from pathlib import Path

from tests.made.places import ROOT

# Stands in for sbatch: runs the job at once, each array task in turn, in the folder that --chdir names.
SBATCH = """#!/usr/bin/env bash
set -eu
last=0
for word in "$@"; do case $word in
  --array=0-*) last=${word#--array=0-}; last=${last%%%*};;
  --chdir=*) cd "${word#--chdir=}";; --*) ;; *) break;; esac; done
while case $1 in --*) true;; *) false;; esac; do echo "option $1" >> "$CALLS"; shift; done
count=$(cat "$COUNTER" 2>/dev/null || echo 100); echo $((count + 1)) > "$COUNTER"
for task in $(seq 0 "$last"); do SLURM_ARRAY_TASK_ID=$task bash "$@" >> "$CALLS.out" 2>&1; done
echo "$((count + 1));cluster"
"""

# Stands in for evenhand: tells how it was called, and prints the folder of its result after some talk, as the real one.
EVENHAND = """#!/usr/bin/env bash
echo "evenhand $* [offline=${HF_HUB_OFFLINE:-0}]" >> "$CALLS"
case $1 in
  sample) [[ "$*" =~ merged-([a-z0-9_]+) ]] && made=run-${BASH_REMATCH[1]} || made=run-before
    case "$*" in *name=*-train*) made=train-$made;; esac
    case "$*" in *new.yaml*) made=new-$made;; esac
    case "$*" in *conflicts.yaml*) made=conflicts-$made;; esac;;
  merge) made=merged-${2##*-};;
  *) exit 0;;
esac
echo "talk of $1"
[ -n "${BROKEN:-}" ] && exit 0
mkdir -p "$RUN_ROOT/$made" && touch "$RUN_ROOT/$made/DONE.json" && echo "$RUN_ROOT/$made"
"""

# Stands in for accelerate: the folder of the run is not the last line where another process still writes.
ACCELERATE = """#!/usr/bin/env bash
echo "accelerate $* [offline=${HF_HUB_OFFLINE:-0}]" >> "$CALLS"
case "$*" in *sft.yaml*) made=train-sft;; *bent.yaml*) made=train-bent;; *) made=train-dpo;; esac
[[ "$*" =~ optimiser.seed=([0-9]) ]] && made=${made}_${BASH_REMATCH[1]}
mkdir -p "$RUN_ROOT/$made" && echo "$RUN_ROOT/$made"
echo "talk of another process"
"""


def make_cluster(tmp_path):
    """Environment variables of a pretended cluster; CALLS is the file that its commands write their words to."""
    programs = tmp_path / "venv" / "bin"
    programs.mkdir(parents=True)
    places = {"VENV": tmp_path / "venv", "RUN_ROOT": tmp_path / "runs", "LOGS": tmp_path / "logs"}
    files = {"CALLS": tmp_path / "calls", "COUNTER": tmp_path / "counter"}
    cluster = {key: str(path) for key, path in {**places, **files}.items()}
    for name, text in {"sbatch": SBATCH, "evenhand": EVENHAND, "accelerate": ACCELERATE}.items():
        put_program(cluster, name, text)
    for name in ("eval.yaml", "sft.yaml", "dpo.yaml"):
        (tmp_path / name).write_text("verdict: margin\n")
    kept = {"PATH": f"{programs}:{os.environ['PATH']}", "HOME": os.environ["HOME"]}
    return {**kept, **cluster, "SAMPLE_SHARDS": "3"}


def put_program(cluster, name, text):
    """A script in the place of one of the cluster's programs."""
    program = Path(cluster["VENV"]) / "bin" / name
    program.write_text(text if text.startswith("#!") else f"#!/usr/bin/env bash\n{text}\n")
    program.chmod(0o755)


def calls_of(script, *words, env):
    """What a script that comes to its end has called."""
    done = run(script, *words, env=env)
    assert done.returncode == 0, done.stderr
    return Path(env["CALLS"]).read_text().splitlines()


def run(script, *words, env, cwd=ROOT):
    command = ["bash", str(ROOT / "slurm" / script), *map(str, words)]
    return subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, timeout=60)


def configs(cluster):
    return [Path(cluster["RUN_ROOT"]).parent / name for name in ("eval.yaml", "sft.yaml", "dpo.yaml")]
