"""The small interface of every engine."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Protocol, Self

from evenhand.errors import ModelError
from evenhand.records import Completion, Prompt

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
