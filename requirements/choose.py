"""Which CUDA lock fits this machine: `make venv-cuda` installs the one whose name is printed, or stops with the reason.

A login node often has no GPU and so no driver: `make venv-cuda DRIVER=570` names the compute nodes'.
"""

import platform
import re
import sys

from evenhand.device import OLDEST_DRIVER
from evenhand.machine import gpus

DRIVERS = {"cuda": OLDEST_DRIVER["13"], "cuda12": OLDEST_DRIVER["12"]}
GLIBC = {"cuda": (2, 28), "cuda12": (2, 31)}  # the oldest that all wheels run on; `make lock` checks it
OTHERWISE = "judge through a server that runs elsewhere (engine.kind openai)"


def choose(named: str) -> str:
    """The lock for a driver such as "570.124.06", as `named` or, if that is empty, as nvidia-smi has it."""
    driver = named or next((gpu.driver for gpu in gpus()), "")
    if not re.fullmatch(r"\d[\d.]*|", driver):
        sys.exit(f"make: DRIVER={driver}: not a driver version; nvidia-smi on a compute node shows it, as 570.124.06")
    lock = lock_for(driver) if driver else "cuda"
    seen = f"NVIDIA driver {driver}" if driver else "No NVIDIA driver here (DRIVER=570 names the compute nodes')"
    print(f"{seen}: requirements/{lock}.lock, for drivers from {DRIVERS[lock]} on", file=sys.stderr)
    return lock


def lock_for(driver: str) -> str:
    """The newest lock that a driver runs. Exits if it runs none."""
    for lock, oldest in DRIVERS.items():
        if int(driver.partition(".")[0]) >= oldest:
            return lock
    sys.exit(
        f"make: NVIDIA driver {driver} is older than {min(DRIVERS.values())}, which CUDA 12 needs. "
        f"Ask for {DRIVERS['cuda']} or newer, or {OTHERWISE}"
    )


def glibc() -> str | None:
    """The C library's version, such as "2.28"; None where it is another one."""
    name, version = platform.libc_ver()
    return version if name == "glibc" else None


def require_glibc(lock: str, version: str | None) -> None:
    """Exits where the C library is too old for the lock's wheels, of which pip would only name one."""
    if version and tuple(map(int, version.split("."))) >= GLIBC[lock]:
        return
    needed, here = ".".join(map(str, GLIBC[lock])), version or "another C library"
    newer = (
        "" if lock == "cuda" else f"take nodes with driver {DRIVERS['cuda']} or newer, whose builds need glibc 2.28, "
    )
    sys.exit(
        f"make: requirements/{lock}.lock needs glibc {needed} or newer; this system has {here} "
        f"(RHEL 8 and Rocky 8 have 2.28). Work in a container with a newer Linux, {newer}or {OTHERWISE}"
    )


if __name__ == "__main__":
    chosen = choose(*sys.argv[1:2] or [""])
    require_glibc(chosen, glibc())
    print(chosen)
