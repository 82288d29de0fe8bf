"""The small interface of every engine, and the one place that knows which there are."""

from collections.abc import Iterator, Sequence
from types import TracebackType
from typing import Protocol, Self

from benchmarks.records import Completion, Prompt
from inference.config import InferenceConfig


class Engine(Protocol):
    """A loaded model. Used as a context manager, so that it is shut down whatever happens."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    def generate(self, prompts: Sequence[Prompt]) -> Iterator[Completion]:
        """Yield sampling.n completions per prompt, sample_index 0..n-1, as they finish, in any order.

        A reply that could not be had is a Completion whose finish_reason begins with "error". What would fail for every
        prompt, or a prompt over the context window, raises ModelError after the others have been yielded.
        """
        ...


def open_engine(config: InferenceConfig) -> Engine:
    """The engine a config asks for; imported only then, since each brings heavy libraries."""
    match config.engine.kind:
        case "vllm":
            from inference.vllm_engine import VllmEngine

            return VllmEngine(config)
        case "openai":
            from inference.openai_engine import OpenAIEngine

            return OpenAIEngine(config)
        case "transformers":
            from inference.transformers_engine import TransformersEngine

            return TransformersEngine(config)
