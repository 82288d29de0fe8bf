"""The order in which prompts are asked."""

from collections.abc import Sequence

from evenhand.records import Prompt


def in_prefix_order(prompts: Sequence[Prompt]) -> list[Prompt]:
    """The prompts so that neighbours share the longest beginnings, for engines that keep what they have computed.

    The order of their texts: it visits every shared beginning once, and depends on nothing but the prompts themselves.
    """
    return sorted(prompts, key=lambda prompt: [(message.role, message.content) for message in prompt.messages])
