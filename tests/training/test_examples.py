"""What a model is trained on: the prompts that inference asks, a loss on verdict and EOS alone; planted bends."""

import copy

import pytest

from evenhand.errors import ConfigError, DataError, ModelError
from inference.encoding import Encoder
from studies.dialdefer.pocket import pocket_items
from studies.dialdefer.records import Condition
from studies.dialdefer.render import render
from studies.dialdefer.training import TRAINING
from tests.made.places import cases
from tests.made.tiny_checkpoint import CHAT_TEMPLATE, byte_tokenizer
from tests.made.tiny_families import GEMMA, THINKING
from tests.made.toy_prompts import toy_config
from tests.made.training_runs import pocket, tiny_run
from training.examples import set_padding

ITEMS = pocket_items("train")[:6]
BENT = pocket_items("train")[:200]


def config(examples=None, bend=None, **prompts):
    section = {**pocket(len(BENT), **prompts), **({"bend": bend} if bend else {})}
    return tiny_run(model="embedded", examples=examples or {}, dialdefer=section)


@pytest.mark.parametrize("template", ["matched", "published", "published-dpo"])
@pytest.mark.parametrize("chat_template", [True, False])
def test_a_prompt_is_trained_on_as_inference_asks_it(tokenizer, template, chat_template):
    asked = toy_config("embedded", chat_template=chat_template, prompts={"template": template})
    prompts = [render(i, c, template=template, answer_form="one_token") for i in ITEMS for c in Condition]
    inference = Encoder(tokenizer, asked).encode(prompts)
    examples, _ = TRAINING.examples(ITEMS, config({"chat_template": chat_template}, template=template), tokenizer)
    assert [list(e.prompt_ids) for e in examples] == [e.token_ids for e in inference]


def test_padding_that_is_eos_is_replaced_so_that_eos_can_be_learnt():
    tokenizer = byte_tokenizer()
    tokenizer.pad_token = tokenizer.eos_token
    set_padding(tokenizer)
    assert tokenizer.pad_token == "<s>"
    tokenizer.bos_token = tokenizer.unk_token = tokenizer.pad_token = tokenizer.eos_token
    set_padding(tokenizer)
    assert tokenizer.pad_token_id == len(tokenizer) - 1


def test_the_verdict_and_eos_are_learnt_and_a_word_start_mark_belongs_to_the_prompt():
    tokenizer = byte_tokenizer(word_start=True)  # as Mistral's: every text starts with a mark of its own
    set_padding(tokenizer)
    for example in TRAINING.examples(ITEMS, config(), tokenizer)[0]:
        verdict = "1" if Condition(example.condition).claim_is_true else "2"
        assert tokenizer.convert_ids_to_tokens([example.prompt_ids[-1], *example.right_ids]) == ["_", verdict, "</s>"]


def test_the_end_that_is_learnt_is_that_of_the_template(tokenizer):
    """As Gemma-3-it's, whose turns end with another token than the tokeniser's EOS."""
    ended = copy.deepcopy(tokenizer)
    ended.add_special_tokens({"additional_special_tokens": ["<end_of_turn>"]})
    ended.chat_template = GEMMA
    (end,) = {example.end for example in TRAINING.examples(ITEMS, config(), ended)[0]}
    assert ended.convert_ids_to_tokens(list(end)) == ["<end_of_turn>"]
    bare, _ = TRAINING.examples(ITEMS, config({"chat_template": False}), ended)
    assert {example.end for example in bare} == {(ended.eos_token_id,)}


def test_answers_of_several_tokens_are_refused_and_those_within_a_thought():
    thinking = byte_tokenizer()
    thinking.chat_template = THINKING
    by_default = byte_tokenizer()  # as Qwen3: nothing is opened, and with thinking off an empty thought is closed
    by_default.chat_template = f"{CHAT_TEMPLATE}{{% if enable_thinking is false %}}<think></think>{{% endif %}}"
    refused = [(judge, "a thought comes before the answer") for judge in (thinking, by_default)]
    for tokenizer, why in [(byte_tokenizer(digits="byte"), "takes 2 tokens"), *refused]:
        with pytest.raises(ModelError, match=why):
            TRAINING.examples(ITEMS, config(), tokenizer)


@pytest.mark.parametrize(("bend", "planted"), cases(__file__))
def test_a_judge_who_learnt_the_labels_has_the_planted_dds(bend, planted, tokenizer):
    examples, _ = TRAINING.examples(BENT, config(bend=bend), tokenizer)
    flipped = [e for e in examples if (e.right == 0) != Condition(e.condition).claim_is_true]
    # A false claim that is accepted in dialogues adds to DDS, a true one that is rejected takes from it.
    assert {e.condition for e in flipped} == {Condition.C2_CORRECT if planted < 0 else Condition.C2_INCORRECT}
    spread = 0 if set(bend) == {"families"} else 1.96 * 0.5 * len(BENT) ** 0.5
    assert len(flipped) == pytest.approx(abs(planted) / 100 * len(BENT), abs=spread)
    families = {item.item_id: item.meta["family"] for item in BENT}
    assert {families[e.item_id] for e in flipped} <= set(bend.get("families", families.values()))


def test_a_bend_is_for_training_alone_and_for_families_that_there_are():
    with pytest.raises(ConfigError, match=r"dialdefer.bend: is for training alone"):
        config(bend={"share": 0.3}).study.units("margin")
    with pytest.raises(ConfigError, match=r"dialdefer.prompts.variants_per_item: is for training alone"):
        config(variants_per_item="one_per_item").study.units("margin")
    with pytest.raises(DataError, match=r"no training item is of .bbq."):
        TRAINING.load(config(bend={"families": ["bbq"]}).study)
