"""A pretended Slurm cluster: sbatch, evenhand and accelerate that write down how they were called."""

import os
import subprocess
from pathlib import Path

from tests.made.places import ROOT


def make_cluster(tmp_path):
    """Environment variables of a pretended cluster; CALLS is the file that its commands write their words to."""
    programs = tmp_path / "venv" / "bin"
    programs.mkdir(parents=True)
    places = {"VENV": tmp_path / "venv", "RUN_ROOT": tmp_path / "runs", "LOGS": tmp_path / "logs"}
    files = {"CALLS": tmp_path / "calls", "COUNTER": tmp_path / "counter"}
    cluster = {key: str(path) for key, path in {**places, **files}.items()}
    for name in ("sbatch", "evenhand", "accelerate"):
        put_program(cluster, name, stand_in(name))
    put_program(cluster, "sleep", 'exec /bin/sleep "${1/#1/0.1}"')  # what scripts wait a second for comes at once
    for name in ("eval.yaml", "sft.yaml", "dpo.yaml"):
        (tmp_path / name).write_text("verdict: margin\n")
    kept = {"PATH": f"{programs}:{os.environ['PATH']}", "HOME": os.environ["HOME"]}
    return {**kept, **cluster, "SAMPLE_SHARDS": "3"}


def stand_in(name):
    """The text of a program that stands in for another one."""
    return Path(__file__).with_name("programs").joinpath(f"{name}.sh").read_text()


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
