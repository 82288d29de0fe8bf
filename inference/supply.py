"""What an engine that tokenises here is fed with: prompts in batches, and those that its own replies lead to."""

from collections import deque
from collections.abc import Sequence

from evenhand.records import Prompt
from inference.config import InferenceConfig
from inference.encoding import BATCH, Encoded, Encoder
from inference.engine import Further, PromptsTooLong


class Supply:
    """Encoded prompts on demand, none that does not fit the context window."""

    def __init__(self, encoder: Encoder, prompts: Sequence[Prompt], further: Further, window: int) -> None:
        """window: tokens of a prompt and its answer."""
        self.encoder, self.further, self.window = encoder, further, window
        self.waiting = deque(prompts)
        self.too_long: dict[Prompt, str] = {}

    def take(self, at_most: int = BATCH) -> list[Encoded]:
        """The next prompts, at most so many and at most BATCH; none where there are none for now."""
        found: list[Encoded] = []
        while not found:
            self.waiting.extend(self.further())
            batch = [self.waiting.popleft() for _ in range(min(at_most, BATCH, len(self.waiting)))]
            if not batch:
                return []
            for one in self.encoder.encode_batch(batch):
                needed = one.n_tokens + answer_room(one.prompt, self.encoder.config)
                if needed > self.window:
                    self.too_long[one.prompt] = f"{needed} tokens with the answer, window {self.window}"
                else:
                    found.append(one)
        return found

    def refuse_too_long(self) -> None:
        """Raises PromptsTooLong when a prompt was passed over."""
        if self.too_long:
            first = next(iter(self.too_long))
            raise PromptsTooLong(
                f"{len(self.too_long)} prompts do not fit the context window of {self.window} tokens, the first of "
                f"them of {first.item_id} ({first.condition}): {self.too_long[first]}. The others are answered. Raise "
                "engine.max_model_len if the model allows it, lower sampling.max_tokens, or leave the dataset out",
                self.too_long,
            )


def answer_room(prompt: Prompt, config: InferenceConfig) -> int:
    """Tokens of the context window that a prompt's answer may take beside what is counted with the prompt."""
    return {"margin": 1, "options": 0}.get(config.verdict, config.sampling.for_prompt(prompt).max_tokens)
