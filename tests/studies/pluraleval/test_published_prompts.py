"""Prompts 1 to 9 come out as the paper prints them, byte for byte."""

import re

import pytest

from evenhand.records import Message, digest
from studies.pluraleval import published_prompts as published
from tests.made.places import SHARED

PAPER = SHARED / "papers" / "pluraleval.txt"
POST, BELIEF = "{POST TEXT}", "{BELIEF}"
MADE = {
    1: published.generation(POST),
    2: published.biased_generation(POST, "{PERSONAL BELIEF - TOWARD}"),
    3: published.biased_generation(POST, "{PERSONAL BELIEF - OPPOSING}"),
    4: published.pairwise(POST, ["{SUMMARY 1}", "{SUMMARY 2}"]),
    5: published.biased_pairwise(POST, ["{SUMMARY 1}", "{SUMMARY 2}"], "{PERSONAL BELIEF FROM LESS POPULAR CLUSTER}"),
    6: published.ranking(POST, ["{SUMMARY 1}", "{SUMMARY 2}", "{SUMMARY 3}"]),
    7: published.biased_ranking(
        POST, ["{SUMMARY 1}", "{SUMMARY 2}", "{SUMMARY 3}"], "{PERSONAL BELIEF FROM LEAST POPULAR CLUSTER}"
    ),
    8: published.clustering(["opinion text 1", "opinion text 2", "opinion text 3"]),
    9: published.summarization(["clustered opinion 1", "clustered opinion 2", "clustered opinion 3"]),
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
    system, user = published.ranking(post, ["{SUMMARY 2}", "b"])
    assert f'"""\n\n{post}\n\n"""' in user.content
    assert isinstance(system, Message)
    assert "1. {SUMMARY 2}\n\n2. b" in user.content
