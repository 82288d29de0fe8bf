"""This machine, and the device that estimates are for: torch's build, GPUs, folders of caches; memory, and speed by
its data sheet. torch is not imported here."""

import os
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from evenhand.cli.doctor.checks import Check, ok, unknown, wrong
from evenhand.device import means_cpu, refusal, signs_of_gpu, visible_gpus
from evenhand.embedded import cache_dir
from evenhand.errors import ModelError
from evenhand.files import shipped_yaml
from evenhand.machine import Gpu, gpus, kernels_refused, torch_cuda_build
from evenhand.provenance import package_versions
from evenhand.terminal import lasting

GIB = 2**30
# Part of a GPU's speed that a job is taken to reach: SFT at the shape of a 7B model reached 0.30 of an H200's, DPO
# 0.24 (docs/gpu.md). Reading memory, which sampling one reply waits for, is not in it.
SHARE = 0.3
SHEETS: Mapping[str, tuple[float, float, float]] = shipped_yaml(Path(__file__).with_name("gpus.yaml"))
STANDARD = "a100-80gb"  # what the papers trained on


def machine_checks(named_gpu: str | None) -> list[Check]:
    """Everything that is the same for all configs. named_gpu: what the jobs will compute on, where it is not here."""
    caches = [room_check("EVENHAND_CACHE", cache_dir())]
    if find_spec("huggingface_hub"):
        from huggingface_hub import constants

        caches.insert(0, room_check("HF_HOME", Path(constants.HF_HOME)))
    kernels = [wrong("kernels", problem)] if usable_gpus() and (problem := kernels_refused()) else []
    return [gpu_check(named_gpu), *kernels, *caches]


def gpu_check(named_gpu: str | None) -> Check:
    """torch's build, which GPUs there are, and whether torch sees them. A login node may have none."""
    if "torch" not in package_versions():
        return ok("GPU", "not looked for: without torch, servers alone are asked (evenhand[local] brings it)")
    build = torch_cuda_build()
    torch = f"torch {package_versions()['torch']}, built for {f'CUDA {build}' if build else 'CPUs'}"
    try:
        sees_none = not visible_gpus()
    except ModelError as error:
        return wrong("GPU", str(error))
    # That torch is a build for CUDA says nothing of this machine: the login node has the same environment.
    if sees_none and signs_of_gpu(gpus()) and (message := refusal()):
        return wrong("GPU", message)
    if here := usable_gpus():
        sizes = [f"{gpu.name}{f' ({gpu.memory_gib:.0f} GiB)' if gpu.memory_gib else ''}" for gpu in here]
        return ok("GPU", f"{len(here)}: {', '.join(sizes)}, driver {here[0].driver}; {torch}")
    if build is None and named_gpu:
        return wrong("GPU", f"{torch}, and would not see a GPU", "make venv-cuda")
    whose = f"the estimates are for the {named_gpu} that was named" if named_gpu else "as on a login node"
    return unknown("GPU", f"none here ({whose}), {torch}; slurm/submit.sh doctor CONFIG looks at a compute node")


def room_check(subject: str, folder: Path, needed: float = 0.0) -> Check:
    """Whether a folder can be written to and its disk has so many bytes left. Quotas are not seen."""
    absolute = folder.expanduser().absolute()
    there = next(path for path in (absolute, *absolute.parents) if path.exists())
    free = shutil.disk_usage(there).free
    if not (there.is_dir() and os.access(there, os.W_OK)):
        return wrong(subject, f"{folder}: may not be written to", f"set {subject} to another folder")
    says = f"{folder}, {free / GIB:.0f} GiB free{f', {needed / GIB:.1f} GiB needed' if needed else ''}"
    if free < needed:
        return wrong(subject, says, f"make room, or set {subject} to another folder")
    return ok(subject, says)


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
        return unknown(subject, f"{says}; how much there is, is not known here")
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
