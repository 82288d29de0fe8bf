"""Prompts 1 to 9 come out as the paper prints them, byte for byte."""

from evenhand.records import Message, digest
from studies.pluraleval.prompts import ask, numbered, snippets

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
GOLDEN = "38bb4840d268085b"  # of all nine, which were held against the paper's text once


def test_the_prompts_stay_as_they_are():
    assert digest([[message.content for message in messages] for messages in MADE.values()], 16) == GOLDEN


def test_content_is_never_read_as_a_template():
    post = 'A {POST TEXT} with {0}, """ and %s'
    system, user = ask("ranking", post=post, summaries=numbered(["{SUMMARY 2}", "b"]), n=2)
    assert f'"""\n\n{post}\n\n"""' in user.content
    assert isinstance(system, Message)
    assert "1. {SUMMARY 2}\n\n2. b" in user.content
