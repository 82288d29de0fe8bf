"""A unit that is written as a generator."""

import pytest

from studies.pluraleval.stepwise import Stepwise
from tests.made.completions import completion
from tests.made.toy_prompts import toy_prompt as prompt


def reply(to, text):
    return {to.prompt_hash: [completion(text, prompt_hash=to.prompt_hash)]}


def story():
    """Asks three things at once, then one that quotes the first, then the first again; says what was said."""
    first = [prompt("one"), prompt("two"), prompt("one")]
    replies = yield first
    second = prompt(f"after {replies[first[0].prompt_hash][0].text}")
    yield []
    replies = yield [second]
    replies = yield [prompt("one")]
    return [replies[one.prompt_hash][0].text for one in (*first[:2], second)]


def texts(prompts):
    return [one.messages[0].content for one in prompts]


def test_it_goes_on_when_a_steps_prompts_are_all_answered_and_asks_nothing_twice():
    unit = Stepwise("u", story)
    assert texts(unit.next_prompts({})) == ["one", "two"]
    some = reply(prompt("one"), "1")
    assert texts(unit.next_prompts(some)) == ["two"]
    with pytest.raises(LookupError, match="1 prompts of its next step have no reply"):
        unit.result(some)
    more = some | reply(prompt("two"), "2")
    assert texts(unit.next_prompts(more)) == ["after 1"]
    whole = more | reply(prompt("after 1"), "3")
    assert unit.next_prompts(whole) == ()
    assert unit.result(whole) == ["1", "2", "3"]
    assert texts(unit.next_prompts({})) == ["one", "two"], "with fewer replies it stands where it stood"
    other = whole | reply(prompt("one"), "x")
    assert texts(unit.next_prompts(other)) == ["after x"], "with other replies it goes another way"
    assert Stepwise("u", story).result(whole) == unit.result(whole)
