"""What a model writes where each reply of a batch is held to a schema of its own."""

import json

from transformers import AutoModelForCausalLM

from evenhand.checkpoints import load_tokenizer
from evenhand.generation import generated
from evenhand.records import answer_schema
from tests.made.training_runs import tiny_model


def test_each_reply_is_held_to_the_schema_of_its_own_prompt_up_to_its_end(tmp_path):
    model = AutoModelForCausalLM.from_pretrained(tiny_model(tmp_path / "m")).eval()
    tokenizer = load_tokenizer(tmp_path / "m")
    blanks = [n for n in range(len(tokenizer)) if (text := tokenizer.decode([n])) != text.strip()]  # else without end
    settings = {"max_new_tokens": 40, "do_sample": False, "suppress_tokens": blanks}
    rows = [tokenizer.encode(text) for text in ("Is it so?", "Which of the two is it, then?")]
    schemas = [answer_schema(symbols) for symbols in ("12", "AB")]
    held = list(generated(model, tokenizer, rows, [tokenizer.eos_token_id], schemas, **settings))
    assert [reason for _, reason, _ in held] == ["stop", "stop"]
    for (text, *_), symbols in zip(held, ("12", "AB"), strict=True):
        assert json.loads(text)["answer"] in symbols
