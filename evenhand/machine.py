"""What computes here: the NVIDIA driver and its GPUs, the processor, torch's build, glibc. Torch is not imported."""

import importlib.util
import platform
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

CPU_INFO = Path("/proc/cpuinfo")
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
    spec = importlib.util.find_spec("torch")
    if spec is None or spec.origin is None:
        return None
    version = (Path(spec.origin).parent / "version.py").read_text(encoding="utf-8")
    found = re.search(r"^cuda[^=]*= *'([\d.]+)'", version, re.MULTILINE)
    return found and found[1]


def vllm_reads_tokens() -> bool:
    """Whether the installed vLLM gives log-probabilities by token id. 0.19, the last for CUDA 12, does not."""
    spec = importlib.util.find_spec("vllm")
    if spec is None or spec.origin is None:
        return False
    return "logprob_token_ids" in (Path(spec.origin).parent / "sampling_params.py").read_text(encoding="utf-8")


def glibc() -> str | None:
    """The C library's version, such as "2.28"; None where it is another one."""
    name, version = platform.libc_ver()
    return version if name == "glibc" else None


def cpu_model() -> str:
    """The processor's name as the system gives it."""
    return cpu_fact("model name") or platform.processor() or platform.machine()


def lacks_bf16() -> bool:
    """Whether the processor is known to have no instructions for bf16, which then takes several times as long."""
    flags = cpu_fact("flags").split()
    return bool(flags) and not {"avx512_bf16", "amx_bf16"} & set(flags)


def cpu_fact(name: str) -> str:
    """What Linux says of the first processor; "" where it says nothing."""
    if CPU_INFO.exists():
        for line in CPU_INFO.read_text(encoding="utf-8").splitlines():
            if line.startswith(name):
                return line.partition(":")[2].strip()
    return ""
