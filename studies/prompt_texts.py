"""What the prompts of a finished run say, for its browser of items."""

from collections.abc import Sequence, Set
from contextlib import suppress

from eval.runs import FinishedRun
from evenhand.completions import rendered_prompts
from evenhand.errors import EvenhandError
from evenhand.records import Completion
from inference.config import parse_sampling_config


def prompt_texts(run: FinishedRun, hashes: Set[str]) -> dict[str, str]:
    """Prompt hash → what the model read.

    Where a server rendered it unseen: its messages, made again from the items, if these are as they were.
    """
    texts = rendered_prompts(run.path, hashes)
    if hashes <= texts.keys():
        return texts
    with suppress(EvenhandError):  # the data are gone, or others
        for unit in parse_sampling_config(dict(run.config), str(run.path)).units().units:
            replies = dict[str, Sequence[Completion]]()
            while replies.keys() <= run.replies.keys() and (prompts := unit.next_prompts(replies)):
                for prompt in prompts:
                    if prompt.prompt_hash in hashes:
                        chat = (f"{message.role}: {message.content}" for message in prompt.messages)
                        texts.setdefault(prompt.prompt_hash, "\n\n".join(chat))
                replies |= {prompt.prompt_hash: run.replies.get(prompt.prompt_hash, ()) for prompt in prompts}
    return texts
