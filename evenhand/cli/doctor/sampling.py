"""`evenhand doctor` on a sampling config: prompts, context window, memory, time, and when more shards pay."""

from collections.abc import Sequence

from evenhand.cli.doctor.check import Check, Examined, ok, unknown, wrong
from evenhand.cli.doctor.durations import shown_seconds
from evenhand.cli.doctor.engine_memory import dtype_of, engine_check, memory_check
from evenhand.cli.doctor.model_checks import FoundModel, find_model
from evenhand.cli.doctor.speeds import Speed, speeds_for
from evenhand.cli.doctor.storage import room_check
from evenhand.errors import EvenhandError, ModelError
from evenhand.model_size import ModelSize
from evenhand.records import Prompt
from inference.config import InferenceConfig, OpenAIConfig, TransformersConfig, VllmConfig, load_sampling_config
from inference.run_size import RunSize, run_size
from inference.schedule import first_prompts, prompts_of

# Seconds until the first prompt: vLLM on a GPU compiles and captures its graphs, on a CPU it starts eagerly.
STARTUP_GPU, STARTUP_CPU, STARTUP_PLAIN = 120.0, 30.0, 15.0
SEQUENCES = 256  # that vLLM computes at once where the config does not say
WORTH = 5  # an engine's start is paid back when the work after it takes so many times as long


def examine(words: Sequence[str], named_gpu: str | None) -> Examined:
    """What can be known of a sampling config before it runs. Raises ConfigError for a config that is none."""
    config = load_sampling_config(words)
    checks = [room_check("run.root", config.run.root, 0, "")]
    prompts, data_check = planned(config)
    checks.append(data_check)
    if isinstance(config.engine, OpenAIConfig):
        asked = f"{config.model.name} is asked at {config.engine.base_url}, which was not asked here"
        return Examined(kind="sampling", checks=[*checks, unknown("server", asked)])
    model = find_model(config.model)
    checks += [*model.checks, engine_check(config.engine, config.verdict)]
    work = None
    if model.tokenizer is not None:
        try:
            work = run_size(prompts or first_prompts(config.on_own_items()), config, model.tokenizer)
        except ModelError as error:
            checks.append(wrong("prompt", str(error)))
        else:
            checks += [told_prompts(work, bool(prompts)), window_check(config, model, work if prompts else None)]
    if model.size:
        speeds = speeds_for(dtype_of(config.engine), named_gpu)
        for speed in speeds:
            if speed is speeds[0]:
                checks.append(memory_check(config.engine, model.size, work.mean_tokens if work else None, speed))
            checks.append(time_check(config, model.size, work if prompts else None, speed))
    return Examined(kind="sampling", checks=checks, owed=model.owed)


def planned(config: InferenceConfig) -> tuple[list[Prompt], Check]:
    """Every prompt of a run, none where the data are not there."""
    try:
        units = config.study.units(config.verdict)
        prompts = list(prompts_of(units, config.sampling))
    except EvenhandError as error:
        return [], wrong("data", str(error))
    datasets = list(dict.fromkeys(prompt.dataset for prompt in prompts))
    told = f"{', '.join(datasets)}: {len(prompts):,} prompts"
    if units.plan_grows:
        told += " at first, and more that depend on the replies: no estimate here holds those"
    return prompts, ok("data", told, n_prompts=len(prompts))


def told_prompts(work: RunSize, is_real: bool) -> Check:
    """That the tokenizer's chat template takes the prompts, and how long they are."""
    if not is_real:
        return ok(
            "prompt", f"one of our own items renders: {work.mean_tokens:.0f} tokens (the config's data are absent)"
        )
    share = work.n_computed / (work.n_prompts * work.mean_tokens)
    says = (
        f"{work.n_prompts:,} different ones of {work.mean_tokens:.0f} tokens in the mean; {share:.0%} of them computed "
        "(the others are beginnings that neighbours share)"
    )
    return ok("prompt", says, n_prompts=work.n_prompts, mean_tokens=work.mean_tokens, computed_tokens=work.n_computed)


def window_check(config: InferenceConfig, model: FoundModel, work: RunSize | None) -> Check:
    """The longest prompt with its answer against the context window."""
    own = model.size.context_window if model.size else None
    asked = config.engine.max_model_len if isinstance(config.engine, VllmConfig) else None
    window = asked or own
    if window is None:
        return unknown("context", "the model's config.json names no context window")
    if asked and own and asked > own:
        return wrong(
            "context", f"engine.max_model_len is {asked}, the model's window {own}", f"engine.max_model_len={own}"
        )
    if work is None:
        return unknown("context", f"{window:,} tokens; the longest prompt is known when the data are there")
    told = f"longest prompt with answer {work.longest:,} of {window:,} tokens"
    if work.longest <= window:
        return ok("context", told, longest=work.longest, window=window)
    if config.study.skips_long_units:  # leaves such items out, and names them
        return ok(
            "context", f"{told}: what does not fit is left out whole, and named", longest=work.longest, window=window
        )
    return wrong("context", told, "raise engine.max_model_len, lower sampling.max_tokens, or leave the dataset out")


def time_check(config: InferenceConfig, size: ModelSize, work: RunSize | None, speed: Speed) -> Check:
    """How long one engine will take, and how many shards pay."""
    subject = f"time, {speed.name}"
    if work is None:
        return unknown(subject, "needs the prompts in tokens: the data and the model's tokenizer, see above")
    if speed.flops is None:
        return unknown(subject, "its speed is not known here (evenhand/cli/doctor/speeds.py lists the GPUs that are)")
    startup, prefill, decode = seconds(config, size, work, speed)
    total = startup + prefill + decode
    told = f"{shown_seconds(total)}: start {shown_seconds(startup)}, prompts {shown_seconds(prefill)}"
    if work.n_generated:
        told += f", replies {shown_seconds(decode)} if each takes its longest length"
    shares, rate = speed.shares, speed.bytes_a_second or 0
    told += f"; assumed: {shares.prefill} of {speed.peak}"
    if work.n_generated:
        told += f", for replies {shares.decode} of that or of {rate / 1e9:,.0f} GB/s"
    pays = f"; {shards_words(startup, prefill + decode)}" if speed.is_gpu else ""
    return ok(subject, told + pays, seconds=total, startup=startup, n_gpus=gpus_of(config.engine))


def gpus_of(engine: object) -> int:
    """How many GPUs one engine takes."""
    return engine.tensor_parallel_size if isinstance(engine, VllmConfig) else 1


def seconds(config: InferenceConfig, size: ModelSize, work: RunSize, speed: Speed) -> tuple[float, float, float]:
    """Seconds of the start, of the prompts and of the replies."""
    assert speed.flops
    assert speed.bytes_a_second
    engine = config.engine
    assert isinstance(engine, VllmConfig | TransformersConfig)
    is_vllm = isinstance(engine, VllmConfig)
    n_gpus = gpus_of(engine) if speed.is_gpu else 1
    flops, bandwidth = speed.flops * n_gpus, speed.bytes_a_second * n_gpus
    startup = (STARTUP_GPU if speed.is_gpu else STARTUP_CPU) if is_vllm else STARTUP_PLAIN
    context = work.mean_tokens - work.n_computed / work.n_prompts / 2
    prefill = size.forward_flops(work.n_computed, context, work.n_requests) / (flops * speed.shares.prefill)
    dtype = dtype_of(engine)
    at_once = (engine.max_num_seqs if isinstance(engine, VllmConfig) else engine.batch_size) or SEQUENCES
    batch = max(1.0, min(at_once, work.n_prompts * config.sampling.n))
    context = work.mean_tokens + work.n_generated / (work.n_prompts * config.sampling.n) / 2
    read = size.weight_bytes(dtype) + batch * size.kv_bytes(context, dtype)
    step = max(read / bandwidth, size.forward_flops(batch, context, batch) / flops) / speed.shares.decode
    return startup, prefill, work.n_generated / batch * step


def shards_words(startup: float, work: float) -> str:
    """When more than one engine pays, in words."""
    n = int(work // (WORTH * startup))
    if n <= 1:
        return "SAMPLE_SHARDS=1: more engines would mostly start"
    return f"up to SAMPLE_SHARDS={n} pay: {shown_seconds(startup + work / n)} each"
