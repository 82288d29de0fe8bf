"""Golden prompts, and the items that they are about."""

from evenhand.records import Prompt
from studies.dialdefer.records import Item
from tests.made.places import GOLDEN

PROMPTS = GOLDEN / "prompts"

ITEM = Item(
    item_id="x-1",
    benchmark="dialdefer",
    dataset="truthfulqa",
    question="What {is} this?",  # braces, quotes: content is never read as a template
    correct_answer="A 'cat'",
    incorrect_answer="A dog",
)


CONFLICT = Item(
    item_id="abc",
    benchmark="dialdefer",
    dataset="aio",
    question="",
    correct_answer="not overreacting",  # the community's verdict on the original poster, Speaker B
    incorrect_answer="overreacting",
    context="Speaker B forgot a birthday and Speaker A is cross.",
    meta={"label": "NOR", "dialogue": "Speaker A: Really?\nSpeaker B: Sorry!"},
)


def golden(name: str) -> str:
    return (PROMPTS / f"{name}.txt").read_bytes().decode()


def text(prompt: Prompt) -> str:
    return prompt.messages[-1].content
