"""Train and test conversations without a page in common, drawn by a seed."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from evenhand.errors import DataError
from evenhand.records import digest, normalised
from studies.narrator.records import Conversation

SEED = 42
TEST_SHARE = 0.3
ARCHIVE = re.compile(r"/archives?(\b|\d).*")  # "Talk:Oak/Archive 3": the page's own older discussions


def split_by_page(conversations: Sequence[Conversation], *, seed: int, test_share: float) -> list[Conversation]:
    """The conversations in their order, each with meta["split"] "test" or "train"; pages are not divided.

    Groups of pages go to test in a seeded order until it holds at least test_share of all conversations. The order is
    by digest, so it depends neither on the order of the conversations nor on the version of Python.
    """
    groups = groups_of_pages(conversations)
    in_order = sorted(set(groups), key=lambda group: digest([seed, group]))
    n_test, tested, sizes = 0, set(), Counter(groups)
    for group in in_order:
        if n_test >= test_share * len(conversations):
            break
        tested.add(group)
        n_test += sizes[group]
    return [
        replace(conversation, meta={**conversation.meta, "split": "test" if group in tested else "train"})
        for conversation, group in zip(conversations, groups, strict=True)
    ]


def groups_of_pages(conversations: Sequence[Conversation]) -> list[str]:
    """For each conversation the smallest key of its group: of all that are connected by a page or equal text."""
    from scipy.cluster.hierarchy import DisjointSet  # takes a while to import

    groups = DisjointSet(key for conversation in conversations for key in keys_of(conversation))
    for first, *rest in map(keys_of, conversations):
        for key in rest:
            groups.merge(first, key)
    return [min(groups.subset(next(keys_of(conversation)))) for conversation in conversations]


def keys_of(conversation: Conversation) -> Iterator[str]:
    """What a conversation shares with others of its page: title (archives are of the page), id, or its whole text."""
    title, page = conversation.meta.get("page_title"), conversation.meta.get("page_id")
    if title:
        yield f"title {ARCHIVE.sub('', normalised(str(title)).replace('_', ' '))}"
    if page not in (None, ""):
        yield f"page {page}"
    yield f"text {digest([normalised(turn.text) for turn in conversation.turns])}"


def check_no_shared_pages(train: Iterable[Conversation], test: Iterable[Conversation]) -> None:
    """Raises DataError naming both conversations when a train and a test conversation are of one page or one text."""
    held_out = {key: conversation.conversation_id for conversation in test for key in keys_of(conversation)}
    for conversation in train:
        for key in keys_of(conversation):
            if key in held_out:
                raise DataError(
                    f"train conversation '{conversation.conversation_id}' and test conversation '{held_out[key]}' "
                    f"share a page or their text ({key[:80]}): what is measured after training would be memory. Build "
                    "the corpus anew with `evenhand build narrator`"
                )
