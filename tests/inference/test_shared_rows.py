"""Prompts that share a row are answered as each alone, and what they begin with alike is computed once."""

import pytest

from evenhand.errors import ModelError
from evenhand.token_trees import tree_of
from inference.schedule import in_prefix_order
from inference.transformers_engine import TransformersEngine
from tests.made.made_conflicts import narrator_config
from tests.made.tiny_families import TEMPLATES, save_family
from tests.made.toy_prompts import option_prompt, toy_config, toy_prompt

QUESTIONS = ("Who sang at the harbour on Monday, and who wrote it all down?", "Who paid for the boat?")
TEXTS = [
    f"Speaker 1: {question}\nSpeaker 2: {answer}\nIs Speaker 2 correct?\n{order}"
    for question in QUESTIONS
    for answer in ("Ann", "Anna", "Bo")
    for order in ("1. Yes\n2. No", "1. No\n2. Yes")
]


# Of a log-probability whose sums have another order: in half precision hidden states then differ by some of its steps
# (2^-11 and 2^-8 of their size). On a CPU 2e-6, 0.002 and 0.02 were seen.
TOLERANCE = {"float32": 1e-3, "float16": 0.01, "bfloat16": 0.06}
# Each family at one size of rows; other sizes and half precision with two of them.
FAMILIES_AND_ROWS = [(family, "float32", 300) for family in TEMPLATES]
FAMILIES_AND_ROWS += [("gemma3", "float32", 4000), ("qwen2", "float32", 1)]
FAMILIES_AND_ROWS += [("gemma3", "bfloat16", 4000), ("qwen2", "float16", 4000)]


def engine_of(row_tokens, dtype="float32"):
    return {"kind": "transformers", "batch_size": 1, "row_tokens": row_tokens, "dtype": dtype}


def answered(config, prompts):
    """Prompt hash → its completion, and how many tokens each forward pass computed."""
    widths = []
    with TransformersEngine(config) as engine:
        engine.model.register_forward_pre_hook(
            lambda _, __, inputs: widths.append(inputs["input_ids"].numel()), with_kwargs=True
        )
        found = {completion.prompt_hash: completion for completion in engine.generate(in_prefix_order(prompts))}
    assert set(found) == {prompt.prompt_hash for prompt in prompts}
    return found, widths


def differences(one, other):
    """Of every log-probability."""
    for hash_, completion in one.items():
        before, after = completion.answer_logprobs or {}, other[hash_].answer_logprobs or {}
        assert before.keys() == after.keys()
        yield from (abs(before[answer] - after[answer]) for answer in before)


def check_alike(alone, shared, tolerance):
    assert max(differences(alone, shared)) < tolerance
    others = max(differences(alone, dict(zip(alone, reversed(alone.values()), strict=True))))
    assert others > tolerance, "else it tells nothing"


@pytest.mark.parametrize(("family", "dtype", "row_tokens"), FAMILIES_AND_ROWS)
def test_margins_are_those_of_each_prompt_alone(tmp_path, checkpoint, family, row_tokens, dtype, device):
    """Of Gemma-3 also where prompts are longer than its sliding window of 64 tokens."""
    folder = save_family(tmp_path, family, checkpoint)
    prompts = [toy_prompt(text) for text in TEXTS]
    alone, _ = answered(toy_config(str(folder), engine=engine_of(0, dtype)), prompts)
    shared, _ = answered(toy_config(str(folder), engine=engine_of(row_tokens, dtype)), prompts)
    check_alike(alone, shared, TOLERANCE[dtype])


# The log-probabilities of several tokens add up, of a model with larger weights: 2e-5 and 0.24 were seen.
@pytest.mark.parametrize(("dtype", "tolerance"), [("float32", 1e-3), ("bfloat16", 0.6)])
def test_so_are_the_probabilities_of_options(checkpoint, dtype, tolerance, device):
    prompts = [option_prompt(text) for text in TEXTS]
    config = {"model": str(checkpoint), "verdict": "options"}
    alone, _ = answered(narrator_config(engine=engine_of(0, dtype), **config), prompts)
    shared, widths = answered(narrator_config(engine=engine_of(2000, dtype), **config), prompts)
    check_alike(alone, shared, tolerance)
    assert len(widths) == 1


def test_a_row_holds_what_fits_and_computes_common_beginnings_once(checkpoint):
    prompts = [toy_prompt(text) for text in TEXTS]
    with TransformersEngine(toy_config(str(checkpoint), engine=engine_of(0))) as engine:
        encoded = {e.prompt.prompt_hash: e.token_ids for e in engine.encoder.encode(in_prefix_order(prompts))}
    whole = len(tree_of(list(encoded.values())).tokens)
    assert answered(toy_config(str(checkpoint), engine=engine_of(whole)), prompts)[1] == [whole]
    _, widths = answered(toy_config(str(checkpoint), engine=engine_of(whole - 1)), prompts)
    assert len(widths) == 2
    assert max(widths) < whole < sum(widths) < sum(map(len, encoded.values()))
    _, widths = answered(toy_config(str(checkpoint), engine=engine_of(1)), prompts)
    assert widths == [len(tokens) for tokens in encoded.values()]


@pytest.mark.parametrize(("layers", "is_stateful"), [(["full_attention", "conv"], False), (None, True)])
def test_a_model_that_takes_a_row_as_one_sequence_is_refused(checkpoint, layers, is_stateful):
    with TransformersEngine(toy_config(str(checkpoint), engine=engine_of(4000))) as engine:
        engine.model._is_stateful, engine.model.config.layer_types = is_stateful, layers
        with pytest.raises(ModelError, match="take a row as one sequence"):
            list(engine.generate([toy_prompt(text) for text in TEXTS]))
        assert len(list(engine.generate([toy_prompt(TEXTS[0])]))) == 1
