"""A real Slurm cluster on this machine: munged, slurmctld and a slurmd for each of several nodes, in a folder.

It needs root, and Debian's packages slurm-wlm and munge, which are installed where apt-get can. Nothing outside the
folder changes but for those packages: the nodes' names resolve in a mount namespace of the daemons only.
"""

import os
import shutil
import signal
import socket
import subprocess
import time
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from tests.made.places import ROOT
from tests.made.process_runs import free_port

NODES = ("node0", "node1", "node2", "node3")
PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "scontrol", "unshare")


def install():
    """Bring the packages, or skip the tests and say why."""
    lacking = [name for name in PROGRAMS if shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin:/sbin") is None]
    if os.geteuid() != 0:
        pytest.skip("needs root: slurmctld and slurmd run as root")
    if not lacking:
        return
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for words in (["update", "-q"], ["install", "-y", "-q", "--no-install-recommends", "slurm-wlm", "munge"]):
        try:
            subprocess.run(["apt-get", *words], env=environment, capture_output=True, check=True, timeout=300)
        except (OSError, subprocess.SubprocessError) as error:
            pytest.skip(f"needs {', '.join(lacking)}, and `apt-get {words[0]}` fails: {error}")


class SlurmHost:
    """The cluster; its commands are those of Slurm."""

    def __init__(self, folder):
        self.folder = folder
        self.environment = {**os.environ, "SLURM_CONF": str(folder / "slurm.conf")}
        self.environment["PATH"] += ":/usr/sbin:/sbin"

    def run(self, *words, **variables):
        """A command's output. Fails with what it said."""
        done = subprocess.run(
            words, cwd=ROOT, env={**self.environment, **variables}, capture_output=True, text=True, timeout=120
        )
        assert done.returncode == 0, f"{' '.join(words)}: {done.stdout}{done.stderr}"
        return done.stdout

    def submit(self, variables, *words):
        """slurm/submit.sh, as a user types it; the job's id."""
        return self.run("bash", "slurm/submit.sh", *words, **variables).split()[0]

    def show(self, job):
        """What scontrol knows of a job (of the last task, where it is an array): key → value."""
        words = self.run("scontrol", "show", "--oneliner", "job", job).split()
        return dict(word.split("=", 1) for word in words if "=" in word)

    def states(self, job):
        """The states of a job, or of an array's tasks."""
        lines = self.run("scontrol", "show", "--oneliner", "job", job).splitlines()
        return {word.partition("=")[2] for line in lines for word in line.split() if word.startswith("JobState=")}

    def until(self, what, is_so, seconds=300):
        """Wait for something to come true; fails with the controller's log."""
        deadline = time.monotonic() + seconds
        while not is_so():
            if time.monotonic() > deadline:
                log = (self.folder / "slurmctld.log").read_text().splitlines()[-30:]
                jobs = self.run("squeue", "--all", "--format=%i %j %T %r %M %N")
                raise AssertionError("\n".join([f"in {seconds:.0f} s never: {what}", jobs, *log]))
            time.sleep(0.5)

    def until_over(self, job, seconds=300):
        """Wait for a job, and return its states."""
        waiting = {"PENDING", "RUNNING", "COMPLETING", "REQUEUED", "CONFIGURING"}
        self.until(f"job {job} is over", lambda: not self.states(job) & waiting, seconds)
        return self.states(job)

    def set_down(self, node):
        """Take a node away, as an operator does."""
        self.run("scontrol", "update", f"nodename={node}", "state=down", "reason=test")

    def resume(self, node):
        """Give it back."""
        self.run("scontrol", "update", f"nodename={node}", "state=resume")


@contextmanager
def slurm_host(folder):
    """Context manager: a cluster that runs, with its daemons ended behind it. Skips where there can be none."""
    install()
    host = SlurmHost(folder)
    write_files(folder)
    daemons = []
    try:
        daemons.append(daemon(host, "munged", *munge_words(folder)))
        host.until("munged listens", (folder / "munge.socket").exists, 30)
        daemons.append(daemon(host, "slurmctld", "-D", "-f", str(folder / "slurm.conf")))
        # Each in a mount namespace in which its name resolves; its jobs inherit that.
        hosts = 'mount --bind "$0" /etc/hosts && exec slurmd -D -N "$1" -f "$2"'
        for node in NODES:
            words = ("-m", "bash", "-c", hosts, str(folder / "hosts"), node, str(folder / "slurm.conf"))
            daemons.append(daemon(host, "unshare", *words))
        host.until("all nodes are idle", lambda: is_idle(host), 60)
        yield host
    finally:
        with suppress(AssertionError, subprocess.SubprocessError):
            host.run("scancel", "--user=root")
            host.until("all jobs are over", lambda: not host.run("squeue", "--noheader").strip(), 30)
        for one in reversed(daemons):
            one.send_signal(signal.SIGTERM)
        for one in daemons:
            with suppress(subprocess.TimeoutExpired):
                one.wait(timeout=15)
            one.kill()


def write_files(folder):
    """The cluster's files: its configuration, a key, the names of its nodes."""
    folder.chmod(0o755)
    controller = free_port(1 + len(NODES))
    nodes = "\n".join(
        f"NodeName={node} NodeHostname={socket.gethostname()} NodeAddr=127.0.0.1 Port={port} CPUs=4 RealMemory=100000"
        for port, node in enumerate(NODES, controller + 1)
    )
    form = Path(__file__).with_name("slurm.conf").read_text()
    conf = form.format(host=socket.gethostname(), port=controller, folder=folder, nodes=nodes)
    (folder / "slurm.conf").write_text(conf)
    (folder / "munge.key").write_bytes(os.urandom(1024))
    (folder / "munge.key").chmod(0o400)
    (folder / "hosts").write_text(Path("/etc/hosts").read_text() + f"\n127.0.0.1 {' '.join(NODES)}\n")
    for name in ("state", *(f"spool-{node}" for node in NODES)):
        (folder / name).mkdir()


def munge_words(folder):
    """The options of a munged that keeps to the folder."""
    files = {"key-file": "munge.key", "socket": "munge.socket", "pid-file": "munge.pid", "seed-file": "munge.seed"}
    return ["--foreground", "--force", *(f"--{option}={folder / name}" for option, name in files.items())]


def daemon(host, *words):
    """A daemon in the foreground of a process of ours; what it says goes to a file."""
    with (host.folder / f"daemons-{Path(words[0]).name}.log").open("ab") as log:
        return subprocess.Popen(words, env=host.environment, stdout=log, stderr=log, stdin=subprocess.DEVNULL)


def is_idle(host):
    """Whether every node answers."""
    done = subprocess.run(
        ["sinfo", "--noheader", "--Node", "--format=%T"], env=host.environment, capture_output=True, text=True
    )
    return done.stdout.split() == ["idle"] * len(NODES)
