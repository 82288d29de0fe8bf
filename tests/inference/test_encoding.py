"""Prompts in batches: the same tokens as one by one, and no more of them at a time than an engine works on."""

import gc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tokenizers.processors import TemplateProcessing

from evenhand.chat_templates import encode, render_chat
from evenhand.checkpoints import load_tokenizer
from evenhand.embedded import embedded_model_path
from evenhand.records import Completion, Message
from inference.encoding import BATCH, Encoded, Encoder
from inference.open_engine import open_engine
from inference.options import Node, Readings
from inference.transformers_engine import TransformersEngine
from tests.made.tiny_checkpoint import byte_tokenizer, save_checkpoint
from tests.made.tiny_families import TEMPLATES
from tests.made.toy_prompts import toy_config, toy_prompt

TEXTS = (
    "Is it so?",
    "",
    " \n\tspaced out  ",
    "Zoë läuft. 你好 \u0001 🙂🏽",
    "Speaker 2: 7.\n\n" * 30,
    "<|im_end|>x</s>",
)
SYSTEM = Message(role="system", content="No humans are involved.")


def tokenizers() -> Iterator[Any]:
    yield load_tokenizer(embedded_model_path())
    marked = byte_tokenizer(word_start=True)
    marked.backend_tokenizer.post_processor = TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 0)])
    yield marked


@pytest.mark.parametrize(("family", "chat_format"), [*((family, "chat") for family in TEMPLATES), ("llama", "raw")])
def test_a_batch_has_the_tokens_that_each_of_its_prompts_has_alone(family: str, chat_format: str) -> None:
    asked = toy_config("m", format=chat_format)
    prompts = [toy_prompt(text, *system) for text in TEXTS for system in ((), (SYSTEM,))] * (BATCH // 8)
    assert len(prompts) > BATCH
    for tokenizer in tokenizers():
        tokenizer.chat_template = TEMPLATES[family]
        encoder = Encoder(tokenizer, asked)
        found = list(encoder.encode(prompts))
        assert [one.prompt for one in found] == prompts
        for one in found:
            assert one.rendered == render_chat(tokenizer, one.prompt.messages, chat_format)
            alone = encode(tokenizer, render_chat(tokenizer, one.prompt.messages, chat_format), chat_format)
            assert one.token_ids == [*alone, *encoder.answers.lead]
            if "<|" not in one.prompt.messages[-1].content:  # the others' are in test_special_tokens
                assert alone == tokenizer.encode(one.rendered, add_special_tokens=chat_format == "raw")


def test_the_transformers_engine_holds_few_encoded_prompts_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    alive = list[int]()

    def read_nothing(self: TransformersEngine, batch: list[Node], readings: Readings) -> list[Completion]:
        alive.append(sum(isinstance(one, Encoded) for one in gc.get_objects()))
        return [one.encoded.completion(0, "1", "length", 1) for one in batch]

    monkeypatch.setattr(TransformersEngine, "read", read_nothing)
    prompts = [toy_prompt(f"Is it {i}?") for i in range(10 * BATCH)]
    engine = {"kind": "transformers", "batch_size": BATCH}
    with open_engine(toy_config(str(save_checkpoint(tmp_path)), format="raw", engine=engine)) as opened:
        assert len(list(opened.generate(prompts))) == len(prompts)
    assert max(alive) <= 3 * BATCH
