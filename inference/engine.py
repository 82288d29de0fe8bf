"""The small interface of every engine, and the one place that knows which there are."""

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pkgutil import resolve_name
from typing import Protocol, Self

from evenhand.device import torch_device_name, visible_gpus, vllm_device_name
from evenhand.errors import ModelError
from evenhand.machine import has_bf16
from evenhand.records import Completion, Prompt
from inference.config import InferenceConfig, VllmConfig

Further = Callable[[], Sequence[Prompt]]  # `tuple` where all prompts are known from the start


class PromptsTooLong(ModelError):
    """Prompts that do not fit the context window; every other prompt can be asked, or has been."""

    def __init__(self, reasons: Mapping[Prompt, str]) -> None:
        """reasons: prompt → by how much it is too long, in words."""
        self.reasons = reasons
        first, reason = next(iter(reasons.items()))
        super().__init__(
            f"{len(reasons)} prompts do not fit the context window, the first of them of {first.item_id} "
            f"({first.condition}): {reason}. The others are answered. Raise engine.max_model_len (of a vLLM server "
            "--max-model-len) if the model allows it, lower sampling.max_tokens, or leave the dataset out"
        )


class Engine(Protocol):
    """A loaded model. Used as a context manager, so that it is shut down whatever happens."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...

    def generate(self, prompts: Sequence[Prompt], further: Further = tuple) -> Iterator[Completion]:
        """Yield a completion for each sample of each prompt, sample_index 0..n-1, as they finish, in any order.

        further: asked for more prompts whenever there is room, so that replies that were yielded may lead to new
        prompts while others are still under way. It is over when nothing is under way and `further` gives none; closed
        sooner, it gives up what is under way.

        Of each verdict: "reason" and "answer" are text; "margin" and "options" one completion with answer_logprobs, of
        the answers "1" and "2" or of every option of the prompt's answer_space, and the likeliest one as text. What the
        prompt was rendered to stands with sample 0 alone.

        A reply that could not be had is a Completion whose finish_reason begins with "error". What would fail for every
        prompt raises ModelError. Prompts over the context window raise PromptsTooLong, after the others were yielded.
        """
        ...


ENGINES = {  # kind → its class, imported only when it is asked for, since each brings heavy libraries
    "vllm": "inference.vllm_engine:VllmEngine",
    "openai": "inference.openai_engine:OpenAIEngine",
    "recorded": "inference.recorded_engine:RecordedEngine",
    "transformers": "inference.transformers_engine:TransformersEngine",
}


def device_name(config: InferenceConfig) -> str | None:
    """The device that a config's engine will compute on; None for a server's and for answers on record.

    Raises as evenhand.device.
    """
    if isinstance(config.engine, VllmConfig):
        return vllm_device_name(config.engine.tensor_parallel_size)
    return torch_device_name() if config.is_local else None


def open_engine(config: InferenceConfig, prompts: Sequence[Prompt] = ()) -> Engine:
    """The engine a config asks for.

    prompts: what it is going to be asked, as far as that is known: an engine that tokenises here tries the first ones
    before it loads the model.
    """
    if getattr(config.engine, "dtype", None) == "bfloat16" and not visible_gpus() and has_bf16() is False:
        print(
            "Warning: this processor computes bfloat16 some five times slower than float32; set engine.dtype=float32",
            file=sys.stderr,
        )
    engine: Engine = resolve_name(ENGINES[config.engine.kind])(config, prompts)
    return engine
