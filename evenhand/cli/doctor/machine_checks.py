"""This machine: Python, C library, torch's build, driver and GPUs, nvcc. torch is not imported here."""

import os
import shutil
import sys
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version

from evenhand.cli.doctor.check import Check, ok, unknown, wrong
from evenhand.cli.doctor.speeds import usable_gpus
from evenhand.device import branch_of, device_facts, needed_driver, refusal, signs_of_gpu, visible_gpus
from evenhand.errors import ModelError
from evenhand.machine import Gpu, glibc, torch_cuda_build

OLDEST_PYTHON = (3, 11)
SAMPLER = "VLLM_USE_FLASHINFER_SAMPLER"


def machine_checks(named_gpu: str | None) -> list[Check]:
    """Everything that is the same for all configs. named_gpu: what the jobs will compute on, where it is not here."""
    here = usable_gpus()
    return [
        python_check(),
        glibc_check(),
        torch_check(here, named_gpu),
        gpu_check(here, named_gpu),
        *([driver_check(here)] if here else []),
        nvcc_check(),
    ]


def python_check() -> Check:
    """Python's version."""
    found, needed = ".".join(map(str, sys.version_info[:3])), ".".join(map(str, OLDEST_PYTHON))
    if sys.version_info < OLDEST_PYTHON:
        return wrong("Python", f"{found}, and {needed} or newer is needed", "make PYTHON=/path/to/python3.12 venv")
    return ok("Python", found)


def glibc_check() -> Check:
    """The C library's version; which one the packages need is checked when they are installed."""
    found = glibc()
    if found is None:
        return wrong("glibc", "this is another C library, and there are no packages of vLLM for it")
    return ok("glibc", found)


def torch_check(here: tuple[Gpu, ...], named_gpu: str | None) -> Check:
    """torch's build: one for CPUs never computes on a GPU."""
    try:
        found = version("torch")
    except PackageNotFoundError:
        return wrong("torch", "is not installed", "make venv, or make venv-cuda for GPUs")
    build = torch_cuda_build()
    if build is None and (here or named_gpu):
        return wrong("torch", f"{found} is built for CPUs, and would not see a GPU", "make venv-cuda")
    return ok("torch", f"{found}, built for {f'CUDA {build}' if build else 'CPUs'}")


def gpu_check(here: tuple[Gpu, ...], named_gpu: str | None) -> Check:
    """Which GPUs there are, and whether torch sees them. That a login node has none is no fault."""
    try:
        seen = visible_gpus()
    except ModelError as error:
        return wrong("GPU", str(error))
    facts = device_facts(n_visible=len(seen))
    # That torch is a build for CUDA says nothing of this machine: the login node has the same environment.
    is_meant_here = signs_of_gpu(replace(facts, cuda_build=None))
    if is_meant_here and (message := refusal(facts)):
        return wrong("GPU", message)
    if here:
        sizes = [f"{gpu.name}{f' ({gpu.memory_gib:.0f} GiB)' if gpu.memory_gib else ''}" for gpu in here]
        return ok("GPU", f"{len(here)}: {', '.join(sizes)}")
    told = f"the estimates are for the {named_gpu} that was named" if named_gpu else "as on a login node"
    return unknown("GPU", f"none here ({told}); slurm/submit.sh doctor CONFIG looks at a compute node")


def driver_check(here: tuple[Gpu, ...]) -> Check:
    """The driver against torch's build."""
    driver, build = here[0].driver, torch_cuda_build()
    needed = needed_driver(build)
    if build is None or needed is None:
        return unknown("driver", f"{driver}; what torch's build needs is not known")
    if branch_of(driver) < needed:
        return wrong(
            "driver", f"{driver}, and torch's build for CUDA {build} needs {needed} or newer", "make venv-cuda"
        )
    return ok("driver", f"{driver}; torch's build for CUDA {build} needs {needed} or newer")


def nvcc_check() -> Check:
    """The CUDA toolkit's compiler, which nothing of ours needs unless vLLM is told to take FlashInfer's sampler."""
    nvcc = shutil.which("nvcc") or (f"{home}/bin/nvcc" if (home := os.environ.get("CUDA_HOME")) else None)
    if os.environ.get(SAMPLER, "0") in ("", "0"):
        return ok("nvcc", f"{nvcc or 'not here, and'} not needed: vLLM samples without FlashInfer ({SAMPLER}=0)")
    if nvcc is None:
        return wrong(
            "nvcc", f"not here, and {SAMPLER}={os.environ[SAMPLER]} has vLLM compile with it", f"unset {SAMPLER}"
        )
    return ok("nvcc", f"{nvcc}, for {SAMPLER}={os.environ[SAMPLER]}")
