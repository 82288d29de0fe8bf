"""Which answers of a run are there, and what units read of them."""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from evenhand.records import Completion, Prompt
from inference.config import SamplingConfig


class Answered:
    """The answers so far. Without keeps_replies only that they are there: a million fit in memory."""

    def __init__(
        self, sampling: SamplingConfig, *, keeps_replies: bool = False, completions: Iterable[Completion] = ()
    ) -> None:
        """completions: in the order in which they count: of two for one sample the first is taken."""
        self.sampling, self.keeps_replies = sampling, keeps_replies
        self.samples: dict[str, int] = {}  # prompt hash → the samples that are there, as bits
        self.replies: dict[str, dict[int, Completion]] = {}
        for completion in completions:
            self.add(completion)

    def add(self, completion: Completion) -> bool:
        """Take a completion; whether it counts: an engine error is no answer, nor is a second one to a sample."""
        hash_, bit = completion.prompt_hash, 1 << completion.sample_index
        before = self.samples.get(hash_, 0)
        if completion.is_error or before & bit:
            return False
        self.samples[hash_] = before | bit
        if self.keeps_replies:
            self.replies.setdefault(hash_, {})[completion.sample_index] = replace(completion, rendered=None)
        return True

    def completions(self) -> Iterator[Completion]:
        """Those that are kept."""
        return (completion for of_prompt in self.replies.values() for completion in of_prompt.values())

    def has_all_of(self, prompt: Prompt) -> bool:
        """Whether every sample of a prompt is there."""
        return self.samples.get(prompt.prompt_hash, 0).bit_count() >= self.sampling.n_for(prompt)

    def replies_to(self, prompt: Prompt) -> list[Completion]:
        """In the order of their samples; none where replies are not kept."""
        of_prompt = self.replies.get(prompt.prompt_hash, {})
        return [of_prompt[index] for index in sorted(of_prompt)]
