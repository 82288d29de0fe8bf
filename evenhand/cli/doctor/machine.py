"""This machine: our packages, torch's build, driver, GPUs, folders of caches. torch is not imported here."""

import os
import shutil
from importlib.util import find_spec
from pathlib import Path

from evenhand.cli.doctor.checks import Check, ok, unknown, wrong
from evenhand.cli.doctor.device import GIB, usable_gpus
from evenhand.device import refusal, signs_of_gpu, visible_gpus
from evenhand.embedded import cache_dir
from evenhand.errors import ModelError
from evenhand.machine import gpus, kernels_refused, torch_cuda_build
from evenhand.provenance import package_versions


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
