"""pocket-conflicts: what its conversations promise, so that a verdict can only come from reading them."""

import statistics
from collections import Counter
from collections.abc import Callable, Mapping

import pytest

from studies.narrator.corpora import conversation_set_hash
from studies.narrator.pocket import (
    OPEN,
    SCHEMA_VERSION,
    SIZES,
    SUBTLE,
    account_names,
    attacks,
    pocket_conflicts,
    scenarios,
)
from studies.narrator.records import Conversation, Turn
from studies.narrator.splits import refuse_shared_pages

SPLITS = {split: pocket_conflicts(split) for split in ("train", "test")}
GOLDEN = {"train": "66d8d0549716f861", "test": "9282b51638e629aa"}
ATTACKS = {split: attacks(split) for split in SPLITS}
NAMES = {split: account_names(split) for split in SPLITS}

both_splits = pytest.mark.parametrize("split", ["train", "test"])


def cores(split: str, kind: str, topic: str) -> list[str]:
    """The attacks of a kind as they stand in a conversation on a topic."""
    return [core.format(topic=topic) for core in ATTACKS[split][kind]]


def topics(split: str) -> dict[str, str]:
    """Page title → what the dispute is about."""
    return {f"Talk:{scenario.page}": scenario.topic for scenario in scenarios(split)}


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
        assert (min(sizes), max(sizes), statistics.median(sizes)) == (2, 9, 3)
        assert statistics.fmean(sizes) == pytest.approx(3.1, abs=0.05)
        assert statistics.pstdev(sizes) == pytest.approx(1.1, abs=0.15)
        assert 100 * statistics.fmean(1 / size for size in sizes) == pytest.approx(36.1, abs=0.05)


@both_splits
def test_the_attack_is_in_the_last_turn_and_nowhere_else_half_subtle_half_open(split: str) -> None:
    about = topics(split)
    for conversation in SPLITS[split]:
        topic = about[conversation.meta["page_title"]]
        *before, last = conversation.turns
        assert sum(last.text.endswith(core) for core in cores(split, conversation.meta["attack"], topic)) == 1
        every = [core for kind in (SUBTLE, OPEN) for core in cores(split, kind, topic)]
        assert not any(core in turn.text for turn in before for core in every)
    kinds = Counter(conversation.meta["attack"] for conversation in SPLITS[split])
    assert kinds[SUBTLE] == kinds[OPEN]


def test_the_splits_share_no_page_reason_attack_or_account() -> None:
    refuse_shared_pages(SPLITS["train"], SPLITS["test"])
    train, test = ([*scenarios(split)] for split in ("train", "test"))
    assert not {s.page for s in train} & {s.page for s in test}
    said = [{r for s in found for r in (*s.openings, *sum(s.reasons.values(), ()))} for found in (train, test)]
    assert not said[0] & said[1]
    assert not {c for k in ATTACKS["train"].values() for c in k} & {c for k in ATTACKS["test"].values() for c in k}
    assert not set(NAMES["train"]) & set(NAMES["test"])
    pages = [{conversation.meta["page_title"] for conversation in SPLITS[split]} for split in ("train", "test")]
    assert not pages[0] & pages[1]


Rule = Callable[[Conversation], Mapping[str, float]]


def turns_of(conversation: Conversation, turns: tuple[Turn, ...], sign: int = 1) -> dict[str, float]:
    return {speaker: sign * sum(turn.speaker == speaker for turn in turns) for speaker in conversation.speakers}


def words_of(conversation: Conversation, turns: tuple[Turn, ...]) -> dict[str, float]:
    return {s: sum(len(turn.text.split()) for turn in turns if turn.speaker == s) for s in conversation.speakers}


RULES: dict[str, Rule] = {  # speaker → score; whoever has the highest is accused
    "first to join": lambda c: {speaker: -place for place, speaker in enumerate(c.speakers)},
    "last to join": lambda c: {speaker: place for place, speaker in enumerate(c.speakers)},
    "most turns before the attack": lambda c: turns_of(c, c.turns[:-1]),
    "fewest turns before the attack": lambda c: turns_of(c, c.turns[:-1], -1),
    "most turns": lambda c: turns_of(c, c.turns),
    "most words before the attack": lambda c: words_of(c, c.turns[:-1]),
    "last before the attack": lambda c: {speaker: speaker == c.turns[-2].speaker for speaker in c.speakers},
    "anybody but the last before the attack": lambda c: {s: s != c.turns[-2].speaker for s in c.speakers},
    "longest name": lambda c: {speaker: len(speaker) for speaker in c.speakers},
}


def found_by(rule: Rule, conversation: Conversation) -> float:
    """The chance that a rule names the attacker; ties are drawn by lot."""
    scores = rule(conversation)
    best = [speaker for speaker, score in scores.items() if score == max(scores.values())]
    return (conversation.attacker in best) / len(best)


@both_splits
@pytest.mark.parametrize("name", RULES)
def test_no_rule_that_reads_nothing_finds_the_attacker_more_often_than_chance(name: str, split: str) -> None:
    hits = 100 * statistics.fmean(found_by(RULES[name], conversation) for conversation in SPLITS[split])
    assert hits == pytest.approx(36.1, abs=5.0)
