"""vLLM, offline. The only file that imports it; the same code serves CPU and CUDA."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from benchmarks.chat import AnswerTokens, answer_tokens
from benchmarks.checkpoints import load_tokenizer, resolve
from benchmarks.errors import ModelError
from benchmarks.records import Completion, Prompt
from inference.config import InferenceConfig, VllmConfig
from inference.encoding import VERDICT_SCHEMA, Encoded, encode_prompts

# Requests held by the engine at once: enough to keep any batch full, few enough that a million prompts fit in memory.
IN_FLIGHT = 4096


class VllmEngine:
    """vLLM's offline engine as a context manager. Raises ModelError when it cannot start or dies."""

    def __init__(self, config: InferenceConfig) -> None:
        assert isinstance(config.engine, VllmConfig)
        self.config = config
        self.settings = config.engine
        folder = resolve(config.model)
        self.tokenizer = load_tokenizer(folder)
        self.answers = answer_tokens(self.tokenizer) if config.verdict == "margin" else AnswerTokens((), {})
        self.llm = start(folder, self.settings, config.sampling.seed)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.llm.llm_engine.engine_core.shutdown()

    def generate(self, prompts: Sequence[Prompt]) -> Iterator[Completion]:
        """Yield completions as they finish; see Engine. The batch is topped up while it runs, so it never drains."""
        from vllm.v1.engine.exceptions import EngineDeadError

        window = self.llm.model_config.max_model_len
        encoded = encode_prompts(self.tokenizer, prompts, self.config, window, self.answers.lead)
        waiting = iter(encoded)
        running: dict[str, Encoded] = {}
        params = self.sampling_params()
        try:
            while self.top_up(waiting, running, params) or running:
                for output in self.llm.llm_engine.step():
                    if output.finished:
                        yield from self.completions(running.pop(output.request_id), output)
        except EngineDeadError as error:
            raise ModelError(
                f"the vLLM engine died ({error}); its own message stands above. What was answered is kept: the same "
                "command continues. Out of memory? Lower engine.gpu_memory_utilization, max_model_len or max_num_seqs"
            ) from None

    def top_up(self, waiting: Iterator[Encoded], running: dict[str, Encoded], params: Any) -> bool:
        """Enqueue until IN_FLIGHT requests run; True when any was added."""
        batch = [encoded for _, encoded in zip(range(IN_FLIGHT - len(running)), waiting, strict=False)]
        if not batch:
            return False
        for encoded in batch:
            request_id = encoded.prompt.prompt_hash
            self.llm.llm_engine.add_request(request_id, {"prompt_token_ids": encoded.token_ids}, params)
            running[request_id] = encoded
        return True

    def sampling_params(self) -> Any:
        """vLLM's SamplingParams. No per-request seed: it kills the CPU engine; the engine itself is seeded."""
        from vllm import SamplingParams
        from vllm.sampling_params import RequestOutputKind, StructuredOutputsParams

        if self.config.verdict == "margin":
            token_ids = list(self.answers.ids.values())
            return SamplingParams(
                temperature=0.0,
                max_tokens=1,
                logprob_token_ids=token_ids,
                allowed_token_ids=token_ids,
                output_kind=RequestOutputKind.FINAL_ONLY,
            )
        sampling = self.config.sampling
        grammar = StructuredOutputsParams(json=VERDICT_SCHEMA) if sampling.structured == "json" else None
        return SamplingParams(
            temperature=sampling.temperature,
            top_p=sampling.top_p,
            max_tokens=sampling.max_tokens,
            n=sampling.n,
            structured_outputs=grammar,
            output_kind=RequestOutputKind.FINAL_ONLY,
        )

    def completions(self, encoded: Encoded, output: Any) -> Iterator[Completion]:
        """One Completion per sample of a finished request."""
        for sample in output.outputs:
            yield Completion(
                prompt_hash=encoded.prompt.prompt_hash,
                sample_index=sample.index,
                text=sample.text,
                finish_reason=sample.finish_reason or "error: the engine gave no finish reason",
                answer_logprobs=self.answer_logprobs(sample),
                prompt_tokens=len(encoded.token_ids),
                completion_tokens=len(sample.token_ids),
                rendered=encoded.rendered,
            )

    def answer_logprobs(self, sample: Any) -> dict[str, float] | None:
        """log P of each answer at the answer position, over the whole vocabulary (before allowed_token_ids)."""
        if self.config.verdict != "margin":
            return None
        position = sample.logprobs[0]
        return {answer: float(position[token].logprob) for answer, token in self.answers.ids.items()}


def start(folder: Path, settings: VllmConfig, seed: int) -> Any:
    """A running vllm.LLM. Raises ModelError with the advice that fits when it cannot start."""
    os.environ.setdefault("VLLM_CPU_KVCACHE_SPACE", str(settings.cpu_kv_cache_gib))
    os.environ.setdefault("VLLM_LOGGING_LEVEL", "ERROR")
    os.environ.setdefault("VLLM_NO_USAGE_STATS", "1")  # what a user judges is nobody else's business
    from safetensors import SafetensorError
    from vllm import LLM

    optional = {
        "max_model_len": settings.max_model_len,
        "max_num_seqs": settings.max_num_seqs,
        "block_size": settings.block_size,
    }
    try:
        return LLM(
            model=str(folder),
            config_format="hf",
            dtype=settings.dtype,
            tensor_parallel_size=settings.tensor_parallel_size,
            gpu_memory_utilization=settings.gpu_memory_utilization,
            enforce_eager=settings.enforce_eager,
            enable_prefix_caching=True,
            seed=seed,
            **{key: value for key, value in optional.items() if value is not None},
        )
    except (RuntimeError, ValueError, OSError, SafetensorError) as error:
        reason = " ".join(str(error).split())[:400]
        raise ModelError(
            f"{folder}: vLLM could not start ({reason}). If it says that memory is short, lower "
            "engine.gpu_memory_utilization or engine.max_model_len, or raise engine.tensor_parallel_size"
        ) from None
