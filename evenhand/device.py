"""Which device computes here. Where a GPU is meant and torch sees none, nothing is computed: a CPU takes weeks.

torch is imported only when a function asks it.
"""

import os
import subprocess
import sys
from collections.abc import Sequence
from functools import cache

from evenhand.errors import ModelError
from evenhand.machine import Gpu, cpu_model, gpus, torch_cuda_build

OLDEST_DRIVER = {"12": 525, "13": 580}  # first number of a CUDA build → the oldest driver branch that runs it
# Slurm's variables that say which GPUs, where "0" is the first one, or how many → what there says that there is none.
SLURM_GPUS = {"SLURM_JOB_GPUS": ("",), "SLURM_STEP_GPUS": ("",), "SLURM_GPUS_ON_NODE": ("", "0")}
# is_available asks the CUDA runtime; device_count alone asks NVML, which also counts GPUs that torch cannot use.
ASK_TORCH = """
import torch
if torch.cuda.is_available():
    print(*map(torch.cuda.get_device_name, range(torch.cuda.device_count())), sep="\\n")
"""


def refusal() -> str | None:
    """Why nothing may be computed where torch sees no GPU, and the way out; None where the CPU is meant."""
    build, listed = torch_cuda_build(), gpus()
    signs = [*signs_of_gpu(listed), *([f"torch is a build for CUDA {build}"] if build else [])]
    if means_cpu() or not signs:
        return None
    if build is None:
        way_out = "This torch is a build for CPUs: run `make venv-cuda`, which chooses the build by the driver"
    elif listed:
        oldest = OLDEST_DRIVER.get(build.partition(".")[0])
        needs = f"torch's build for CUDA {build} needs {f'{oldest} or newer' if oldest else 'another'}"
        way_out = f"The driver is {listed[0].driver}, and {needs}: have it updated, or run `make venv-cuda`"
    else:
        way_out = (
            "nvidia-smi finds no driver and no GPU: ask Slurm for a GPU (GPU in slurm/settings.sh), or start a "
            "container with --nv (Apptainer) or --gpus all (Docker)"
        )
    return (
        f"torch sees no GPU, and one is meant here: {'; '.join(signs)}. {way_out}. To compute on the CPU on purpose, "
        "set CUDA_VISIBLE_DEVICES to nothing (`CUDA_VISIBLE_DEVICES= COMMAND`)"
    )


def means_cpu() -> bool:
    """Whether the user says that the CPU computes: no GPU is to be visible, or the launcher was told so."""
    by_launcher = os.environ.get("ACCELERATE_USE_CPU", "").lower() in ("1", "true", "yes")
    return by_launcher or os.environ.get("CUDA_VISIBLE_DEVICES") in ("", "-1")


def signs_of_gpu(listed: Sequence[Gpu]) -> list[str]:
    """What says of this machine and job that a GPU is meant, in words. listed: the GPUs that the driver reports."""
    environment, signs = os.environ, []
    # `accelerate launch` sets the precision always, and ACCELERATE_USE_CPU only where its file is not for several GPUs.
    if "ACCELERATE_MIXED_PRECISION" in environment and "ACCELERATE_USE_CPU" not in environment:
        signs.append("`accelerate launch` was given a config for several GPUs")
    given = {name: environment.get(name, "") for name in SLURM_GPUS}
    signs += [f"Slurm set {name}={value}" for name, value in given.items() if value not in SLURM_GPUS[name]]
    if listed:
        signs.append(f"nvidia-smi lists {', '.join(gpu.name for gpu in listed)}")
    return signs


@cache
def visible_gpus() -> tuple[str, ...]:
    """Names of the GPUs that torch can compute on, asked of another process: vLLM forks, and CUDA survives no fork.

    Raises ModelError when torch cannot tell.
    """
    if torch_cuda_build() is None:
        return ()
    kept = {key: value for key, value in os.environ.items() if key != "PYTORCH_NVML_BASED_CUDA_CHECK"}
    done = subprocess.run([sys.executable, "-c", ASK_TORCH], env=kept, capture_output=True, text=True)
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise ModelError(f"torch cannot say which GPUs it sees ({reason}); `nvidia-smi` may tell more")
    return tuple(done.stdout.splitlines())


def on_gpu() -> bool:
    """Whether torch computes on a GPU in this process: it sees one, and nobody says that the CPU is to compute."""
    import torch

    return torch.cuda.is_available() and not means_cpu()


def torch_device() -> str:
    """What torch computes on in this process: "cuda" or "cpu". Raises ModelError where that is not what is meant."""
    if on_gpu():
        return "cuda"
    if message := refusal():
        raise ModelError(message)
    return "cpu"


def torch_device_name() -> str:
    """The name of the device that torch computes on in this process, for provenance.json."""
    import torch

    return torch.cuda.get_device_name() if torch_device() == "cuda" else f"CPU: {cpu_model()}"


def vllm_device_name(n_gpus: int) -> str:
    """The name of the device that vLLM will compute on, for provenance.json. CUDA is not started in this process.

    n_gpus: engine.tensor_parallel_size. Raises ModelError where no GPU can be seen and one is meant, or none can do.
    """
    if names := visible_gpus():
        return ", ".join(names[:n_gpus])
    if message := refusal():
        raise ModelError(message)
    if torch_cuda_build() is not None:
        raise ModelError(
            "this vLLM computes on GPUs alone, and CUDA_VISIBLE_DEVICES hides them all: unset it, or set "
            "'engine={kind: transformers, dtype: float32}' to compute on the CPU"
        )
    return f"CPU: {cpu_model()}"
