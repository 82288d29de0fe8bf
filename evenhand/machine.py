"""What computes here: the NVIDIA driver and its GPUs, the processor, torch's build, glibc. Torch is not imported."""

import importlib.util
import os
import platform
import re
import shutil
import subprocess
import sysconfig
from dataclasses import dataclass
from pathlib import Path

CPU_INFO = Path("/proc/cpuinfo")
WITHOUT_TRITON = "VLLM_USE_V2_MODEL_RUNNER=0 in the environment and engine.enforce_eager=true"
SMI = ("nvidia-smi", "--query-gpu=name,memory.total,driver_version", "--format=csv,noheader,nounits")


@dataclass(frozen=True, slots=True)
class Gpu:
    """One GPU as the driver names it."""

    name: str  # "NVIDIA A100-SXM4-80GB"
    memory_gib: float | None  # None where the driver does not say, as of some MIG slices
    driver: str  # "580.65.06"


def gpus() -> tuple[Gpu, ...]:
    """The GPUs that the driver reports; none where nvidia-smi is absent or fails. CUDA itself is not started."""
    try:
        done = subprocess.run(SMI, capture_output=True, text=True, check=True, timeout=30)
    except (OSError, subprocess.SubprocessError):
        return ()
    rows = [[cell.strip() for cell in line.split(",")] for line in done.stdout.splitlines() if line.count(",") == 2]
    return tuple(Gpu(name, float(mib) / 1024 if mib.isdigit() else None, v) for name, mib, v in rows)


def torch_cuda_build() -> str | None:
    """The CUDA version that the installed torch was built for, such as "13.0"; None for a CPU build or no torch."""
    build = re.search(r"^cuda[^=]*= *'([\d.]+)'", source_of("torch", "version.py"), re.MULTILINE)
    return build and build[1]


def vllm_reads_tokens() -> bool:
    """Whether the installed vLLM gives log-probabilities by token id. 0.19, the last for CUDA 12, does not.

    Raises ModuleNotFoundError where there is none.
    """
    source = source_of("vllm", "sampling_params.py")
    if not source:
        raise ModuleNotFoundError("no vllm", name="vllm")
    return "logprob_token_ids" in source


def source_of(package: str, file: str) -> str:
    """The text of a file of a package, which is not imported; "" where it is not installed."""
    spec = importlib.util.find_spec(package)
    return (Path(spec.origin).parent / file).read_text(encoding="utf-8") if spec and spec.origin else ""


def kernels_refused() -> str:
    """Why Triton cannot build its kernels on this machine, and what to do; "" where it can, or is not installed.

    vLLM's sampler (Model Runner V2) and what torch compiles are such kernels.
    """
    if importlib.util.find_spec("triton") is None:
        return ""
    has_compiler = any(map(shutil.which, (os.environ.get("CC", "cc"), "gcc", "clang")))
    has_headers = (Path(sysconfig.get_paths()["include"]) / "Python.h").is_file()
    lacking = " and ".join(["a C compiler"] * (not has_compiler) + ["Python.h"] * (not has_headers))
    way_out = f"install it (gcc, python3-dev), or set {WITHOUT_TRITON}"
    return f"Triton, which builds vLLM's kernels, finds no {lacking} here: {way_out}" if lacking else ""


def cpu_model() -> str:
    """The processor's name as the system gives it."""
    return cpu_fact("model name") or platform.processor() or platform.machine()


def has_bf16() -> bool | None:
    """Whether the processor has instructions for bf16, else it takes several times as long; None where unknown."""
    flags = cpu_fact("flags").split()
    return bool({"avx512_bf16", "amx_bf16"} & {*flags}) if flags else None


def cpu_fact(name: str) -> str:
    """What Linux says of the first processor; "" where it says nothing."""
    if CPU_INFO.exists():
        for line in CPU_INFO.read_text(encoding="utf-8").splitlines():
            if line.startswith(name):
                return line.partition(":")[2].strip()
    return ""
