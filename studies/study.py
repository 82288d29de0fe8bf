"""What a study other than DialDefer brings to be sampled: a config section that plans its own prompts.

`inference` knows the section's key and this interface, and nothing else of the study. What it gives back are a plan
whose lines hold each prompt's factors and answer space, and completions; `eval` knows what they mean.
"""

from typing import ClassVar, Protocol, Self

from evenhand.records import Prompt


class Study(Protocol):
    """A section of a sampling config, beside `benchmarks`."""

    key: ClassVar[str]  # the config's key for it
    verdicts: ClassVar[tuple[str, ...]]  # ways to get a verdict that make sense for its prompts

    def plan(self) -> tuple[list[Prompt], str]:
        """Every prompt in a stable order, item by item, and a digest of the items that they were made of.

        All prompts with one item_id are asked in one shard, and left out together when one of them does not fit the
        model's context window. Raises DataError when the data are absent or damaged.
        """
        ...

    def on_own_items(self) -> Self:
        """The same section over one item of ours, which is always there: what doctor renders without data."""
        ...
