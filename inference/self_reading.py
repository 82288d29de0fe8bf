"""The judge reads itself: behind each written reply a further turn asks for the symbol of its answer alone.

What it would say there is read as exact probabilities of the options; a server is held to a schema of them. The turns
stand in the plan beside the replies that they are about; `inference.patch` lays them over a study's units.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from evenhand.records import Completion, Message, Prompt, SamplingOverride, answer_schema


def turns_about(prompt: Prompt, replies: Sequence[Completion], question: str | None) -> Iterator[Prompt]:
    """What is asked behind each reply to a prompt that says anything. question: see StudySection.symbol_question."""
    for reply in replies if question else ():
        if text := reply.text.strip():
            messages = (Message(role="assistant", content=text), Message(role="user", content=str(question)))
            yield replace(
                prompt,
                messages=(*prompt.messages, *messages),
                drawing=SamplingOverride(temperature=0.0, n=1, json_schema=answer_schema(prompt.answer_space)),
                reads=(prompt.prompt_hash, reply.sample_index),
            )
