"""This machine: our packages, torch's build, driver, GPUs, folders of caches, the Hub. torch is not imported here."""

import os
import shutil
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from evenhand.checkpoints import failures_of_asking
from evenhand.cli.doctor.checks import Check, ok, unknown, wrong
from evenhand.cli.doctor.device import GIB, usable_gpus
from evenhand.device import refusal, signs_of_gpu, visible_gpus
from evenhand.embedded import cache_dir
from evenhand.errors import ModelError
from evenhand.machine import WITHOUT_TRITON, gpus, kernel_tools_lacking, torch_cuda_build

OURS = ("eval", "evenhand", "inference", "studies", "training")  # installed under these names, at the top


def machine_checks(named_gpu: str | None) -> list[Check]:
    """Everything that is the same for all configs. named_gpu: what the jobs will compute on, where it is not here."""
    from huggingface_hub import constants

    return [
        *filter(None, [strangers_check()]),
        torch_check(named_gpu),
        gpu_check(named_gpu),
        *filter(None, [kernel_check()]),
        room_check("HF_HOME", Path(constants.HF_HOME)),
        room_check("EVENHAND_CACHE", cache_dir()),
        hub_check(),
    ]


def strangers_check() -> Check | None:
    """Whether a folder here bears the name of one of our packages: `python -m` would take it for ours."""
    here = Path(__file__).resolve().parents[3]
    strangers = [name for name in OURS if Path(name).is_dir() and Path(name).resolve() != here / name]
    if not strangers or sys.flags.safe_path:
        return None
    says = f"`{strangers[0]}/` in this folder is not ours, and `accelerate launch -m training` and `python -m` take it"
    return wrong("this folder", says, "export PYTHONSAFEPATH=1 (the job scripts do), or work in another folder")


def torch_check(named_gpu: str | None) -> Check:
    """torch's build: one for CPUs never computes on a GPU."""
    try:
        installed = version("torch")
    except PackageNotFoundError:
        return wrong("torch", "is not installed", "make venv, or make venv-cuda for GPUs")
    build = torch_cuda_build()
    if build is None and (usable_gpus() or named_gpu):
        return wrong("torch", f"{installed} is built for CPUs, and would not see a GPU", "make venv-cuda")
    return ok("torch", f"{installed}, built for {f'CUDA {build}' if build else 'CPUs'}")


def gpu_check(named_gpu: str | None) -> Check:
    """Which GPUs there are, and whether torch sees them. A login node may have none."""
    try:
        sees_none = not visible_gpus()
    except ModelError as error:
        return wrong("GPU", str(error))
    # That torch is a build for CUDA says nothing of this machine: the login node has the same environment.
    if sees_none and signs_of_gpu(gpus()) and (message := refusal()):
        return wrong("GPU", message)
    if here := usable_gpus():
        sizes = [f"{gpu.name}{f' ({gpu.memory_gib:.0f} GiB)' if gpu.memory_gib else ''}" for gpu in here]
        return ok("GPU", f"{len(here)}: {', '.join(sizes)}, driver {here[0].driver}")
    whose = f"the estimates are for the {named_gpu} that was named" if named_gpu else "as on a login node"
    return unknown("GPU", f"none here ({whose}); slurm/submit.sh doctor CONFIG looks at a compute node")


def kernel_check() -> Check | None:
    """Whether Triton can build kernels here; None where it has not to."""
    lacking = kernel_tools_lacking()
    if not lacking:
        return None
    says = f"Triton finds no {lacking}, of which vLLM's sampler and compiled models are built"
    if not usable_gpus():
        return unknown("kernels", f"{says}; the compute node needs both, if not this machine")
    return wrong("kernels", says, f"load or install it (gcc, python3-dev); or {WITHOUT_TRITON}")


def room_check(subject: str, folder: Path, needed: float = 0.0) -> Check:
    """Whether a folder can be written to and its disk has so many bytes left. Quotas are not seen."""
    absolute = folder.expanduser().absolute()
    there = next(path for path in (absolute, *absolute.parents) if path.is_dir())
    free = shutil.disk_usage(there).free
    if not os.access(there, os.W_OK):
        return wrong(subject, f"{folder}: may not be written to", f"set {subject} to another folder")
    says = f"{folder}, {free / GIB:.0f} GiB free{f', {needed / GIB:.1f} GiB needed' if needed else ''}"
    if free < needed:
        return wrong(subject, says, f"make room, or set {subject} to another folder")
    return ok(subject, says)


def hub_check() -> Check:
    """One request, unless the Hub is set offline. An unreachable Hub is not an error: models may be in the cache."""
    from huggingface_hub import HfApi, constants, get_session, get_token
    from huggingface_hub.errors import HfHubHTTPError

    hub = constants.ENDPOINT
    if constants.HF_HUB_OFFLINE:
        return unknown("Hub", "HF_HUB_OFFLINE=1: not asked; models must be in the cache")
    try:
        if get_token() is None:
            get_session().head(hub, timeout=10)
            return ok("Hub", f"{hub} answers; gated models need a token (HF_TOKEN)")
        return ok("Hub", f"{hub} answers to {HfApi().whoami()['name']}")
    except HfHubHTTPError as error:
        return wrong("Hub", f"{hub} refuses the token ({error})", "set HF_TOKEN to a valid one, or unset it")
    except failures_of_asking() as error:
        why = f"{hub} is not reached ({type(error).__name__})"
        return unknown("Hub", f"{why}; where models are in the cache, set HF_HUB_OFFLINE=1, and nothing waits for it")
