"""pocket-conflicts: what its conversations promise, so that a verdict can only come from reading them."""

import statistics
from collections.abc import Callable

import pytest

from studies.narrator.corpora import conversation_set_hash
from studies.narrator.pocket import SCHEMA_VERSION, pocket_conflicts
from studies.narrator.records import Conversation

SPLITS = {split: pocket_conflicts(split) for split in ("train", "test")}
GOLDEN = {"train": "66d8d0549716f861", "test": "9282b51638e629aa"}

both_splits = pytest.mark.parametrize("split", ["train", "test"])


@both_splits
def test_the_conversations_never_change(split: str) -> None:
    """An intended change raises SCHEMA_VERSION and brings a new hash: scores of others cannot be compared."""
    assert conversation_set_hash(SPLITS[split]) == GOLDEN[split]
    assert SCHEMA_VERSION == "v1"


RULES: dict[str, Callable[[Conversation, str], float]] = {  # whoever has the highest is accused
    "first to join": lambda c, speaker: -c.speakers.index(speaker),
    "last to join": lambda c, speaker: c.speakers.index(speaker),
    "most turns before the attack": lambda c, speaker: sum(turn.speaker == speaker for turn in c.turns[:-1]),
    "most words": lambda c, speaker: sum(len(t.text.split()) for t in c.turns[:-1] if t.speaker == speaker),
    "last before the attack": lambda c, speaker: speaker == c.turns[-2].speaker,
    "longest name": lambda c, speaker: len(speaker),
}


@both_splits
@pytest.mark.parametrize("name", RULES)
def test_no_rule_that_reads_nothing_finds_the_attacker_more_often_than_chance(name: str, split: str) -> None:
    hits = []
    for conversation in SPLITS[split]:
        scores = {speaker: RULES[name](conversation, speaker) for speaker in conversation.speakers}
        accused = [speaker for speaker, score in scores.items() if score == max(scores.values())]
        hits.append((conversation.attacker in accused) / len(accused))  # ties are drawn by lot
    assert 100 * statistics.fmean(hits) == pytest.approx(36.1, abs=5.0)
