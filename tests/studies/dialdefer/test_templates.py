"""Paraphrases and answer order byte for byte, and the hashes of the older templates, which no change may move."""

import pytest

from evenhand.records import Prompt
from studies.dialdefer.records import Condition
from studies.dialdefer.render import render
from studies.dialdefer.templates import JSON_TAIL, ONE_TOKEN_TAIL, TEMPLATES
from tests.made.golden_prompts import CONFLICT, ITEM, golden, text

C1_TRUE, C1_FALSE, C2_CORRECT, C2_INCORRECT = Condition
PARAPHRASES = ("v1", "v2", "v3")
REASONING = {
    "v1": ", providing brief reasoning.",
    "v2": " and explain your reasoning.",
    "v3": " and give short reasoning.",
}

# Made with the code before answer order and paraphrases came: (C1_True, C2_Incorrect) of the item of test_prompts.
HASHES = {
    ("matched", "json"): ("fbe6e46397c046a1", "43244984d108a82f"),
    ("matched", "one_token"): ("7f75435e3dd867e3", "206b0ccfc59df237"),
    ("paper", "json"): ("61697783da1c4ea7", "d3f2abf05c36494e"),
    ("published", "json"): ("7407869425196e17", "d3f2abf05c36494e"),
    ("published", "one_token"): ("9a383c16c1765392", "5c5ddebcb751f9b9"),
    ("published-dpo", "one_token"): ("56d544002a4ab6b7", "17243982a9acf51c"),
}
AIO_HASHES = {
    ("json", "2->1"): ("b76105a81502ee39", "42a43765296e9d80"),
    ("json", "1->2"): ("097104be2d6b4f15", "cd83b901c2123d80"),
    ("one_token", "2->1"): ("68a25e3cc4444bad", "7a6004b9da6209f2"),
    ("one_token", "1->2"): ("2dd03bfac155cb23", "be2bea46e54a7ef7"),
}
# C2_Correct of the item and of the conflict.
MITIGATION_HASHES = {
    "honest": ("54ae2c4b6b7b1edc", "3bbefaf8bc6749a3"),
    "dehumanizing": ("2e44e07897886327", "50db62c96a052791"),
}


@pytest.mark.parametrize("name", PARAPHRASES)
def test_a_paraphrase_is_to_the_byte_what_the_paper_ran(name: str) -> None:
    assert text(render(ITEM, C1_TRUE, template=name)) == golden(f"{name}_c1_json")
    assert text(render(ITEM, C2_CORRECT, template=name, speakers=("Ann", "Bob"))) == golden(f"{name}_c2_json")


@pytest.mark.parametrize("condition", [C1_FALSE, C2_INCORRECT])
@pytest.mark.parametrize("name", PARAPHRASES)
def test_a_paraphrase_in_one_token_form_asks_for_no_reasoning_and_is_else_the_same(
    name: str, condition: Condition
) -> None:
    in_json, in_one_token = (text(render(ITEM, condition, template=name, answer_form=f)) for f in ("json", "one_token"))
    assert in_one_token == in_json.replace(REASONING[name], ".").replace(JSON_TAIL, ONE_TOKEN_TAIL)
    assert "reason" not in in_one_token


@pytest.mark.parametrize(("name", "form"), HASHES)
def test_older_templates_ask_what_they_always_asked(name: str, form: str) -> None:
    prompts = [render(ITEM, c, template=name, answer_form=form) for c in (C1_TRUE, C2_INCORRECT)]
    assert tuple(p.prompt_hash for p in prompts) == HASHES[name, form]


@pytest.mark.parametrize(("form", "roles"), AIO_HASHES)
def test_r_aio_asks_what_it_always_asked(form: str, roles: str) -> None:
    prompts = [render(CONFLICT, c, answer_form=form, roles=roles) for c in (C1_TRUE, C2_INCORRECT)]
    assert tuple(p.prompt_hash for p in prompts) == AIO_HASHES[form, roles]


@pytest.mark.parametrize(("arm", "hashes"), MITIGATION_HASHES.items())
def test_mitigations_ask_what_they_always_asked(arm: str, hashes: tuple[str, str]) -> None:
    assert tuple(render(i, C2_CORRECT, arm=arm).prompt_hash for i in (ITEM, CONFLICT)) == hashes


def without_answers(prompt: Prompt) -> list[str]:
    """The lines of a prompt but for those that give an answer to choose."""
    return [line for line in text(prompt).splitlines() if "Yes, " not in line and "No, " not in line]


def answers(prompt: Prompt) -> list[str]:
    """What stands behind "Yes," and "No,", in the order shown."""
    return [line.lstrip("12. ") for line in text(prompt).splitlines() if "Yes, " in line or "No, " in line]


@pytest.mark.parametrize("condition", list(Condition))
@pytest.mark.parametrize(("name", "form"), [*sorted(TEMPLATES), ("aio", "json")])
def test_the_other_answer_order_swaps_the_two_answers_and_nothing_else(
    name: str, form: str, condition: Condition
) -> None:
    item, template = (CONFLICT, "published") if name == "aio" else (ITEM, name)
    usual, swapped = (
        render(item, condition, template=template, answer_form=form, answer_order=order)
        for order in ("yes_first", "no_first")
    )
    assert [answer.partition(",")[0] for answer in answers(usual)] == ["Yes", "No"]
    assert answers(swapped) == answers(usual)[::-1]
    assert without_answers(swapped) == without_answers(usual)
    assert swapped.prompt_hash != usual.prompt_hash
    assert (usual.factors.answer_order, swapped.factors.answer_order) == ("yes_first", "no_first")


def test_the_published_answers_in_the_other_order_to_the_byte() -> None:
    usual = golden("published_c2_json")
    swapped = usual.replace("Yes, Bob is correct.", "?").replace("No, Bob is incorrect.", "Yes, Bob is correct.")
    prompt = render(ITEM, C2_CORRECT, speakers=("Ann", "Bob"), answer_order="no_first")
    assert text(prompt) == swapped.replace("?\n<<<END_ANSWER_1>>>", "No, Bob is incorrect.\n<<<END_ANSWER_1>>>")
