"""What the prompts of a finished run say, for its browser of items."""

from collections.abc import Set
from contextlib import suppress

from eval.runs import FinishedRun
from evenhand.completions import Answers, every_completion
from evenhand.errors import EvenhandError
from inference.config import parse_sampling_config
from inference.schedule import replayed


def prompt_texts(run: FinishedRun, hashes: Set[str]) -> dict[str, str]:
    """Prompt hash → what the model read.

    Where a server rendered it unseen: its messages, made again from the items, if these are as they were.
    """
    texts = dict[str, str]()
    for completion in every_completion(run.path):
        if completion.prompt_hash in hashes and completion.rendered is not None:
            texts.setdefault(completion.prompt_hash, completion.rendered)
    if hashes <= texts.keys():
        return texts
    with suppress(EvenhandError):  # the data are gone, or others
        config = parse_sampling_config(dict(run.config), str(run.path))
        asked = config.units()
        answers = Answers(keeps_replies=asked.plan_grows).read(run.path)
        for prompt in (prompt for unit in replayed(asked.units, answers, config.sampling) for prompt in unit.planned):
            if prompt.prompt_hash in hashes:
                chat = (f"{message.role}: {message.content}" for message in prompt.messages)
                texts.setdefault(prompt.prompt_hash, "\n\n".join(chat))
    return texts
