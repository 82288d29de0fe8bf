"""Corpora of conflicts: the paper's subset of CGA-WIKI, or the like of CGA-CMV, where the last turn is the one
annotated attack (section 3.1); its split by page; and how a config asks for one.

Every discussion of a dump is in the subset, or is counted under the reason why not.
"""

import re
import statistics
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from itertools import accumulate
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, TypeAdapter

from evenhand.config import Closed
from evenhand.errors import ConfigError, DataError
from evenhand.files import read_jsonl, shipped_yaml
from evenhand.records import digest, normalised
from evenhand.study import check_no_repeats
from studies.built_folder import read_manifest, read_rows
from studies.item_files import enough
from studies.narrator.convokit import ESCALATES, Discussion, Dump
from studies.narrator.names import shown_names
from studies.narrator.records import BENCHMARK, Conversation, Turn
from studies.units import set_hash

CONVERSATIONS_FILE = "conversations.jsonl"
# Our own quarrels on talk pages; docs/narrator.md says how they were made. They never change, or scores of others could
# not be compared.
POCKET: Literal["pocket-conflicts"] = "pocket-conflicts"
POCKET_FILE = Path(__file__).with_name("pocket_conflicts.jsonl")
CONVERSATION = TypeAdapter(Conversation)
ARCHIVE = re.compile(r"/archives?(\b|\d).*")  # "Talk:Oak/Archive 3": the page's own older discussions
CALM = "calm counterpart"


def subset(dump: Dump) -> tuple[list[Conversation], Counter[str]]:
    """The conversations of the study in the dump's order, and how many discussions were dropped for what."""
    kept, dropped = [], Counter[str]()
    for discussion in dump.discussions:
        # The first of REASONS that holds, if any does.
        if reason := next((reason for reason, holds in REASONS.items() if holds(discussion)), ""):
            dropped[reason] += 1
        else:
            kept.append(conversation_of(discussion, dump.names, dump.dataset))
    return kept, dropped


def conversation_of(discussion: Discussion, names: Mapping[str, str], dataset: str) -> Conversation:
    """A discussion of the study as the record that the prompts are made of. The dataset's own split is source_split."""
    turns = tuple(Turn(speaker=str(comment.speaker), text=comment.text) for comment in discussion.turns)
    meta = {key: value for key, value in discussion.meta.items() if key not in ("split", ESCALATES)}
    if "split" in discussion.meta:
        meta["source_split"] = discussion.meta["split"]
    return Conversation(
        conversation_id=f"{dataset}-{discussion.discussion_id}",
        dataset=dataset,
        turns=turns,
        names=shown_names({turn.speaker: names[turn.speaker] for turn in turns}),
        meta=meta,
    )


# In the order in which they are looked at.
REASONS: dict[str, Callable[[Discussion], bool]] = {
    "no comment (section header alone, or nothing)": lambda d: not d.comments,
    CALM: lambda d: not d.attacks and not d.meta.get(ESCALATES),
    "said to escalate, but no comment is marked as the attack": lambda d: not d.attacks,
    "called calm, but a comment is marked as an attack": lambda d: d.meta.get(ESCALATES) is False,
    "several attacks": lambda d: len(d.attacks) > 1,
    "the attack has no text": lambda d: not d.attacks[0].text,
    "a comment without author": lambda d: any(comment.speaker is None for comment in d.turns),
    "a comment without time, so that the order is unknown": lambda d: any(c.timestamp is None for c in d.turns),
    "the attack is not the last turn": lambda d: not d.turns[-1].is_attack,
    "one speaker only": lambda d: len({comment.speaker for comment in d.turns}) < 2,
}


FACTS: Mapping[str, Mapping[str, Any]] = shipped_yaml(Path(__file__).with_name("facts.yaml"))


def facts_of(conversations: Sequence[Conversation], discussions: Sequence[Discussion]) -> dict[str, float]:
    """FACTS of the conversations at hand, of which there are some, and of the dump they are from."""
    sizes = [len(conversation.speakers) for conversation in conversations]
    return {
        "n_conversations": len(discussions),
        "n_escalating": sum(bool(d.meta.get(ESCALATES)) for d in discussions),
        "n_subset": len(sizes),
        "fewest_speakers": min(sizes),
        "most_speakers": max(sizes),
        "mean_speakers": statistics.fmean(sizes),
        "median_speakers": float(statistics.median(sizes)),
        "sd_speakers": statistics.pstdev(sizes),
        "baseline": 100 * statistics.fmean(1 / size for size in sizes),
    }


def split_by_page(conversations: Sequence[Conversation], *, seed: int, test_share: float) -> list[Conversation]:
    """The conversations in their order, each with meta["split"] "test" or "train"; pages are not divided.

    Groups of pages go to test in a seeded order until it holds at least test_share of all conversations. The order is
    by digest, so it depends neither on the order of the conversations nor on the version of Python.
    """
    groups = groups_of_pages(conversations)
    sizes = Counter(groups)
    in_order = sorted(sizes, key=lambda group: digest([seed, group]))
    n_before = accumulate((sizes[group] for group in in_order), initial=0)
    n_wanted = test_share * len(conversations)
    tested = {group for group, n in zip(in_order, n_before, strict=False) if n < n_wanted}
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


class CorpusSpec(Closed):
    """One corpus as a config names it."""

    dataset: Literal["cga-wiki", "cga-cmv", "pocket-conflicts"]  # the last is our own
    split: Literal["test", "train", "all"] = "test"  # no page is in both
    root: Path | None = None  # what `evenhand build narrator` made; null for `pocket-conflicts`
    n_conversations: int | None = Field(default=None, ge=1)  # the first n, in the corpus's order; null is all


def of_split(spec: CorpusSpec) -> list[Conversation]:
    """The conversations of the split that a spec names: our own, or those of a built folder."""
    make = CONVERSATION.validate_python
    if spec.dataset == POCKET:
        conversations: Iterable[Conversation] = (make(row) for _, row in read_jsonl(POCKET_FILE))
    elif spec.root is None:
        raise ConfigError(f"{spec.dataset}: set `root` to a folder made by `evenhand build narrator`")
    elif (source := read_manifest(spec.root, BENCHMARK, CONVERSATIONS_FILE)["dataset"]) != spec.dataset:
        raise DataError(f"{spec.root}: was built of {source}, wanted is {spec.dataset}; set `root` to another folder")
    else:
        conversations = read_rows(spec.root, BENCHMARK, CONVERSATIONS_FILE, make)
    return [c for c in conversations if spec.split in ("all", c.meta["split"])]


def load_conversations(spec: CorpusSpec) -> list[Conversation]:
    """The conversations that a spec asks for. Raises DataError for none, too few of them, or a repeated id."""
    n_wanted, where = spec.n_conversations, f"{spec.dataset} ({spec.split})"
    conversations = enough(of_split(spec), n_wanted, where, spec.root, "n_conversations")
    check_no_repeats((conversation.conversation_id for conversation in conversations), spec.dataset)
    return conversations[:n_wanted]


def conversation_set_hash(conversations: Iterable[Conversation]) -> str:
    """The hash of some conversations; see evenhand.study."""
    return set_hash(map(asdict, conversations))
