"""How many tokens prompts take: counted while the model loads, and held against its context window."""

import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from itertools import islice

from evenhand.records import Prompt
from inference.config import InferenceConfig
from inference.drawing import drawn_as
from inference.encoding import Encoder, batches
from inference.engine import PromptsTooLong

Counts = dict[Prompt, int]  # tokens of a prompt and, where options are read, of the longest of them

# On CUDA vLLM forks: no fork while the other thread works, whose locks would stay taken in the child for ever.
_working = threading.Lock()
os.register_at_fork(before=_working.acquire, after_in_parent=_working.release, after_in_child=_working.release)
FORK_WAITS = 0.001  # seconds between two batches, in which a fork gets its turn; a lock alone is not fair


@contextmanager
def counted_meanwhile(encoder: Encoder, prompts: Sequence[Prompt]) -> Iterator[Future[Counts]]:
    """The prompts' counts, taken in a thread while the block loads the model; the result is there when it ends.

    The first batch is counted before the block: by then all is imported, which two threads had better not do at once,
    and a chat template that refuses the prompts is told before a model is loaded. Later errors are the result's.
    """
    counts: Counts = {}
    rest = batches(prompts)
    for batch in islice(rest, 1):
        counts |= count(encoder, batch)
    stop = threading.Event()

    def count_rest() -> Counts:
        for batch in rest:
            with _working:
                counts.update(count(encoder, batch))
            if stop.wait(FORK_WAITS):
                break
        return counts

    with ThreadPoolExecutor(max_workers=1) as pool:
        counting = pool.submit(count_rest)
        try:
            yield counting
            wait([counting])
        finally:
            stop.set()  # a model that cannot be loaded, or Ctrl-C: nobody waits for the rest


def count(encoder: Encoder, prompts: Sequence[Prompt]) -> Counts:
    """The prompts' counts; nothing else is kept of what they were encoded to."""
    return {one.prompt: one.n_tokens for one in encoder.encode(prompts)}


def answer_room(prompt: Prompt, config: InferenceConfig) -> int:
    """Tokens of the context window that a prompt's answer may take beside what is counted with the prompt."""
    return {"margin": 1, "options": 0}.get(config.verdict, drawn_as(prompt, config.sampling).max_tokens)


def fitting_counts(encoder: Encoder, prompts: Sequence[Prompt], window: int, known: Mapping[Prompt, int]) -> Counts:
    """The prompts' counts, of which some may be known already.

    Raises PromptsTooLong when prompts and their answers do not fit the window (tokens).
    """
    counts = {**known, **count(encoder, [prompt for prompt in prompts if prompt not in known])}
    needed = {prompt: counts[prompt] + answer_room(prompt, encoder.config) for prompt in prompts}
    too_long = {prompt: n for prompt, n in needed.items() if n > window}
    if too_long:
        (worst,) = encoder.encode_batch([max(too_long, key=lambda prompt: too_long[prompt])])
        size, answer = len(worst.token_ids), answer_room(worst.prompt, encoder.config)
        raise PromptsTooLong(
            f"{len(too_long)} of {len(prompts)} prompts do not fit the context window of {window} tokens; the longest "
            f"is {worst.prompt.item_id} ({worst.prompt.condition}): {size} + {worst.n_tokens - size + answer} for the "
            "answer. Raise engine.max_model_len if the model allows it, lower sampling.max_tokens, or leave the "
            "dataset out",
            {prompt: f"{n} tokens with the answer, window {window}" for prompt, n in too_long.items()},
        )
    return counts
