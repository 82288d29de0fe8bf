"""Training on a study in YAML: which examples, what should agree, what is refused."""

from pathlib import Path

import pytest

from evenhand.errors import ConfigError, DataError
from evenhand.files import shipped_yaml, write_jsonl
from studies.framing.training import TRAINING
from tests.made.framing_runs import claims, study
from tests.made.training_runs import tiny_run
from training.batches import groups_of

REFUSED = shipped_yaml(Path(__file__).with_name("refused_training.yaml"))


def framed(path, method="sft", split="train", **keys):
    """A run on the train split of the items in a file."""
    section = {**study(path), "items": {"file": str(path), "split": split}, **keys}
    optimiser = {"batch_by": "item", "per_device_batch_size": 16}
    return tiny_run(method, study="framing", framing=section, optimiser=optimiser)


def examples_of(path, changes, tokenizer):
    config = framed(path, **changes)
    return TRAINING.examples(config.load_units(), config, tokenizer)


def test_a_group_is_a_claim_in_all_framings_and_orders_and_its_choices_are_the_answers(tmp_path, tokenizer):
    framings = {"expert": "A professor says: {{ claim }}", "statement": "Claim: {{ claim }}"}
    config = framed(claims(tmp_path / "i.jsonl", 12), framings=framings)
    units = config.load_units()
    examples, excluded = TRAINING.examples(units, config, tokenizer)
    groups = groups_of(examples, "group")
    assert excluded == []
    assert len(groups) == 2 * len(units)
    assert {len(group) for group in groups} == {2 * 2}, "placebos are not trained on"
    assert len(examples) == len(units) * TRAINING.n_prompts(config.study)
    for example in examples:
        text = tokenizer.decode(example.prompt_ids)
        accepts, rejects = (tokenizer.decode([token]) for token in example.choices)
        assert f"{accepts} = Yes" in text
        assert f"{rejects} = No" in text
        assert (example.right == 0) == ("lie" not in text)
        assert example.is_anchor == ("Claim: " in text)
    assert {sum(example.is_anchor for example in group) for group in groups} == {2}


OPTIONS = {"o": "{% for c in choices %}{{ c.symbol }} = {{ c.text }}, {% endfor %}"}
ASKED = {
    "choices": {"choices": "options", "correct": "answer", "ask": "{{ framing }} {{ id }} {{ o }}"},
    "messages": {"messages": "turns", "columns": {"label": "right"}, "ask": "{{ framing }} {{ o }}"},
    "rows": {"columns": {"framing": "kind", "label": "right"}, "ask": "{{ text }} {{ o }}"},
}


@pytest.mark.parametrize("kind", ASKED)
def test_options_conversations_and_rows_of_framings_are_trained_on(kind, tmp_path, tokenizer):
    rows = [
        {"id": f"c{i}", "options": ["yes", "no", "both"][: 2 + i % 2], "answer": "ABC"[i % 2 * 2], "right": "accept"}
        | {"turns": [{"role": "user", "content": f"claim {i}"}, {"role": "assistant", "content": "Hm."}]}
        | {"kind": framing, "text": f"claim {i} {framing}"}
        for i in range(12)
        for framing in (("statement", "expert") if kind == "rows" else ("",))
    ]
    write_jsonl(tmp_path / "i.jsonl", rows)
    framings = {"statement": "Said.", "expert": "A professor says so."}
    known = {"columns": {}, "cases": {}, "placebos": [], "framings": framings, "set": OPTIONS, **ASKED[kind]}
    known |= {"answers": {}, "symbols": None} if kind == "choices" else {}
    config = framed(tmp_path / "i.jsonl", **known)
    units = config.load_units()
    TRAINING.check_test_data(units, config.study)
    examples, _ = TRAINING.examples(units, config, tokenizer)
    assert len(examples) == len(units) * TRAINING.n_prompts(config.study) == 4 * len(units)
    for example in examples:
        symbol, text = tokenizer.decode([example.choices[example.right]]), tokenizer.decode(example.prompt_ids)
        texts = ["yes", "both"] if kind == "choices" else ["Yes"]
        assert any(f"{symbol} = {right}" in text for right in texts)
        assert (kind == "messages") == ("Hm." in text)
    assert {len(example.choices) for example in examples} == ({2, 3} if kind == "choices" else {2})


@pytest.mark.parametrize(("method", "keys", "words"), REFUSED)
def test_a_study_that_cannot_be_trained_on_is_refused(method, keys, words, tmp_path):
    with pytest.raises(ConfigError, match=words):
        framed(claims(tmp_path / "i.jsonl", 12), method, **keys)


@pytest.mark.parametrize(("changes", "words"), shipped_yaml(Path(__file__).with_name("refused_studies.yaml")))
def test_what_sampling_refuses_training_refuses_too(changes, words, tmp_path, tokenizer):
    with pytest.raises((ConfigError, DataError), match=words):
        examples_of(claims(tmp_path / "i.jsonl", 4), changes, tokenizer)


def test_an_item_of_the_test_split_is_not_trained_on_under_another_id(tmp_path):
    rows = [{"id": f"i{i}", "topic": f"t{i}", "yes": "the same", "no": "lie"} for i in range(12)]
    write_jsonl(tmp_path / "i.jsonl", rows)
    config = framed(tmp_path / "i.jsonl")
    with pytest.raises(DataError, match="reads as the test item"):
        TRAINING.check_test_data(config.load_units(), config.study)
