"""Exact option probabilities out of the engines, against the same sums by hand and against samples."""

import math
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from evenhand.records import Completion, Prompt
from inference.engine import PromptsTooLong
from inference.open_engine import open_engine
from tests.made.made_conflicts import narrator_config
from tests.made.tiny_checkpoint import save_checkpoint
from tests.made.toy_prompts import OPTIONS, option_prompt

pytestmark = pytest.mark.slow

TEXTS = ("Who was it?", "A longer question, which needs padding on no side. Who was it?", "Hm")
PLAIN: dict[str, Any] = {"kind": "transformers", "batch_size": 4}


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_checkpoint(tmp_path_factory.mktemp("tiny"))


PROMPTS = [option_prompt(text) for text in TEXTS]


def answers(folder: Path, prompts: list[Prompt], **changes: Any) -> dict[str, list[Completion]]:
    """Text → its completions."""
    config = narrator_config(model=str(folder), **{"verdict": "options", "engine": PLAIN, **changes})
    with open_engine(config) as engine:
        found = list(engine.generate(prompts))
    return {p.messages[0].content: [c for c in found if c.prompt_hash == p.prompt_hash] for p in prompts}


def spelled(folder: Path, behind: str, ids: list[int], temperature: float) -> float:
    """log P of a token sequence behind a text, in one pass over all of it, without padding, in double precision."""
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float64).eval()
    before = tokenizer.encode(behind, add_special_tokens=False)
    with torch.no_grad():
        logits: torch.Tensor = model(torch.tensor([before + ids])).logits[0]
    logprobs = (logits / temperature).log_softmax(dim=-1)
    return sum(logprobs[len(before) + i - 1, token].item() for i, token in enumerate(ids))


@pytest.mark.parametrize(("temperature", "chat_template"), [(1.0, True), (0.7, True), (0.7, False)])
def test_an_option_has_the_probability_of_its_tokens_at_the_sampling_temperature(
    checkpoint: Path, temperature: float, chat_template: bool, device: str
) -> None:
    tokenizer = AutoTokenizer.from_pretrained(checkpoint)
    found = answers(checkpoint, PROMPTS, sampling={"temperature": temperature}, chat_template=chat_template)
    for text, (completion,) in found.items():
        behind, space = (f"<user>{text}</s><assistant>", "") if chat_template else (text, " ")

        def probability(reply: str, behind: str = behind, space: str = space) -> float:
            ids = tokenizer.encode(space + reply, add_special_tokens=False)
            return math.exp(spelled(checkpoint, behind, ids, temperature))

        expected = {option: probability(option) for option in OPTIONS}
        expected["Ann"] -= probability("Anna")  # the next token of the next longer option
        expected["Anna"] -= probability("Anna ")
        assert completion.answer_logprobs == pytest.approx({o: math.log(p) for o, p in expected.items()}, abs=1e-3)
        assert list(completion.answer_logprobs or ()) == list(OPTIONS)
        assert completion.text == max(expected, key=lambda option: expected[option])
        assert completion.rendered == behind


def test_the_longest_option_has_to_fit_the_window_too(tmp_path: Path) -> None:
    length = len(f"<user>{TEXTS[0]}<assistant>") + 1 + len("Anna B.")  # tokens; </s> is one
    fits, cuts = (save_checkpoint(tmp_path / str(window), window=window) for window in (length, length - 1))
    assert answers(fits, [option_prompt(TEXTS[0])])[TEXTS[0]]
    with pytest.raises(PromptsTooLong, match=rf"1 prompts do not fit.*: {length} tokens with the answer") as refusal:
        answers(cuts, [option_prompt(TEXTS[0])])
    assert [p.item_id for p in refusal.value.reasons] == [f"toy-{len(TEXTS[0])}"]
