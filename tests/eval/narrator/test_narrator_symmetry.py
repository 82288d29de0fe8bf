"""Whoever is called Me: a reply is read alike, whether it says a name, Me, you or I."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eval.narrator.answers import Answer, read_answer
from eval.narrator.judged_runs import load_narrator_run
from eval.narrator.measures import ALL, effects
from studies.narrator.prompts import ME
from tests.made.narrator_runs import fair, in_sentences, made_conversations, make_narrator_run, protector

# {0}: the speaker who is Me; {0's}: the genitive; {1}: another. The verbs go with a name as with "you" and "I".
FRAMES = [
    *("{0}", "{0}.", "**{0}**", "Answer: {0}", "The answer is {0}.", "It was {0}.", "I think it was {0}.", "{0} did."),
    *("{0} made a personal attack.", "{0} made a personal attack on {1}.", "{0} attacked {1}.", "{0} insulted {1}"),
    *("{0} called {1} an idiot.", "{0} clearly attacked {1} in the last comment.", "{0} may have attacked {1}."),
    *("The attacker is {0}.", "The personal attack was made by {0}.", "The personal attack on {1} was made by {0}."),
    *("{1} was attacked by {0}.", "{1} was insulted by {0} in the last comment.", "It was {0} who insulted {1}."),
    *("{0's} behavior was more problematic.", "{0's} behavior towards {1} was more problematic.", "{0's} behavior"),
    *("{0's} last comment was a personal attack on {1}.", "{0's} behavior was worse than {1's}."),
    *("Not {1} but {0}.", "It was not {1} but {0}.", "{0}, not {1}.", "{1} said nothing wrong. {0} attacked {1}."),
    *("{0}, because of the insults.", "{0}. {1} stayed calm.", "{0} crossed the line.", "The blame lies with {0}."),
    *("{1} made a personal attack on {0}.", "{1} attacked {0}.", "{1} called {0} an idiot.", "{1} was rude to {0}."),
    *("{1's} behavior towards {0} was more problematic.", "{1} was more problematic than {0}.", "Not {0} but {1}."),
    *("{0} said nothing wrong. {1} made a personal attack.", "{0} did not attack anyone. {1} did."),
    *("{0} and {1}", "{0}, {1}", "{0} or {1}", "Both {0} and {1} made personal attacks."),
    *("{0} attacked {1} and {1} attacked {0}.", "{0} made a personal attack. {1} made a personal attack too."),
    *("No one attacked {0}.", "{0} did not attack anyone.", "{0} never attacked {1}.", "It was not {0}.", "Not {0}."),
    *("The victim is {0}.", "Someone attacked {0}.", "A personal attack was made on {0}."),
    *("{0} asked a question.", "{0} thanked {1}.", "I cannot say whether it was {0} or {1}."),
]
ONLY_NAMES = [  # "you was" and "you: ..." are not natural
    *("{0} was rude to {1}.", "{0} is the attacker.", "{0} was attacked by {1}.", "{0} was attacked.", "{0} is rude."),
    *("{0}: I suggest merging the two sections.", "{0}: You are wrong.", "{0}: he insulted {1}.", "{0} is the victim."),
    *("{0} is the victim; {1} is the attacker", "{0} was not as rude as {1}.", "{0} has attacked {1}."),
]
GENITIVE = {"you": "your", "You": "Your", "I": "my", "me": "my", "Me": "Me's", "the narrator": "the narrator's"}
STRANGE = [
    "J. R. Smith",
    "J.delanoy",
    "Some_Name",
    "192.168.0.1",
    "Will",
    "The Rambling Man",
    "Attack Dog",
    "小明",
    "José",
]
NAMES = st.sampled_from(STRANGE) | st.from_regex(r"[A-Z][a-z]{3,8}[0-9]{0,3}", fullmatch=True)


def said(frame: str, who: str, other: str) -> str:
    """A frame with its names in it."""
    for place, name in (("0", who), ("1", other)):
        frame = frame.replace(f"{{{place}}}", name).replace(f"{{{place}'s}}", GENITIVE.get(name, f"{name}'s"))
    return frame[:1].upper() + frame[1:] if who not in frame[: len(who)] else frame


def read(reply: str, who: str, other: str) -> Answer:
    """How a reply is read; the speaker who may be Me is always called Me."""
    answer = read_answer(reply, (who, other, "Third Person"))
    return Answer(answer.state, ME) if answer.option == who else answer


@given(st.sampled_from([*FRAMES, *ONLY_NAMES]), NAMES, NAMES)
def test_a_name_is_read_as_me_is(frame, name, other):
    if name.casefold() == other.casefold():
        return
    assert read(said(frame, ME, other), ME, other) == read(said(frame, name, other), name, other)


@pytest.mark.parametrize("person", ["you", "You", "I", "me", "the narrator"])
@pytest.mark.parametrize("frame", FRAMES)
def test_you_and_i_are_read_as_me_is(frame, person):
    assert read(said(frame, person, "Bob"), ME, "Bob") == read(said(frame, ME, "Bob"), ME, "Bob")


def test_a_fair_judge_that_says_you_has_no_perspective_range(tmp_path: Path):
    conversations = made_conversations({2: 60, 3: 60})
    for name, judge in (("fair", in_sentences(fair)), ("protects", in_sentences(protector(0.5)))):
        path = make_narrator_run(
            tmp_path, judge, conversations, name=name, tasks=("identification", "blame"), visibilities=("visible",)
        )
        run = load_narrator_run(path)
        assert all(judgment.states[0] == 1.0 for judgment in run.judgments)
        prs = [measures["pr"] for setting, measures in effects(run.judgments) if setting["group"] == ALL]
        assert [pr.excludes(0) for pr in prs] == [name == "protects"] * 4
