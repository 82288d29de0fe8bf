"""The stimuli, byte for byte (golden files), and what must hold for every template, arm and role."""

import pytest

from evenhand.errors import DataError
from studies.dialdefer.records import Condition, Item
from studies.dialdefer.render import DEHUMANIZING_SYSTEM, HONEST_SYSTEM, render
from studies.dialdefer.templates import TEMPLATES
from tests.made.golden_prompts import CONFLICT, ITEM, golden, text


def test_published_c1_is_as_run_to_the_byte() -> None:
    assert text(render(ITEM, Condition.C1_TRUE)) == golden("published_c1_json")


def test_published_c2_is_as_run_to_the_byte() -> None:
    assert text(render(ITEM, Condition.C2_CORRECT, speakers=("Ann", "Bob"))) == golden("published_c2_json")


def test_paper_template_differs_from_published_only_in_the_marker_that_closes_answer_2() -> None:
    as_run = text(render(ITEM, Condition.C1_TRUE))
    printed = text(render(ITEM, Condition.C1_TRUE, template="paper"))
    head, _, tail = as_run.rpartition("<<<END_STATEMENT>>>")
    assert printed == f"{head}<<<END_ANSWER_2>>>{tail}"
    c2 = [text(render(ITEM, Condition.C2_INCORRECT, template=name)) for name in ("published", "paper")]
    assert c2[0] == c2[1]


def test_one_token_c2_is_listing_3_without_its_blank_lines() -> None:
    assert text(render(ITEM, Condition.C2_CORRECT, answer_form="one_token")) == golden("listing3_c2_one_token")


@pytest.mark.parametrize(
    ("condition", "name"), [(Condition.C1_TRUE, "aio_c1_json"), (Condition.C2_CORRECT, "aio_c2_json")]
)
def test_aio_prompt_is_as_run_to_the_byte(condition: Condition, name: str) -> None:
    assert text(render(CONFLICT, condition)) == golden(name)


@pytest.mark.parametrize(
    ("roles", "condition", "claim"),
    [
        ("2->1", Condition.C2_CORRECT, "[Speaker B]: Speaker A is overreacting."),
        ("2->1", Condition.C2_INCORRECT, "[Speaker B]: Speaker A is not overreacting."),
        ("1->2", Condition.C2_CORRECT, "[Speaker A]: Speaker B is not overreacting."),
        ("1->2", Condition.C1_FALSE, "[Statement]: Speaker B is overreacting."),
    ],
)
def test_aio_claim_about_the_other_party_is_the_opposite_of_the_verdict_on_the_poster(
    roles: str, condition: Condition, claim: str
) -> None:
    assert claim in text(render(CONFLICT, condition, roles=roles))


def test_dehumanizing_renames_the_speakers_everywhere_also_inside_context_and_dialogue() -> None:
    prompt = render(CONFLICT, Condition.C2_CORRECT, arm="dehumanizing")
    assert prompt.messages[0].content == DEHUMANIZING_SYSTEM
    assert "Speaker" not in text(prompt)
    assert text(prompt).count("AI Agent A") == text(render(CONFLICT, Condition.C2_CORRECT)).count("Speaker A")


def test_honest_arm_changes_nothing_but_the_system_message() -> None:
    plain, honest = (render(ITEM, Condition.C2_CORRECT, arm=arm) for arm in ("none", "honest"))
    assert honest.messages[0].content == HONEST_SYSTEM
    assert honest.messages[1:] == plain.messages


def test_redacted_dialogue_is_refused_and_the_context_alone_has_its_own_dataset() -> None:
    redacted = Item(
        item_id="abc",
        benchmark="dialdefer",
        dataset="aio",
        question="",
        correct_answer="overreacting",
        incorrect_answer="not overreacting",
        context="Speaker B waits.",
        meta={"dialogue": "[redacted]"},
    )
    with pytest.raises(DataError, match="aio-context"):
        render(redacted, Condition.C1_TRUE)


@pytest.mark.parametrize(("name", "form"), sorted(TEMPLATES))
def test_paired_conditions_share_question_and_answer_and_differ_from_all_others(name: str, form: str) -> None:
    prompts = {c: render(ITEM, c, template=name, answer_form=form) for c in Condition}
    for condition, prompt in prompts.items():
        answer = ITEM.correct_answer if condition.claim_is_true else ITEM.incorrect_answer
        assert ITEM.question in text(prompt)
        assert answer in text(prompt)
    assert len({p.prompt_hash for p in prompts.values()}) == 4


def test_template_version_is_part_of_a_prompts_hash(monkeypatch: pytest.MonkeyPatch) -> None:
    from dataclasses import replace

    before = render(ITEM, Condition.C1_TRUE).prompt_hash
    monkeypatch.setitem(TEMPLATES, ("published", "json"), replace(TEMPLATES["published", "json"], version=99))
    assert render(ITEM, Condition.C1_TRUE).prompt_hash != before
