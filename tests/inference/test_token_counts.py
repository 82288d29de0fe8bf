"""Tokens are counted while a model loads, and what is wrong with prompts is told as if they were counted after it."""

import threading
from collections.abc import Callable
from typing import Any

import pytest

from evenhand.errors import ModelError
from inference.encoding import BATCH, Encoder
from inference.engine import PromptsTooLong
from inference.token_counts import counted_meanwhile, fitting_counts
from tests.made.toy_prompts import toy_config, toy_prompt

N_BATCHES = 40
PROMPTS = [toy_prompt("x" * (1 + i % 9) + f" {i}") for i in range(N_BATCHES * BATCH)]
PATIENCE = 60.0  # seconds, which only a failing test waits


class LetterTokenizer:
    """One token a letter; `behaviour` is called before each batch with its number, from 1."""

    def __init__(self, behaviour: Callable[[int], None] = lambda number: None) -> None:
        self.behaviour, self.n_batches, self.n_texts = behaviour, 0, 0

    def __call__(self, texts: list[str], **_: object) -> dict[str, list[list[int]]]:
        self.n_batches += 1
        self.n_texts += len(texts)
        self.behaviour(self.n_batches)
        return {"input_ids": [[ord(letter) for letter in text] for text in texts]}


def encoder(tokenizer: LetterTokenizer, **keys: Any) -> Encoder:
    return Encoder(tokenizer, toy_config("m", format="raw", **keys))


def test_prompts_are_counted_while_the_model_loads_and_not_again() -> None:
    third = threading.Event()
    tokenizer = LetterTokenizer(lambda number: third.set() if number == 3 else None)
    with counted_meanwhile(encoder(tokenizer), PROMPTS) as counting:
        assert third.wait(PATIENCE), "nothing is counted until the model is loaded"
    counts = counting.result()
    assert counts == {prompt: len(prompt.messages[0].content) for prompt in PROMPTS}
    assert fitting_counts(encoder(tokenizer), PROMPTS, 100, counts) == counts
    assert tokenizer.n_texts == len(PROMPTS)
    unexpected = toy_prompt("another")
    assert fitting_counts(encoder(tokenizer), [*PROMPTS[:5], unexpected], 100, counts)[unexpected] == 7
    assert tokenizer.n_texts == len(PROMPTS) + 1


@pytest.mark.parametrize(
    ("verdict", "max_tokens", "answer"), [("margin", 300, 1), ("reason", 300, 300), ("reason", 7, 7)]
)
def test_a_prompt_fits_with_its_answer_or_is_named_with_both_lengths(
    verdict: str, max_tokens: int, answer: int
) -> None:
    asked = encoder(LetterTokenizer(), verdict=verdict, sampling={"max_tokens": max_tokens})
    prompts = [toy_prompt("x" * n) for n in (5, 11, 12, 10)]
    assert list(fitting_counts(asked, prompts, 12 + answer, {}).values()) == [5, 11, 12, 10]
    with pytest.raises(PromptsTooLong, match=rf"2 of 4 .* is toy-12 \(c2_correct\): 12 \+ {answer} for the") as refusal:
        fitting_counts(asked, prompts, 10 + answer, {prompts[1]: 11})
    words = {prompts[i]: f"{n + answer} tokens with the answer, window {10 + answer}" for i, n in ((1, 11), (2, 12))}
    assert refusal.value.reasons == words


def refuse(number: int) -> Callable[[int], None]:
    def behaviour(batch: int) -> None:
        if batch == number:
            raise ModelError("the template refuses")

    return behaviour


def test_a_refused_prompt_is_told_before_the_model_is_loaded_or_else_when_its_prompts_are_to_be_asked() -> None:
    early, late = (counted_meanwhile(encoder(LetterTokenizer(refuse(number))), PROMPTS) for number in (1, 3))
    with pytest.raises(ModelError, match="refuses"), early:
        pytest.fail("the model is loaded for nothing")
    with late as counting:
        pass  # the model is loaded
    with pytest.raises(ModelError, match="refuses"):
        counting.result()
