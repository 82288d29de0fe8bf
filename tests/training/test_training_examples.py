"""What a model is trained on: the prompts that inference asks, one verdict, EOS, and a loss on those two alone."""

from typing import Any

import pytest

from evenhand.checkpoints import load_tokenizer
from evenhand.embedded import embedded_model_path
from evenhand.errors import ModelError
from inference.encoding import Encoder
from studies.dialdefer.pocket import pocket_items
from studies.dialdefer.records import Condition
from studies.dialdefer.render import render
from tests.made.sampling_configs import sampling_config
from tests.made.stock_trl import IGNORED, dpo_row, sft_row, shuffled_by_item
from tests.made.tiny_checkpoint import byte_tokenizer
from tests.made.training_configs import training_config
from training.config import SFTRun
from training.dialdefer.examples import make_examples
from training.examples import set_padding

ITEMS = list(pocket_items("train"))[:6]


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    return load_tokenizer(embedded_model_path())


def config(**examples: Any) -> SFTRun:
    return training_config(
        {
            "method": "sft",
            "name": "toy",
            "model": {"name": "embedded"},
            "benchmarks": [{"dataset": "pocket", "split": "train"}],
            "examples": {"conditions": "c1_and_c2", **examples},
            "optimiser": {"learning_rate": 1e-3},
        }
    )


@pytest.mark.parametrize("template", ["matched", "published", "published-dpo"])
@pytest.mark.parametrize("chat_format", ["chat", "raw"])
def test_a_prompt_is_trained_on_as_inference_asks_it(tokenizer: Any, template: str, chat_format: str) -> None:
    asked = sampling_config(
        {
            "name": "toy",
            "model": {"name": "embedded"},
            "benchmarks": [{"dataset": "pocket"}],
            "prompts": {"template": template},
            "verdict": "margin",
            "format": chat_format,
        }
    )
    prompts = [render(i, c, template=template, answer_form="one_token") for i in ITEMS for c in Condition]
    inference = Encoder(tokenizer, asked).encode(prompts)
    examples, _ = make_examples(ITEMS, config(template=template, format=chat_format), tokenizer)
    assert [list(e.prompt_ids) for e in examples] == [e.token_ids for e in inference]


def test_the_loss_is_on_the_verdict_and_eos_and_on_nothing_else(tokenizer: Any) -> None:
    for example in make_examples(ITEMS, config(), tokenizer)[0]:
        row = sft_row(example)
        learnt = [label for label in row["labels"] if label != IGNORED]
        verdict = "1" if example.condition.claim_is_true else "2"
        assert tokenizer.convert_ids_to_tokens(learnt) == [verdict, "<|im_end|>"]
        assert row["labels"][-2:] == row["input_ids"][-2:] == learnt
        assert row["input_ids"][:-2] == list(example.prompt_ids)


def test_a_pair_differs_in_the_verdict_alone(tokenizer: Any) -> None:
    for example in make_examples(ITEMS, config(), tokenizer)[0]:
        row = dpo_row(example)
        decoded = [tokenizer.decode(row[key]) for key in ("chosen_ids", "rejected_ids")]
        expected = ["1<|im_end|>", "2<|im_end|>"]
        assert decoded == (expected if example.condition.claim_is_true else expected[::-1])


def test_a_prompt_over_the_limit_is_left_out_whole_and_listed(tokenizer: Any) -> None:
    everything, none_left_out = make_examples(ITEMS, config(), tokenizer)
    assert none_left_out == []
    lengths = sorted(len(e.prompt_ids) for e in everything)
    limit = lengths[len(lengths) // 2]
    kept, excluded = make_examples(ITEMS, config(max_prompt_length=limit), tokenizer)
    assert kept == [e for e in everything if len(e.prompt_ids) <= limit]
    assert [(e.item_id, e.condition, e.prompt_tokens) for e in excluded] == [
        (e.item_id, e.condition, len(e.prompt_ids)) for e in everything if len(e.prompt_ids) > limit
    ]


def test_items_are_shuffled_but_their_conditions_stay_together(tokenizer: Any) -> None:
    examples, _ = make_examples(ITEMS, config(), tokenizer)
    shuffled = shuffled_by_item(examples, seed=1)
    assert shuffled != examples
    assert sorted(shuffled, key=examples.index) == examples
    blocks = [shuffled[i : i + 4] for i in range(0, len(shuffled), 4)]
    assert all(len({e.item_id for e in block}) == 1 for block in blocks)
    assert shuffled_by_item(examples, seed=1) == shuffled != shuffled_by_item(examples, seed=2)


def test_padding_that_is_eos_is_refused_where_eos_is_learnt() -> None:
    tokenizer = byte_tokenizer()
    tokenizer.pad_token = tokenizer.eos_token
    with pytest.raises(ModelError, match="EOS cannot be learnt"):
        make_examples(ITEMS, config(), tokenizer)


def test_a_word_start_mark_belongs_to_the_prompt_and_bears_no_loss() -> None:
    tokenizer = byte_tokenizer(word_start=True)  # as Mistral's: every text starts with a mark of its own
    set_padding(tokenizer)
    examples, _ = make_examples(ITEMS, config(), tokenizer)
    (lead,) = {e.prompt_ids[-1] for e in examples}
    assert tokenizer.convert_ids_to_tokens(lead) == "_"
    assert {tuple(tokenizer.convert_ids_to_tokens(e.right_ids)) for e in examples} == {("1", "</s>"), ("2", "</s>")}


def test_answers_of_several_tokens_are_refused() -> None:
    tokenizer = byte_tokenizer(digits="byte")
    with pytest.raises(ModelError, match="takes 2 tokens"):
        make_examples(ITEMS, config(), tokenizer)
