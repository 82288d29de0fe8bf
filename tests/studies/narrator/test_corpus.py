"""The paper's subset, every discussion accounted for; splits without a common page; corpora as a config names them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenhand.errors import DataError
from studies.narrator.convokit import find_dump, read_dump
from studies.narrator.corpus import (
    REASONS,
    CorpusSpec,
    check_no_shared_pages,
    conversation_set_hash,
    facts_of,
    load_conversations,
    split_by_page,
    subset,
)
from studies.narrator.names import RENAMED
from studies.narrator.records import Conversation, Turn
from tests.made.convokit_dump import QUARREL, facts, talk, write_dump
from tests.made.places import cases


def read(folder, **talks):
    """What is read of these conversations, each utterances and meta."""
    rows = [row for found, _ in talks.values() for row in found]
    return read_dump(find_dump(write_dump(folder, rows, {key: meta for key, (_, meta) in talks.items()})))


def two_turns(attack=-1, **last):
    """Ann's turn and Ben's, whose utterance has these fields."""
    *rows, ending = talk("k", ("Ann", "a"), ("Ben", "b"), attack=attack)
    return [*rows, {**ending, **last}]


DROPPED = cases(__file__)


@pytest.mark.parametrize("reason", REASONS)
def test_a_discussion_is_dropped_for_its_reason(reason, tmp_path):
    of = DROPPED[reason]
    rows = two_turns(of.get("place", -1), **of.get("last", {}))[: of.get("n_rows")]
    talks = {"k": (rows, facts(attack=of["meta"])), "q": (talk("q", ("A", "a"), ("B", "b")), facts())}
    kept, dropped = subset(read(tmp_path, **talks))
    assert dropped == {reason: 1}
    assert [conversation.conversation_id for conversation in kept] == ["cga-wiki-q"]


def test_what_is_kept_ends_in_its_attack_and_loses_only_what_says_nothing(tmp_path):
    rows = talk(
        "q.1", ("Me", "First."), ("Ann", "  \n "), ("Ben", " Second. "), ("Ann", "Third!"), ("Ben", ""), attack=3
    )
    [found], dropped = subset(read(tmp_path, **{"q.1": (rows, facts("Talk:Oak", 7, annotation_year="2018"))}))
    assert not dropped
    assert [turn.text for turn in found.turns] == ["First.", "Second.", "Third!"]
    assert (found.attacker, found.attacker_is_unseen, found.speakers) == ("Ann", True, ("Me", "Ben", "Ann"))
    assert found.names == {"Me": RENAMED, "Ben": "Ben", "Ann": "Ann"}
    assert found.meta == {"page_title": "Talk:Oak", "page_id": 7, "annotation_year": "2018", "source_split": "val"}


def test_the_facts_are_section_3_1s(tmp_path):
    three = talk("t", ("A", "a"), ("B", "b"), ("C", "c"))
    dump = read(tmp_path, q=(QUARREL, facts()), t=(three, facts()), c=(talk("c", ("A", "a")), facts(attack=False)))
    found = facts_of(subset(dump)[0], dump.discussions)
    assert found.pop("baseline") == pytest.approx(100 * (1 / 2 + 1 / 3) / 2)
    assert list(found.values()) == [3, 2, 2, 2, 3, 2.5, 2.5, 0.5]


def conversation(key, page, page_id=None, text=""):
    turns = (Turn(speaker="A", text=text or key), Turn(speaker="B", text="x"))
    meta = {"page_title": page, "page_id": page_id}
    return Conversation(conversation_id=key, dataset="cga-wiki", turns=turns, names={"A": "A", "B": "B"}, meta=meta)


def split(conversations, seed=42, share=0.3):
    done = split_by_page(conversations, seed=seed, test_share=share)
    return {one.conversation_id: one.meta["split"] for one in done}


PAGES = st.sampled_from([None, "", "Talk:Oak", "Talk:Oak/Archive 3", "talk:oak/Archives/2", "Talk:Oaks", "Talk:Elm"])
MADE = st.lists(st.tuples(PAGES, st.none() | st.integers(1, 4), st.sampled_from("abcd")), min_size=1, max_size=12)


@given(MADE, st.integers(0, 3), st.floats(0, 1))
def test_no_page_and_no_text_is_on_both_sides(rows, seed, share):
    made = [conversation(str(number), *row) for number, row in enumerate(rows)]
    done = split_by_page(made, seed=seed, test_share=share)
    train, test = ([one for one in done if one.meta["split"] == name] for name in ("train", "test"))
    check_no_shared_pages(train, test)
    assert [one.conversation_id for one in done] == [one.conversation_id for one in made]
    assert len(test) >= share * len(made)
    assert split(made, seed, share) == split(made[::-1], seed, share)


def test_a_seed_draws_pages_until_there_are_enough():
    made = [conversation(f"{page}.{n}", f"Talk:{page}", page) for page in range(40) for n in range(3)]
    assert list(split(made).values()).count("test") == 36  # 30 % of 120
    assert split(made) != split(made, seed=43)


def ids(**spec):
    found = load_conversations(CorpusSpec(dataset="pocket-conflicts", **spec))
    return [conversation.conversation_id for conversation in found]


@pytest.mark.parametrize(("split", "known"), [("train", "66d8d0549716f861"), ("test", "9282b51638e629aa")])
def test_our_own_conflicts_never_change(split, known):
    assert conversation_set_hash(load_conversations(CorpusSpec(dataset="pocket-conflicts", split=split))) == known


def test_a_spec_takes_a_split_or_the_first_n():
    test = ids()
    assert test == ids(split="test") == [f"pocket-conflicts-test-{n}" for n in range(120)]
    assert ids(split="all") == ids(split="train") + test
    assert ids(n_conversations=7) == test[:7]
    with pytest.raises(DataError, match="n_conversations is 121, but there are 120"):
        ids(n_conversations=121)
