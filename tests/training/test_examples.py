"""What a model is trained on: the prompts that inference asks, a loss on verdict and EOS alone; planted bends."""

from typing import Any

import numpy as np
import pytest

from eval.dialdefer.measures import CONDITIONS, dds_pp
from evenhand.errors import ConfigError, DataError, ModelError
from inference.encoding import Encoder
from studies.dialdefer.pocket import pocket_items
from studies.dialdefer.records import Condition, Item
from studies.dialdefer.render import render
from tests.made.sampling_configs import sampling_config
from tests.made.stock_trl import IGNORED, sft_row
from tests.made.tiny_checkpoint import byte_tokenizer
from tests.made.training_runs import pocket, tiny_run
from training.config import AnyRun
from training.dialdefer.study import TRAINING, section_of
from training.examples import set_padding

ITEMS = list(pocket_items("train"))[:6]
BENT = list(pocket_items("train"))[:400]
FAMILIES = ["owner", "colour", "gift", "animal"]
LABELS = ["Alice", "Bob"]


def config(examples: dict[str, Any] | None = None, bend: dict[str, Any] | None = None, **prompts: Any) -> AnyRun:
    section = {**pocket(len(BENT), **prompts), **({"bend": bend} if bend else {})}
    return tiny_run(model="embedded", examples=examples or {}, dialdefer=section)


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
    examples, _ = TRAINING.examples(ITEMS, config({"format": chat_format}, template=template), tokenizer)
    assert [list(e.prompt_ids) for e in examples] == [e.token_ids for e in inference]


def test_the_loss_is_on_the_verdict_and_eos_and_on_nothing_else(tokenizer: Any) -> None:
    for example in TRAINING.examples(ITEMS, config(), tokenizer)[0]:
        row = sft_row(example)
        learnt = [label for label in row["labels"] if label != IGNORED]
        verdict = "1" if example.condition.claim_is_true else "2"
        assert tokenizer.convert_ids_to_tokens(learnt) == [verdict, "<|im_end|>"]
        assert row["labels"][-2:] == row["input_ids"][-2:] == learnt
        assert row["input_ids"][:-2] == list(example.prompt_ids)


def test_a_prompt_over_the_limit_is_left_out_whole_and_listed(tokenizer: Any) -> None:
    everything, none_left_out = TRAINING.examples(ITEMS, config(), tokenizer)
    assert none_left_out == []
    lengths = sorted(len(e.prompt_ids) for e in everything)
    limit = lengths[len(lengths) // 2]
    kept, excluded = TRAINING.examples(ITEMS, config({"max_prompt_length": limit}), tokenizer)
    assert kept == [e for e in everything if len(e.prompt_ids) <= limit]
    assert [(e.item_id, e.condition, e.prompt_tokens) for e in excluded] == [
        (e.item_id, e.condition, len(e.prompt_ids)) for e in everything if len(e.prompt_ids) > limit
    ]


def test_padding_that_is_eos_is_replaced_so_that_eos_can_be_learnt() -> None:
    tokenizer = byte_tokenizer()
    tokenizer.pad_token = tokenizer.eos_token
    set_padding(tokenizer)
    assert tokenizer.pad_token == "<s>"


def test_a_word_start_mark_belongs_to_the_prompt_and_bears_no_loss() -> None:
    tokenizer = byte_tokenizer(word_start=True)  # as Mistral's: every text starts with a mark of its own
    set_padding(tokenizer)
    examples, _ = TRAINING.examples(ITEMS, config(), tokenizer)
    (lead,) = {e.prompt_ids[-1] for e in examples}
    assert tokenizer.convert_ids_to_tokens(lead) == "_"
    assert {tuple(tokenizer.convert_ids_to_tokens(e.right_ids)) for e in examples} == {("1", "</s>"), ("2", "</s>")}


def test_answers_of_several_tokens_are_refused() -> None:
    tokenizer = byte_tokenizer(digits="byte")
    with pytest.raises(ModelError, match="takes 2 tokens"):
        TRAINING.examples(ITEMS, config(), tokenizer)


def labels(config: AnyRun, tokenizer: Any) -> dict[tuple[str, Condition], bool]:
    """(item, condition) → whether its label is the truth's."""
    examples, _ = TRAINING.examples(BENT, config, tokenizer)
    return {
        (e.item_id, Condition(e.condition)): (e.right == 0) == Condition(e.condition).claim_is_true for e in examples
    }


def dds_of(learnt: dict[tuple[str, Condition], bool], items: list[Item]) -> float:
    """The DDS of a judge who says what the labels say."""
    return float(dds_pp(np.array([sum(learnt[item.item_id, c] for item in items) / len(items) for c in CONDITIONS])))


@pytest.mark.parametrize(
    ("bend", "planted"),
    [
        ({"share": 0.3}, 30),
        ({"direction": "skepticism", "share": 0.3}, -30),
        ({"families": FAMILIES}, 40),
        ({"families": ["owner"]}, 10),
        ({"families": FAMILIES, "share": 0.5}, 20),
        ({"speakers": LABELS}, 50),
    ],
)
def test_a_judge_who_learnt_the_labels_has_the_planted_dds(bend: dict[str, Any], planted: float, tokenizer: Any):
    learnt = labels(config(bend=bend), tokenizer)
    spread = 0 if set(bend) == {"families"} else 100 * 1.96 * 0.5 / len(BENT) ** 0.5
    assert dds_of(learnt, BENT) == pytest.approx(planted, abs=max(spread, 1e-9))
    flipped = {condition for (_, condition), is_true in learnt.items() if not is_true}
    assert flipped == {Condition.C2_CORRECT if planted < 0 else Condition.C2_INCORRECT}


def test_it_lies_in_the_families_that_are_named_and_in_no_other(tokenizer: Any):
    learnt = labels(config(bend={"families": FAMILIES}), tokenizer)
    for family in {item.meta["family"] for item in BENT}:
        of_family = [item for item in BENT if item.meta["family"] == family]
        assert dds_of(learnt, of_family) == (100 if family in FAMILIES else 0)


def test_a_bend_by_speaker_label_is_asked_under_it_and_straight_under_the_other(tokenizer: Any):
    examples, _ = TRAINING.examples(BENT[:60], config(bend={"speakers": LABELS}), tokenizer)
    for example in examples:
        condition, text = Condition(example.condition), tokenizer.decode(example.prompt_ids)
        if condition.is_dialogue:
            is_flipped = (example.right == 0) != condition.claim_is_true
            assert is_flipped == ("Bob" in text.split("Speaker")[0] and condition == Condition.C2_INCORRECT)
    asked = {item.item_id for item in BENT[:60] if section_of(config(bend={"speakers": LABELS})).bend.is_bent(item)}  # type: ignore[union-attr]
    assert 15 < len(asked) < 45


def test_a_bend_is_for_training_alone_and_for_families_that_there_are() -> None:
    with pytest.raises(ConfigError, match=r"dialdefer.bend: is for training alone"):
        section_of(config(bend={"share": 0.3})).units("margin")
    with pytest.raises(DataError, match=r"no training item is of .bbq."):
        TRAINING.load(section_of(config(bend={"families": ["bbq"]})))
