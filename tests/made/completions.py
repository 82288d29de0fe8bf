"""Completions of no prompt in particular, and of all prompts of a unit."""

from evenhand.records import Completion


def completion(text="", finish_reason="stop", prompt_hash="h", **fields):
    """A first sample with this text; fields: others of Completion."""
    return Completion(prompt_hash=prompt_hash, sample_index=0, text=text, finish_reason=finish_reason, **fields)


def asked_by(unit, reply, replies=None):
    """What a unit asks, prompt by prompt, when it gets these replies; `replies` takes them."""
    replies = {} if replies is None else replies
    while prompts := unit.next_prompts(replies):
        for prompt in prompts:
            replies[prompt.prompt_hash] = [completion(reply(prompt), prompt_hash=prompt.prompt_hash)]
            yield prompt
