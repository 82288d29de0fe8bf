"""`evenhand show`: the very prompts that a run asks about a unit, of every study, chosen by their factors."""

import sys
from typing import Any

import pytest

from evenhand.cli import show
from evenhand.errors import ConfigError, DataError
from inference.schedule import first_prompts
from tests.made.made_conflicts import conflict, narrator_config, use_conflicts
from tests.made.places import cases
from tests.made.tiny_checkpoint import byte_tokenizer
from tests.made.tiny_families import SPACED, THINKING

CONFLICTS = "narrator/pocket-exact"


@pytest.fixture(autouse=True)
def conflicts(monkeypatch):
    tokenizer = byte_tokenizer()
    use_conflicts(monkeypatch, [conflict("first", 3, 5), conflict("second")])
    monkeypatch.setattr(show, "resolve", lambda model, weights: None)
    monkeypatch.setattr(show, "load_tokenizer", lambda folder: tokenizer)
    return tokenizer


def shown(capsys, *words):
    show.main(words)
    return capsys.readouterr().out


def test_a_prompt_is_shown_to_the_letter_with_its_options(capsys):
    words = ["task=blame", "visibility=hidden", "option_order=fixed_slot", "perspective=attacker"]
    text = shown(capsys, CONFLICTS, "--unit", "first", *(part for word in words for part in ("--only", word)))
    wanted = {"tasks": ["blame"], "visibilities": ["hidden"], "option_orders": ["fixed_slot"]}
    (prompt,) = (
        p for p in first_prompts(narrator_config(narrator=wanted)) if (p.item_id, p.condition) == ("first", "attacker")
    )
    rendered = f"<user>{prompt.messages[0].content}</s><assistant>"
    n_tokens = len(byte_tokenizer().encode(rendered, add_special_tokens=False))
    assert text.startswith(f"=== first · attacker · {n_tokens} tokens · prompt {prompt.prompt_hash} ===\n{rendered}\n")
    assert "task: blame, visibility: hidden" in text
    assert f"options: {' | '.join(prompt.answer_space)}\n" in text
    assert text.count("Me: ") == 1  # the attack is hidden


def test_what_stands_before_a_reply_and_a_margin_that_would_be_refused_are_said(conflicts, capsys):
    notes = {SPACED: "Before a reply the chat template writes ' '", THINKING: "A run is refused"}
    for conflicts.chat_template, note in notes.items():
        assert f"\n{note}" in shown(capsys, "pocket", "verdict=margin", "--only", "condition=c1_true")


def test_what_is_not_named_is_shown_in_all_its_ways(capsys):
    assert shown(capsys, CONFLICTS).count("=== first") == 3 * 2 * (1 + 3) * 2
    two = ["--only", "condition=neutral", "--only", "condition=attacker"]
    assert shown(capsys, *two, CONFLICTS).count("=== first") == 3 * 2 * 2 * 2


@pytest.mark.parametrize("name", cases(__file__)["shown"])
def test_every_study_shows_its_own_units(name, capsys):
    assert shown(capsys, name).startswith("=== ")


@pytest.mark.parametrize(("words", "says"), cases(__file__)["absent"])
def test_what_is_not_there_is_named(words, says):
    with pytest.raises((ConfigError, DataError)) as refusal:
        show.main(words)
    assert says in str(refusal.value)


def test_a_config_is_shown_as_its_own_model_reads_it(tmp_path, monkeypatch, capsys):
    resolved = list[Any]()
    monkeypatch.setattr(show, "resolve", lambda model, weights: resolved.append(model))
    words = ["inference/pocket", "--unit", shown(capsys, "pocket").split()[1], "--only", "condition=c1_true"]
    text = shown(capsys, *words, "model={name: mine, chat_template_args: {date: today}}")
    assert "<user>" in text
    assert (resolved[-1].name, resolved[-1].chat_template_args) == ("mine", {"date": "today"})
    assert "<user>" not in shown(capsys, *words, "chat_template=false")
    shown(capsys, *words, "--model", "other")
    assert resolved[-1].name == "other"
    n_before = len(resolved)
    server = "engine={kind: openai, base_url: 'http://127.0.0.1:1/v1'}"
    assert "as messages, before the chat template" in shown(capsys, *words, server, "verdict=reason")
    assert len(resolved) == n_before


def test_the_turn_in_which_a_judge_reads_itself_is_shown_behind_a_supposed_reply(capsys):
    words = ["inference/pocket", "--only", "condition=c1_true", "verdict=reason"]
    without, with_turns = (shown(capsys, *words, *more) for more in ([], ["self_read=true"]))
    n_prompts, question = without.count("--- options"), "So which answer is it?"
    assert (without.count(question), with_turns.count(question)) == (0, n_prompts)
    assert with_turns.count("--- options") == 2 * n_prompts


def test_without_transformers_the_plain_prompts_are_shown_and_that_is_said(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "transformers", None)
    text = shown(capsys, "pocket", "--only", "condition=c1_true")
    assert "[user]\nYour job is" in text
    assert "pip install 'evenhand[local]'" in text.splitlines()[-2]
