"""How fast a device computes, by its data sheet or as measured, and which share of that a run reaches."""

import os
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from evenhand.device import means_cpu
from evenhand.float32 import use_onednn
from evenhand.machine import Gpu, gpus

GIB = 2**30


@dataclass(frozen=True, slots=True, kw_only=True)
class Shares:
    """Which part of a device's speed a whole step reaches, all that is no matrix product counted in."""

    training: float  # of its floating-point speed
    prefill: float
    decode: float  # of its memory's speed, or of its floating-point speed where that is what limits


# GPU: assumed, since nothing of ours has been timed on one yet: what others reach with batches of thousands of tokens.
# CPU: seen with the embedded model on two cores, beside a single product of large matrices.
GPU_SHARES = Shares(training=0.45, prefill=0.5, decode=0.5)
CPU_SHARES = {
    "float32": Shares(training=0.6, prefill=0.5, decode=0.5),
    "bfloat16": Shares(training=0.35, prefill=0.5, decode=0.5),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Speed:
    """A device, as estimates need it."""

    name: str
    is_gpu: bool
    is_here: bool
    memory_gib: float | None  # None where nobody says
    flops: float | None  # operations a second in the config's dtype, at most; None for a GPU that is not in the table
    bytes_a_second: float | None  # of its memory
    shares: Shares  # which part of its speed is reached

    @property
    def peak(self) -> str:
        """Its floating-point speed in words."""
        assert self.flops
        number = f"{self.flops / 1e12:.0f} TFLOP/s" if self.flops > 2e12 else f"{self.flops / 1e9:.0f} GFLOP/s"
        return f"{number} ({'data sheet' if self.is_gpu else 'measured'})"


# Dense TFLOP/s in bf16 and in float32, GB/s of memory, GiB: the manufacturer's data sheets.
SHEETS: dict[str, tuple[float, float, float, float]] = {
    "h200": (989, 67, 4800, 141),
    "h100": (989, 67, 3350, 80),
    "a100-40gb": (312, 19.5, 1555, 40),
    "a100-80gb": (312, 19.5, 2039, 80),
    "l40s": (362, 91.6, 864, 48),
    "a40": (150, 37.4, 696, 48),
    "a6000": (155, 38.7, 768, 48),
    "a10": (125, 31.2, 600, 24),
}
STANDARD = "a100-80gb"  # what the papers trained on


def sheet_of(name: str, memory_gib: float | None = None) -> str | None:
    """The key of SHEETS for a GPU's name as nvidia-smi, Slurm or a person writes it; None for one not known here."""
    words = name.lower()
    for key in SHEETS:
        model, _, size = key.partition("-")
        is_small = "40gb" in words if memory_gib is None else memory_gib < 60
        if re.search(rf"(?<![a-z0-9]){model}(?![a-z0-9])", words) and (not size or (size == "40gb") == is_small):
            return key
    return None


def gpu_speed(name: str, dtype: str, *, memory_gib: float | None = None, is_here: bool = False) -> Speed:
    """A GPU by its name; one that is not in the table has no speed."""
    key = sheet_of(name, memory_gib)
    half, single, bandwidth, sheet_gib = SHEETS[key] if key else (None, None, None, None)
    flops = single if dtype == "float32" else half
    return Speed(
        name=name,
        is_gpu=True,
        is_here=is_here,
        memory_gib=memory_gib or sheet_gib,
        flops=flops and flops * 1e12,
        bytes_a_second=bandwidth and bandwidth * 1e9,
        shares=GPU_SHARES,
    )


def usable_gpus() -> tuple[Gpu, ...]:
    """The GPUs here; none where the user means the CPU."""
    return () if means_cpu(os.environ) else gpus()


def speeds_for(dtype: str, named: str | None) -> list[Speed]:
    """The devices that a config's estimates are for.

    The GPU here; else the named one; else this CPU, and before it an A100 for a config that computes in 16 bits.
    """
    if here := usable_gpus():
        return [gpu_speed(here[0].name, dtype, memory_gib=here[0].memory_gib, is_here=True)]
    if named:
        return [gpu_speed(named, dtype)]
    return [cpu_speed(dtype)] if dtype == "float32" else [gpu_speed(STANDARD, dtype), cpu_speed(dtype)]


@cache
def cpu_speed(dtype: str) -> Speed:
    """This machine's CPU, all cores, measured in about a second: one core's product of matrices, and a large copy.

    By the time that the core computed, not by the clock: what else runs here now is no part of it.
    """
    import torch

    if dtype == "float32":
        use_onednn()
    size, n_numbers = 1024, 1 << 25
    tokens, weight = (torch.randn(size, size).to(getattr(torch, dtype)) for _ in range(2))
    source = torch.ones(n_numbers)
    n_threads = torch.get_num_threads()
    torch.set_num_threads(1)
    product, copy = (
        core_seconds(lambda: torch.nn.functional.linear(tokens, weight)),
        core_seconds(lambda: source.clone()),
    )
    torch.set_num_threads(n_threads)
    return Speed(
        name="this CPU",
        is_gpu=False,
        is_here=True,
        memory_gib=main_memory_gib(),
        flops=2 * size**3 / product * n_threads,
        bytes_a_second=2 * source.nbytes / copy,  # one core nearly fills the bus
        shares=CPU_SHARES["float32" if dtype == "float32" else "bfloat16"],
    )


def core_seconds(work: Callable[[], object], seconds: float = 0.3) -> float:
    """What a call takes of this thread's core, in the mean of as many as go into so many seconds of it."""
    work()
    began, n = time.thread_time(), 0
    while time.thread_time() < began + seconds:
        work()
        n += 1
    return (time.thread_time() - began) / n


def main_memory_gib() -> float:
    """Main memory that this process may take: the machine's, or what Slurm or a container allows."""
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / GIB
    container = Path("/sys/fs/cgroup/memory.max")
    allowed = container.read_text().strip() if container.exists() else ""
    job = os.environ.get("SLURM_MEM_PER_NODE", "")  # MiB; 0 is all
    limits = [total]
    if allowed.isdigit():
        limits.append(int(allowed) / GIB)
    if job.isdigit() and job != "0":
        limits.append(int(job) / 1024)
    return min(limits)
