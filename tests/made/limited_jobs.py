"""Jobs of a pretended cluster that meet their time limit: programs that stop as told, or not, and a scontrol."""

import signal
import subprocess
import time
from pathlib import Path

from tests.made.places import ROOT

# Stands in for evenhand and accelerate. HOW it stops: at SIGTERM (term), for the stop file (file);
# done just when it is asked (end); else done at once. KEEPS=1: it has computed something by then.
PROGRAM = """#!/usr/bin/env bash
trap 'echo "SIGTERM for ${0##*/}" >> "$CALLS"; [ "$HOW" != term ] || exit 143' TERM
echo "${0##*/} $*" >> "$CALLS"
[ -z "${KEEPS:-}" ] || touch "$EVENHAND_PROGRESS_FILE"
touch "$CALLS.begun"
while [ -n "${HOW:-}" ] && kill -0 "$PPID" 2> /dev/null; do
  if [ -e "$EVENHAND_STOP_FILE" ]; then
    [ "$HOW" != end ] || break
    [ "$HOW" != file ] || exit 1
  fi
  sleep 0.05
done
mkdir -p "$RUN_ROOT/made" && echo "$RUN_ROOT/made"
"""

# Stands in for scontrol: as Slurm does, it ends the script of the job that it requeues.
SCONTROL = """#!/usr/bin/env bash
echo "scontrol $*" >> "$CALLS"
case $1 in
  show) echo node7; echo node8;;
  requeue) kill "$PPID";;
esac
"""

# Stands in for srun: a process a node, at once.
SRUN = """#!/usr/bin/env bash
while [[ $1 == --* ]]; do shift; done
export SLURM_NODEID
for SLURM_NODEID in 0 1; do "$@" & done
wait -n
"""


def limited_cluster(cluster: dict[str, str]) -> dict[str, str]:
    """The variables of a job in a pretended cluster, with these programs in it."""
    programs = Path(cluster["VENV"]) / "bin"
    texts = {"evenhand": PROGRAM, "accelerate": PROGRAM, "scontrol": SCONTROL, "srun": SRUN}
    for name, text in texts.items():
        (programs / name).write_text(text)
        (programs / name).chmod(0o755)
    Path(cluster["LOGS"]).mkdir()
    return {**cluster, "SLURM_JOB_ID": "40123", "STOP_BEFORE": "80", "NOTE": f"{cluster['RUN_ROOT']}/note"}


def until_limit(script: str, word: object, env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Run a job whose program is at work when its script gets Slurm's signal."""
    begun = Path(f"{env['CALLS']}.begun")
    begun.unlink(missing_ok=True)
    command = ["bash", str(ROOT / "slurm" / script), str(word)]
    log = Path(env["LOGS"]).parent / "job.log"  # no pipe, which a program that does not stop would hold open
    with log.open("w") as file:
        job = subprocess.Popen(command, cwd=ROOT, env=env, stdout=file, stderr=file)
    deadline = time.monotonic() + 60
    while not begun.exists():
        assert job.poll() is None, log.read_text()
        assert time.monotonic() < deadline
        time.sleep(0.02)
    job.send_signal(signal.SIGUSR1)
    return subprocess.CompletedProcess(command, job.wait(timeout=120), "", log.read_text())


def calls(env: dict[str, str]) -> list[str]:
    """The programs that were called and what they met, without their words, in order; empties the list."""
    file = Path(env["CALLS"])
    found = [
        line if line.startswith(("scontrol", "SIGTERM")) else line.split()[0] for line in file.read_text().splitlines()
    ]
    file.unlink()
    return found
