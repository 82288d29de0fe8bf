"""`evenhand show` on a corpus of conflicts: the very prompt that a run asks, and its options."""

from typing import Any

import pytest

from evenhand.errors import DataError
from inference.schedule import first_prompts
from studies import show as showing
from studies.narrator import show
from tests.made.made_conflicts import conflict, narrator_config, use_conflicts
from tests.made.tiny_checkpoint import byte_tokenizer

CONFLICTS = [conflict("first", 3, 5), conflict("second")]


@pytest.fixture(autouse=True)
def conflicts(monkeypatch: pytest.MonkeyPatch) -> None:
    tokenizer = byte_tokenizer()
    use_conflicts(monkeypatch, CONFLICTS)
    monkeypatch.setattr(show, "load_conversations", lambda spec: CONFLICTS)
    monkeypatch.setattr(show, "resolve", lambda model, weights: None)
    monkeypatch.setattr(show, "load_tokenizer_alone", lambda folder: tokenizer)


def shown(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    showing.main(["pocket-conflicts", *words])
    return capsys.readouterr().out


def test_a_prompt_is_shown_to_the_letter_with_its_options(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--task", "blame", "--visibility", "hidden", "--option-order", "fixed_slot"]
    text = shown(capsys, "--conversation", "first", "--narrator", "attacker", *words)
    wanted: dict[str, Any] = {"tasks": ["blame"], "visibilities": ["hidden"], "option_orders": ["fixed_slot"]}
    (prompt,) = (
        p for p in first_prompts(narrator_config(narrator=wanted)) if (p.item_id, p.condition) == ("first", "attacker")
    )
    rendered = f"<user>{prompt.messages[0].content}</s><assistant>"
    n_tokens = len(byte_tokenizer().encode(rendered, add_special_tokens=False))
    options = " | ".join(f"{o} (the target)" if o == "Me" else o for o in prompt.answer_space)
    assert text == (
        f"=== first · blame · hidden · attacker · {n_tokens} tokens · prompt {prompt.prompt_hash} ===\n{rendered}\n\n"
        f"--- options: {options}\n\n"
    )
    assert text.count("Me: ") == 1  # the attack is hidden


def test_what_is_not_named_is_shown_in_all_its_ways(capsys: pytest.CaptureFixture[str]) -> None:
    assert shown(capsys).count("=== first") == 3 * 2 * (1 + 3)
    assert shown(capsys, "--narrator", "nobody", "--narrator", "Anna").count("=== first") == 3 * 2 * 2


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--conversation", "third"], "no conversation 'third' in made-conflicts; its ids look like first, second"),
        (["--narrator", "Annie"], "nobody of that name speaks in first; take nobody, attacker or one of Ann, Anna, Bo"),
    ],
)
def test_what_is_not_there_is_named(words: list[str], says: str) -> None:
    with pytest.raises(DataError) as refusal:
        showing.main(["pocket-conflicts", *words])
    assert says in str(refusal.value)
