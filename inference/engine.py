"""The small interface of every engine, and the one place that knows which there are."""

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import Protocol, Self

from evenhand.device import torch_device_name, visible_gpus, vllm_device_name
from evenhand.errors import ModelError
from evenhand.machine import lacks_bf16
from evenhand.records import Completion, Prompt
from inference.config import InferenceConfig

Further = Callable[[], Sequence[Prompt]]


def nothing_further() -> Sequence[Prompt]:
    """For prompts that are all known from the start."""
    return ()


class PromptsTooLong(ModelError):
    """Prompts that do not fit the context window; every other prompt can be asked, or has been."""

    def __init__(self, message: str, reasons: Mapping[Prompt, str]) -> None:
        """reasons: prompt → by how much it is too long, in words."""
        super().__init__(message)
        self.reasons = reasons


class Engine(Protocol):
    """A loaded model. Used as a context manager, so that it is shut down whatever happens."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    def generate(self, prompts: Sequence[Prompt], further: Further = nothing_further) -> Iterator[Completion]:
        """Yield a completion for each sample of each prompt, sample_index 0..n-1, as they finish, in any order.

        further: asked for more prompts whenever there is room, so that replies that were yielded may lead to new
        prompts while others are still under way. It is over when nothing is under way and `further` gives none.

        Of each verdict: "reason" and "answer" are text; "margin" and "options" one completion with answer_logprobs, of
        the answers "1" and "2" or of every option of the prompt's answer_space, and the likeliest one as text. What the
        prompt was rendered to stands with sample 0 alone.

        A reply that could not be had is a Completion whose finish_reason begins with "error". What would fail for every
        prompt raises ModelError. Prompts over the context window raise PromptsTooLong, after the others were yielded.
        """
        ...


def device_name(config: InferenceConfig) -> str | None:
    """The device that a config's engine will compute on; None for a server's. Raises as evenhand.device."""
    match config.engine.kind:
        case "vllm":
            return vllm_device_name(config.engine.tensor_parallel_size)
        case "openai":
            return None
        case "transformers":
            return torch_device_name()


def open_engine(config: InferenceConfig, prompts: Sequence[Prompt] = ()) -> Engine:
    """The engine a config asks for; imported only then, since each brings heavy libraries.

    prompts: what it is going to be asked, as far as that is known: an engine that tokenises here tries the first ones
    before it loads the model.
    """
    if getattr(config.engine, "dtype", None) == "bfloat16" and not visible_gpus() and lacks_bf16():
        print(
            "Warning: this processor computes bfloat16 some five times slower than float32; set engine.dtype=float32",
            file=sys.stderr,
        )
    match config.engine.kind:
        case "vllm":
            from inference.vllm_engine import VllmEngine

            return VllmEngine(config, prompts)
        case "openai":
            from inference.openai_engine import OpenAIEngine

            return OpenAIEngine(config)
        case "transformers":
            from inference.transformers_engine import TransformersEngine

            return TransformersEngine(config, prompts)
