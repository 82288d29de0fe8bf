"""What a judge thinks before it replies is no part of its reply."""

import re
from dataclasses import replace

from evenhand.records import Completion

TAG = r"(?i:think|thinking|thought)[>\]]"
HARMONY = re.compile(r"\Aanalysis.*?assistant(?:commentary.*?assistant)?final", re.DOTALL)  # gpt-oss without its tokens
THOUGHT = re.compile(rf"[<\[]{TAG}.*?(?:[<\[]/{TAG}|\Z)", re.DOTALL)
# Some chat templates open the thinking in the prompt. Before a word in lower case it is a mention: "the </think> tag".
LONE_END = re.compile(rf"[<\[]/{TAG}(?![ \t]+[a-z])")


def without_thinking(text: str) -> str:
    """A reply's text without thoughts (appendix A.3): those that stand in it, and what is before an end alone.

    Nothing is left of a thought that does not end.
    """
    return LONE_END.split(THOUGHT.sub("", HARMONY.sub("", text)))[-1]


def thought_apart(reply: Completion) -> Completion:
    """A reply whose text is what stands behind its thought; one whose thought does not end, or ends it, as it is."""
    said = without_thinking(reply.text)
    if said == reply.text or not said.strip() or not reply.text.endswith(said):
        return reply
    thought = reply.text.removesuffix(said.lstrip())  # behind what a server has kept apart
    return replace(reply, thought=f"{reply.thought}\n{thought}" if reply.thought else thought, text=said.lstrip())


def is_tagged(thought: str) -> bool:
    """Whether a thought stands in its tags, as its judge writes it: a server's parser takes them away."""
    return bool(re.search(LONE_END.pattern + r"\s*\Z", thought)) and not without_thinking(thought).strip()
