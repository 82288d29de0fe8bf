"""The paper's subset of CGA-WIKI, or the like of CGA-CMV: the last turn is the one annotated attack (section 3.1).

Every discussion of the dump is in it, or is counted under the reason why not.
"""

import statistics
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from evenhand.files import shipped_yaml
from studies.narrator.convokit import ESCALATES, Comment, Discussion, Dump
from studies.narrator.names import shown_names
from studies.narrator.records import Conversation, Turn

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
    turns = tuple(Turn(speaker=str(comment.speaker), text=comment.text) for comment in spoken(discussion))
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


def spoken(discussion: Discussion) -> list[Comment]:
    """The comments that say something, in order."""
    return [comment for comment in discussion.comments if comment.text]


def attacks(discussion: Discussion) -> list[Comment]:
    """The comments that are marked as an attack, empty ones too."""
    return [comment for comment in discussion.comments if comment.is_attack]


# In the order in which they are looked at.
REASONS: dict[str, Callable[[Discussion], bool]] = {
    "no comment (section header alone, or nothing)": lambda d: not d.comments,
    CALM: lambda d: not attacks(d) and not d.meta.get(ESCALATES),
    "said to escalate, but no comment is marked as the attack": lambda d: not attacks(d),
    "called calm, but a comment is marked as an attack": lambda d: d.meta.get(ESCALATES) is False,
    "several attacks": lambda d: len(attacks(d)) > 1,
    "the attack has no text": lambda d: not attacks(d)[0].text,
    "a comment without author": lambda d: any(comment.speaker is None for comment in spoken(d)),
    "a comment without time, so that the order is unknown": lambda d: any(c.timestamp is None for c in spoken(d)),
    "the attack is not the last turn": lambda d: not spoken(d)[-1].is_attack,
    "one speaker only": lambda d: len({comment.speaker for comment in spoken(d)}) < 2,
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
