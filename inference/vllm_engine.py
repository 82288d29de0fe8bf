"""vLLM, offline. The only file that imports it; the same code serves CPU and CUDA."""

import os
import re
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from subprocess import PIPE, Popen
from tempfile import TemporaryFile
from typing import IO, Any, Self

from evenhand.checkpoints import adapter_folder, adapter_rank, load_tokenizer, resolve
from evenhand.device import visible_gpus, vllm_device_name
from evenhand.errors import ConfigError, ModelError, one_line
from evenhand.files import shipped_yaml
from evenhand.machine import kernels_refused, vllm_reads_tokens
from evenhand.records import Completion, Prompt, failed
from evenhand.run_directory import read_json
from inference.config import InferenceConfig, VllmConfig
from inference.encoding import Encoder, Supply
from inference.engine import Further
from inference.options import Asked, Node, asked_of
from inference.watchdog import kill_engines

# Requests held by the engine at once: enough to keep any batch full, few enough that a million prompts fit in memory.
IN_FLIGHT = 4096
FEW_CPUS = 4
FIXED = shipped_yaml(Path(__file__).with_name("vllm.yaml"))

NOT_FINISHED = {None, "abort", "error"}  # of vLLM's finish reasons

BY_TOKEN = ("margin", "options")  # verdicts that are read from the log-probabilities of tokens that we name
NOT_BY_TOKEN = "the installed vLLM gives no log-probabilities of named tokens, as 0.19, the last for CUDA 12, does not"
WITHOUT_VLLM = "set 'engine={kind: transformers, dtype: float32}'"
NO_ARGUMENTS = {"kind", "cpu_kv_cache_gib", "deterministic", "extra"}  # keys of `engine` that vLLM's LLM does not have
DRAWN_BY = ("temperature", "top_p", "top_k", "repetition_penalty", "max_tokens", "n")  # keys of `sampling` that it has
LORA_RANKS = (8, 16, 32, 64, 128, 256, 320, 512)  # that vLLM has kernels for
MEMORY = "; see engine.max_model_len, max_num_seqs, gpu_memory_utilization, and on a CPU cpu_kv_cache_gib"
BY_TRANSFORMERS = "set 'engine={kind: transformers, dtype: bfloat16}', or take a node with driver 580 or newer"


class VllmEngine:
    """vLLM's offline engine as a context manager. Raises ModelError when it cannot start or dies.

    Raises ConfigError where the installed vLLM cannot read the verdict.
    """

    def __init__(self, config: InferenceConfig, prompts: Sequence[Prompt] = ()) -> None:
        assert isinstance(config.engine, VllmConfig)
        self.config, settings = config, config.engine
        if config.reads_tokens and not vllm_reads_tokens():
            what = "self_read" if config.self_read else f"verdict {config.verdict}"
            raise ConfigError(f"{what}: {NOT_BY_TOKEN}; {BY_TRANSFORMERS}")
        self.numbers, self.adapter_ids = count(), count(1)
        device = vllm_device_name(settings.tensor_parallel_size)
        folder = resolve(config.model)
        check_runs(folder, settings, config.model.adapter)
        self.encoder = Encoder(load_tokenizer(folder), config)
        options: dict[str, Any] = {}
        self.adapter: dict[str, Any] = {}  # of a request
        if config.model.adapter:
            self.use_adapter(config.model.adapter)
            r = adapter_rank(config.model.adapter)
            options |= {"enable_lora": True, "max_lora_rank": next(rank for rank in LORA_RANKS if rank >= r)}
        if config.verdict in BY_TOKEN:
            # CUDA graphs are for decoding, and nothing is decoded: capturing them would cost time and memory.
            options["compilation_config"] = {"cudagraph_mode": "NONE"}
        if config.reads_tokens:
            # Of written replies nothing hangs on it, and on CPU vLLM would cast the head anew for every token.
            options["hf_overrides"] = with_float32_head
        if config.verdict == "options":  # what is sampled from at the temperature; for margins it is never looked at
            options["logprobs_mode"] = "processed_logprobs"
        self.thinking_tokens = config.patch.thinking_tokens if config.patch else None
        if self.thinking_tokens is not None:
            options["reasoning_config"] = {"reasoning_start_str": "<think>", "reasoning_end_str": "</think>"}
        print(
            f"starting vLLM with {config.model.name} on {device}; that takes minutes, most the first time "
            "(VLLM_LOGGING_LEVEL=INFO shows its log)",
            file=sys.stderr,
        )
        # A chat template that refuses prompts says so before a model is loaded.
        next(self.encoder.encode(prompts), None)
        self.llm = start(folder, settings, config.sampling.seed, **options)

    def use_adapter(self, run: Path) -> None:
        """Answer with a training run's adapter, in the place of the one there is."""
        from vllm.lora.request import LoRARequest

        self.adapter = {"lora_request": LoRARequest(run.name, next(self.adapter_ids), str(adapter_folder(run)))}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.llm.llm_engine.engine_core.shutdown()

    def generate(self, prompts: Sequence[Prompt], further: Further = tuple) -> Iterator[Completion]:
        """Yield completions as they finish; see Engine. The batch is topped up while it runs, so it never drains."""
        from vllm.v1.engine.exceptions import EngineDeadError

        supply = Supply(self.encoder, prompts, further, self.llm.model_config.max_model_len)
        running = dict[str, Asked]()
        try:
            while True:
                while (room := IN_FLIGHT - len(running)) > 0 and (encoded := supply.take(room)):
                    for asked in asked_of(encoded):
                        yield from self.enqueue(asked, running)
                if not running:  # a step would wait for ever
                    break
                for output in self.llm.llm_engine.step():
                    if output.finished:
                        yield from self.read(running.pop(output.request_id), output)
        except GeneratorExit:
            self.llm.llm_engine.abort_request([*running])
            raise
        except EngineDeadError as error:
            raise ModelError(
                f"the vLLM engine died ({reason_of(error)}). What was answered is kept: the same command continues"
            ) from None
        supply.check_prompt_lengths()

    def enqueue(self, asked: Asked, running: dict[str, Asked]) -> Iterator[Completion]:
        """Have it run under a name of its own. Yields errors where vLLM refuses it alone: its grammar, its tokens."""
        name, tokens = str(next(self.numbers)), {"prompt_token_ids": asked.token_ids}
        try:
            self.llm.llm_engine.add_request(name, tokens, self.sampling_params(asked), **self.adapter)
        except ValueError as error:
            yield from self.failed(asked, f"vLLM refuses the request ({one_line(error)})")
        else:
            running[name] = asked

    def read(self, asked: Asked, output: Any) -> Iterator[Completion]:
        """What a finished request says. One that vLLM could not finish is an error with its reason."""
        if not_finished := ({sample.finish_reason for sample in output.outputs} or {None}) & NOT_FINISHED:
            yield from self.failed(asked, f"vLLM ended the request itself ({', '.join(map(str, not_finished))})")
        elif isinstance(asked, Node):
            position = output.outputs[0].logprobs[0]
            yield from asked.completed({t: float(position[t].logprob) for t in asked.children})
        else:
            for sample in output.outputs:
                yield asked.completion(sample.index, sample.text, sample.finish_reason, len(sample.token_ids))

    def failed(self, asked: Asked, reason: str) -> list[Completion]:
        """Errors in the place of a prompt's replies."""
        return failed(asked.prompt, self.config.sampling.n_for(asked.prompt), reason)

    def sampling_params(self, asked: Asked) -> Any:
        """vLLM's SamplingParams. No per-request seed: it kills the CPU engine; the engine itself is seeded."""
        from vllm import SamplingParams
        from vllm.sampling_params import RequestOutputKind, StructuredOutputsParams

        sampling, schema = self.config.sampling.for_prompt(asked.prompt), asked.prompt.drawing.json_schema
        if isinstance(asked, Node):
            # No mask (allowed_token_ids): probabilities over the whole vocabulary are wanted.
            return SamplingParams(
                temperature=sampling.temperature if self.config.verdict == "options" else 0.0,
                max_tokens=1,
                logprob_token_ids=list(asked.children),
                detokenize=False,
                output_kind=RequestOutputKind.FINAL_ONLY,
            )
        grammar = StructuredOutputsParams(json=schema) if sampling.structured == "json" and schema else None
        return SamplingParams(
            **{name: getattr(sampling, name) for name in DRAWN_BY},
            structured_outputs=grammar,
            **({} if self.thinking_tokens is None else {"thinking_token_budget": self.thinking_tokens}),
            # Beside the tokenizer's and the generation config's.
            stop_token_ids=None if self.encoder.contract.end is None else [self.encoder.contract.end],
            output_kind=RequestOutputKind.FINAL_ONLY,
        )


def check_runs(folder: Path, settings: VllmConfig, adapter: Path | None) -> None:
    """Raises ConfigError for more GPUs than there are, an adapter on a CPU, or a class of vLLM's that cannot import."""
    n_wanted, n_here = settings.tensor_parallel_size, len(visible_gpus())
    if n_wanted > max(n_here, 1):
        raise ConfigError(f"engine.tensor_parallel_size is {n_wanted}, and GPUs here are {n_here} (SAMPLE_GPUS)")
    if adapter and not n_here:
        raise ConfigError(
            f"model.adapter: vLLM crawls with adapters on a CPU; {WITHOUT_VLLM}, or `evenhand merge {adapter}`"
        )
    if "vision_config" in read_json(folder / "config.json") and find_spec("torchvision") is None:
        raise ConfigError(
            f"{folder}: has an image encoder, for which vLLM imports torchvision, which the lock for CPUs leaves out; "
            f"{WITHOUT_VLLM}, or take the environment for GPUs"
        )


def with_float32_head(hf_config: Any) -> Any:
    """A model's Hub config that has vLLM compute its logits in float32.

    Gemma-3's language model lies within one with an image encoder: vLLM reads the inner config alone there.
    """
    for config in (hf_config, hf_config.get_text_config()):
        config.head_dtype = "float32"
    return hf_config


def set_variables(settings: VllmConfig) -> None:
    """What vLLM reads of the environment, where the user has not set it."""
    variables = {"VLLM_CPU_KVCACHE_SPACE": str(settings.cpu_kv_cache_gib), **FIXED["environment"]}
    if not visible_gpus():
        variables |= FIXED["environment_of_cpus"]
    if len(os.sched_getaffinity(0)) <= FEW_CPUS:  # vLLM sets one aside, which of two is half
        variables["VLLM_CPU_NUM_OF_RESERVED_CPU"] = "0"
    for name, value in variables.items():
        os.environ.setdefault(name, value)
    if settings.deterministic:
        os.environ["VLLM_BATCH_INVARIANT"] = "1"


def start(folder: Path, settings: VllmConfig, seed: int, *, is_trial: bool = False, **options: Any) -> Any:
    """A running vllm.LLM, `options` passed on to it; is_trial: only the config that it would run by.

    Raises ModelError with the advice that fits if it cannot start.
    """
    set_variables(settings)
    import vllm
    from safetensors import SafetensorError

    arguments = {
        **settings.model_dump(exclude=NO_ARGUMENTS, exclude_none=True),
        **FIXED["arguments"],
        "model": str(folder),
        "seed": seed,
        **options,
    }
    if taken := sorted(settings.extra.keys() & {*arguments, *VllmConfig.model_fields}):
        raise ConfigError(f"engine.extra: {', '.join(taken)} is set by Evenhand or a key of its own; leave it out")
    try:
        arguments |= settings.extra
        with log_kept():
            return vllm.EngineArgs(**arguments).create_engine_config() if is_trial else vllm.LLM(**arguments)
    except (RuntimeError, ValueError, TypeError, OSError, SafetensorError) as error:
        kill_engines()  # one that did not start in time goes on loading, and this process would wait for it
        problem = f"; {kernels}" if visible_gpus() and (kernels := kernels_refused()) else ""
        raise ModelError(f"{folder}: vLLM could not start ({reason_of(error)}){problem}") from None


@cache
def log() -> IO[bytes]:
    """What the engine's processes write to standard error."""
    return TemporaryFile()


@contextmanager
def log_kept() -> Iterator[None]:
    """Context manager: what processes started in it write to standard error goes to log() as well."""
    shown, file = os.dup(2), log().fileno()
    command = ["tee", "-p", f"/dev/fd/{file}"]  # -p: it goes on where nobody reads standard error any more
    tee = Popen(command, stdin=PIPE, stdout=shown, pass_fds=[file], start_new_session=True)  # Ctrl-C does not end it
    assert tee.stdin
    with tee.stdin as sink:
        os.dup2(sink.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(shown, 2)
        os.close(shown)


def reason_of(error: Exception) -> str:
    """What vLLM raised, or where its core failed the last error in the core's log; with advice if memory is short."""
    reason = str(error)
    if re.search("engine ?core", reason, re.IGNORECASE):
        time.sleep(0.5)  # the log is copied a moment later
        log().seek(0)
        reason = [reason, *re.findall(r"\b[\w.]*(?:Error|Exception): .+", log().read().decode(errors="replace"))][-1]
    is_short = re.search(r"memory|bad_alloc|: -9\b", reason, re.IGNORECASE)  # -9: killed by the system
    return " ".join(reason.split())[:400] + (MEMORY if is_short else "")
