"""The device that estimates are for: its memory, its speed by its data sheet, and what a job takes of both."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from evenhand.cli.doctor.checks import Check, ok, unknown
from evenhand.device import means_cpu
from evenhand.files import shipped_yaml
from evenhand.machine import Gpu, gpus, torch_cuda_build
from evenhand.terminal import lasting

GIB = 2**30
# Part of a GPU's speed that a job is taken to reach: SFT at the shape of a 7B model reached 0.30 of an H200's, DPO
# 0.24 (docs/gpu.md). Reading memory, which sampling one reply waits for, is not in it.
SHARE = 0.3
SHEETS: Mapping[str, tuple[float, float, float]] = shipped_yaml(Path(__file__).with_name("gpus.yaml"))
STANDARD = "a100-80gb"  # what the papers trained on


@dataclass(frozen=True, slots=True, kw_only=True)
class Device:
    """A device, as estimates need it."""

    name: str
    is_gpu: bool
    is_here: bool
    memory_gib: float | None  # None where nobody says
    flops: float | None = None  # operations a second in the config's dtype, at most; None where no sheet says


def usable_gpus() -> tuple[Gpu, ...]:
    """The GPUs here; none where the user means the CPU."""
    return () if means_cpu() else gpus()


def computes_here() -> bool:
    """Whether jobs may compute on this machine: on a login node the environment is for GPUs, and there is none."""
    return bool(usable_gpus()) or torch_cuda_build() is None


def device_for(dtype: str, named: str | None) -> Device:
    """The GPU here; else the named one; else this CPU, or for a config that computes in 16 bits an A100."""
    if here := usable_gpus():
        return gpu_device(here[0].name, dtype, memory_gib=here[0].memory_gib, is_here=True)
    if named or dtype != "float32":
        return gpu_device(named or STANDARD, dtype)
    return Device(name="this CPU", is_gpu=False, is_here=True, memory_gib=main_memory_gib())


def gpu_device(name: str, dtype: str, *, memory_gib: float | None = None, is_here: bool = False) -> Device:
    """A GPU by its name; one that is not in the table has no speed."""
    key, flops = sheet_of(name, memory_gib), None
    if key is not None:
        half, single, sheet_gib = SHEETS[key]
        memory_gib, flops = memory_gib or sheet_gib, (single if dtype == "float32" else half) * 1e12
    return Device(name=name, is_gpu=True, is_here=is_here, memory_gib=memory_gib, flops=flops)


def sheet_of(name: str, memory_gib: float | None = None) -> str | None:
    """The key of SHEETS for a GPU's name as nvidia-smi, Slurm or a person writes it; None for one not known here."""
    spaced = name.lower().replace("_", " ")
    for key in SHEETS:
        model, _, size = key.partition("-")
        is_small = "40gb" in spaced if memory_gib is None else memory_gib < 60
        if re.search(rf"(?<![a-z0-9]){model}(?![a-z0-9])", spaced) and (not size or (size == "40gb") == is_small):
            return key
    return None


def main_memory_gib() -> float:
    """Main memory that this process may take: the machine's, or what a container allows."""
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / GIB
    container = Path("/sys/fs/cgroup/memory.max")
    allowed = container.read_text().strip() if container.exists() else ""
    return min(total, int(allowed) / GIB) if allowed.isdigit() else total


def memory_check(device: Device, parts: Mapping[str, float], fix: str, share: float = 1.0) -> Check:
    """What a job takes of a device's memory, in GiB by what takes it. share: of the memory that it may take."""
    subject, needed = f"memory, {device.name}", sum(parts.values())
    says = f"{needed:.1f} GiB: " + ", ".join(f"{name} {gib:.1f}" for name, gib in parts.items() if gib >= 0.05)
    if device.memory_gib is None:
        return Check(subject, "unknown", f"{says}; how much there is, is not known here")
    room = device.memory_gib * share
    says += f"; {room:.1f} GiB available"
    if needed <= room:
        return ok(subject, says)
    return Check(subject, "wrong" if device.is_here else "unknown", says, fix)  # known only of a device here


def time_check(device: Device, flops: float | None, n_gpus: int) -> Check:
    """How long a job computes, a guess: its operations at SHARE of the data sheet's speed.

    flops: None where data or tokenizer are absent.
    """
    subject = f"time, {device.name}"
    if flops is None or device.flops is None:
        return unknown(subject, "needs data, tokenizer and a GPU that evenhand/cli/doctor/gpus.yaml lists")
    seconds = flops / device.flops / SHARE / n_gpus
    says = f"a guess: {lasting(seconds)} at {SHARE:.0%} of this GPU's {device.flops / 1e12:.0f} TFLOP/s"
    return ok(subject, says)
