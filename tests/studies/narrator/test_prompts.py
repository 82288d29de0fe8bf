"""The narrator study's prompts: the appendix to the letter, and what a change of narrator may change in a prompt."""

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from studies.narrator.names import shown_names
from studies.narrator.prompts import ME, narrator_prompt, narrator_prompts
from studies.narrator.records import OPTION_ORDERS, Conversation, Turn
from tests.made.places import SHARED

PAPER_TEXT = SHARED / "papers" / "narrator.txt"
PERSPECTIVES = {  # section → who is called Me, visibility
    "A.1": ("", "visible"),
    "A.2": ("Jros83", "visible"),
    "A.3": ("Joshuaingram", "visible"),
    "A.4": ("", "hidden"),
}


def appendix(section):
    """A section's prompt. Its bold marks are typography."""
    if not PAPER_TEXT.exists():
        pytest.skip(f"{PAPER_TEXT} is not at hand; no conversation of the paper's is kept here")
    part = PAPER_TEXT.read_text(encoding="utf-8").split(f"### {section} ")[1]
    found = re.search(r"\*\*Here is a conversation:\*\*.*?\*\*Answer:\*\*", part, re.DOTALL)
    assert found
    return found.group().replace("**", "")


@pytest.mark.parametrize("section", PERSPECTIVES)
def test_the_appendix_comes_out_to_the_letter(section):
    body = appendix("A.1").split("conversation:\n\n")[1].split("\n\nQuestion")[0]
    turns = tuple(Turn(speaker=name, text=text) for name, text in re.findall(r"^(\w+): (.+)$", body, re.MULTILINE))
    conversation = Conversation(
        conversation_id="a", dataset="cga-wiki", turns=turns, names={turn.speaker: turn.speaker for turn in turns}
    )
    narrator, visibility = PERSPECTIVES[section]
    order = ["Jros83", "Joshuaingram"]  # as the appendix lists them
    prompt = narrator_prompt(conversation, order, ("blame", visibility, narrator, "published"))
    assert [(message.role, message.content) for message in prompt.messages] == [("user", appendix(section))]
    assert prompt.factors.target == ("Me" if section == "A.3" else "Joshuaingram")


NAMES = st.lists(
    st.sampled_from(["Ann", "Yes", "No", "Me", "me", "🦊", "עמית", "أمل", "Ann", "Annabel", "Me Too", "O'Neil, Jr."]),
    min_size=2,
    max_size=6,
)


def quarrel(raw):
    """Everybody says one thing, under the names shown for these; the last one attacks."""
    names = shown_names({f"u{n}": name for n, name in enumerate(raw)})
    turns = tuple(Turn(speaker=f"u{n}", text=f"Me, said {name}: {n}") for n, name in enumerate(raw))
    return Conversation(conversation_id=" ".join(raw), dataset="made", turns=turns, names=names)


@given(NAMES)
def test_only_a_name_becomes_me_in_labels_and_options(raw):
    conversation = quarrel(raw)
    prompts = {
        (p.factors.task, p.factors.visibility, p.factors.option_order, p.factors.narrator): p
        for p in narrator_prompts(conversation)
    }
    assert len(prompts) == 3 * 2 * 2 * (1 + len(raw))
    for (task, visibility, order, narrator), prompt in prompts.items():
        neutral = prompts[task, visibility, order, ""]
        assert len(set(prompt.answer_space)) == len(prompt.answer_space)
        schema = json.loads(prompt.drawing.json_schema or "")
        assert schema["properties"] == {"answer": {"type": "string", "enum": [*prompt.answer_space]}}
        if not narrator:
            assert ME not in prompt.answer_space
            continue
        name = conversation.names[narrator]
        lines, before = (p.messages[0].content.split("\n\n") for p in (prompt, neutral))
        changed = {(old, new) for old, new in zip(before[1:-3], lines[1:-3], strict=True) if old != new}
        assert changed <= {
            (f"{name}: {turn.text}", f"{ME}: {turn.text}") for turn in conversation.turns if turn.speaker == narrator
        }
        assert bool(changed) == (visibility == "visible" or narrator != conversation.attacker)
        if task == "detection":
            assert prompt.answer_space == ("Yes", "No")
            continue
        others = [option for option in neutral.answer_space if option != name]
        if order == "published":
            assert list(prompt.answer_space) == [*others, ME]
        else:
            assert [name if option == ME else option for option in prompt.answer_space] == list(neutral.answer_space)
        attacks = narrator == conversation.attacker
        assert prompt.factors.target == (ME if attacks else conversation.names[conversation.attacker])
        assert lines[-2] == "Options: " + ", ".join(prompt.answer_space)


def test_the_names_order_is_drawn_once_per_conversation_and_seed():
    conversations = [quarrel(["Ann", "Ben", "Cem", "Dee", f"E{n}"]) for n in range(40)]
    first, second, planned = (
        [next(narrator_prompts(c, tasks=["blame"], seed=seed)).answer_space for c in conversations]
        for seed in (1, 2, 42)
    )
    assert planned[0] == ("Cem", "Ben", "Dee", "Ann", "E0"), "runs would be planned anew"
    assert len({tuple(name[0] for name in names) for names in first}) > 10
    assert first != second


def test_an_attacker_who_says_nothing_else_stays_an_option_and_is_flagged_where_hidden():
    unseen = quarrel(["Ann", "Ben"])
    seen = Conversation(
        conversation_id="s", dataset="made", names=unseen.names, turns=(*unseen.turns[::-1], *unseen.turns[:1])
    )
    for conversation, flag in ((unseen, True), (seen, False)):
        for prompt in narrator_prompts(conversation, tasks=["blame"], option_orders=OPTION_ORDERS[:1]):
            assert len(prompt.answer_space) == 2
            assert prompt.factors.target in prompt.answer_space
            assert prompt.factors.attacker_is_unseen == (flag and prompt.factors.visibility == "hidden")
