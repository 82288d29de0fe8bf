"""pocket-conflicts: what its conversations promise, so that a verdict can only come from reading them."""

import statistics
from collections import Counter
from collections.abc import Callable

import pytest

from studies.narrator.corpora import conversation_set_hash
from studies.narrator.pocket import OPEN, SCHEMA_VERSION, SIZES, SUBTLE, pocket_conflicts, scenarios, shipped
from studies.narrator.records import Conversation
from studies.narrator.splits import refuse_shared_pages

SPLITS = {split: pocket_conflicts(split) for split in ("train", "test")}
GOLDEN = {"train": "66d8d0549716f861", "test": "9282b51638e629aa"}

both_splits = pytest.mark.parametrize("split", ["train", "test"])


@both_splits
def test_the_conversations_never_change(split: str) -> None:
    """An intended change raises SCHEMA_VERSION and brings a new hash: scores of others cannot be compared."""
    assert conversation_set_hash(SPLITS[split]) == GOLDEN[split]
    assert SCHEMA_VERSION == "v1"


@both_splits
def test_sizes_are_near_the_papers_in_each_120(split: str) -> None:
    for start in range(0, len(SPLITS[split]), 120):
        sizes = [len(conversation.speakers) for conversation in SPLITS[split][start : start + 120]]
        assert Counter(sizes) == SIZES
        assert (statistics.median(sizes), statistics.fmean(sizes)) == (3, pytest.approx(3.1, abs=0.05))
        assert statistics.pstdev(sizes) == pytest.approx(1.1, abs=0.15)
        assert 100 * statistics.fmean(1 / size for size in sizes) == pytest.approx(36.1, abs=0.05)


@both_splits
def test_the_attack_is_in_the_last_turn_and_nowhere_else_half_subtle_half_open(split: str) -> None:
    topics = {f"Talk:{scenario.page}": scenario.topic for scenario in scenarios(split)}
    for conversation in SPLITS[split]:
        topic = topics[conversation.meta["page_title"]]
        attacks = {kind: [a.format(topic=topic) for a in shipped("attacks")[split][kind]] for kind in (SUBTLE, OPEN)}
        *before, last = conversation.turns
        assert sum(last.text.endswith(attack) for attack in attacks[conversation.meta["attack"]]) == 1
        assert not any(attack in turn.text for turn in before for kind in attacks.values() for attack in kind)
    kinds = Counter(conversation.meta["attack"] for conversation in SPLITS[split])
    assert kinds[SUBTLE] == kinds[OPEN]


def test_the_splits_share_no_page_reason_attack_or_account() -> None:
    refuse_shared_pages(SPLITS["train"], SPLITS["test"])
    lines = {
        split: {
            *(line for s in scenarios(split) for line in (s.page, *s.openings, *sum(s.reasons.values(), ()))),
            *(attack for kind in shipped("attacks")[split].values() for attack in kind),
            *shipped("accounts")[split],
        }
        for split in SPLITS
    }
    assert not lines["train"] & lines["test"]


RULES: dict[str, Callable[[Conversation, str], float]] = {  # whoever has the highest is accused
    "first to join": lambda c, speaker: -c.speakers.index(speaker),
    "last to join": lambda c, speaker: c.speakers.index(speaker),
    "most turns before the attack": lambda c, speaker: sum(turn.speaker == speaker for turn in c.turns[:-1]),
    "fewest turns before the attack": lambda c, speaker: -sum(turn.speaker == speaker for turn in c.turns[:-1]),
    "most turns": lambda c, speaker: sum(turn.speaker == speaker for turn in c.turns),
    "most words": lambda c, speaker: sum(len(t.text.split()) for t in c.turns[:-1] if t.speaker == speaker),
    "last before the attack": lambda c, speaker: speaker == c.turns[-2].speaker,
    "anybody but the last before the attack": lambda c, speaker: speaker != c.turns[-2].speaker,
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
