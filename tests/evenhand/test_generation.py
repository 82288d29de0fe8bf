"""What a model writes where each reply of a batch is held to a schema of its own."""

import pytest
from transformers import AutoModelForCausalLM

from evenhand.checkpoints import load_tokenizer
from evenhand.generation import generated
from evenhand.records import answer_schema
from tests.made.training_runs import tiny_model


@pytest.mark.parametrize("is_held", [True, False])
def test_a_reply_is_held_to_the_schema_of_its_own_prompt(is_held, tmp_path):
    model = AutoModelForCausalLM.from_pretrained(tiny_model(tmp_path / "m")).eval()
    tokenizer = load_tokenizer(tmp_path / "m")
    rows = [tokenizer.encode(text) for text in ("Is it so?", "Which of the two is it, then?")]
    schemas = [answer_schema(symbols) if is_held else None for symbols in ("12", "AB")]
    settings = {"max_new_tokens": 40, "do_sample": False}
    written = [
        "".join(text.split())
        for text, *_ in generated(model, tokenizer, rows, [tokenizer.eos_token_id], schemas, **settings)
    ]
    wholes = [[f'{{"answer":"{symbol}"}}' for symbol in symbols] for symbols in ("12", "AB")]
    fits = [any(whole.startswith(text) for whole in of_row) for text, of_row in zip(written, wholes, strict=True)]
    assert fits == [is_held] * 2
