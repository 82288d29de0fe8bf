"""Prompts 1 to 9 come out as the paper prints them, byte for byte."""

import re

import pytest

from evenhand.records import Message, digest
from studies.pluraleval.prompts import ask, numbered, snippets
from tests.made.places import SHARED

PAPER = SHARED / "papers" / "pluraleval.txt"
POST = "{POST TEXT}"
TWO, THREE = ([f"{{SUMMARY {k}}}" for k in range(1, n + 1)] for n in (2, 3))
LESS, LEAST = (f"{{PERSONAL BELIEF FROM {which} POPULAR CLUSTER}}" for which in ("LESS", "LEAST"))
RANKED = {"post": POST, "summaries": numbered(THREE), "n": 3}
MADE = {
    1: ask("generation", post=POST),
    2: ask("biased_generation", post=POST, belief="{PERSONAL BELIEF - TOWARD}"),
    3: ask("biased_generation", post=POST, belief="{PERSONAL BELIEF - OPPOSING}"),
    4: ask("pairwise", post=POST, summaries=numbered(TWO)),
    5: ask("biased_pairwise", post=POST, summaries=numbered(TWO, "\n"), belief=LESS),
    6: ask("ranking", **RANKED),
    7: ask("biased_ranking", belief=LEAST, **RANKED),
    8: ask("clustering", snippets=snippets([f"opinion text {n}" for n in (1, 2, 3)])),
    9: ask("summarization", snippets=snippets([f"clustered opinion {n}" for n in (1, 2, 3)])),
}
GOLDEN = "38bb4840d268085b"  # of all nine, where the paper is not at hand


def printed(number: int) -> tuple[str, str]:
    """System and user prompt of the paper's text: what is marked as a fence or goes on endlessly is left out."""
    text = PAPER.read_text(encoding="utf-8")
    found = re.search(
        rf"^Prompt {number}: .*?\nSystem Prompt:\s*\n(.*?)\n\nUser Prompt:\s*\n(.*?)\n\n(?:Purpose|Model):",
        text,
        re.DOTALL | re.MULTILINE,
    )
    assert found
    system, user = (part.strip() for part in found.groups())
    user = re.sub(r" +$", "", re.sub(r"^```\s*|\s*```$", "", user), flags=re.MULTILINE)
    user = user.replace("\n\n...\n\nN. {SUMMARY N}", "").replace(",\n  ...", "").replace("1-N", "1-3")
    return system, user


@pytest.mark.parametrize("number", MADE)
def test_a_prompt_is_the_papers_text(number: int) -> None:
    if not PAPER.exists():
        pytest.skip("../shared/papers/pluraleval.txt is absent")
    assert tuple(message.content for message in MADE[number]) == printed(number)
    assert [message.role for message in MADE[number]] == ["system", "user"]


def test_the_prompts_stay_as_they_are() -> None:
    assert digest([[message.content for message in messages] for messages in MADE.values()], 16) == GOLDEN


def test_content_is_never_read_as_a_template() -> None:
    post = 'A {POST TEXT} with {0}, """ and %s'
    system, user = ask("ranking", post=post, summaries=numbered(["{SUMMARY 2}", "b"]), n=2)
    assert f'"""\n\n{post}\n\n"""' in user.content
    assert isinstance(system, Message)
    assert "1. {SUMMARY 2}\n\n2. b" in user.content
