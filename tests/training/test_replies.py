"""Which replies of a judge's own are learnt by which method, which are not and why, and how often."""

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from evenhand.errors import ConfigError, DataError, ModelError
from evenhand.records import Prompt
from tests.made.scripted_engine import Answer
from tests.made.written_runs import Writer, other, says, training_on, written_run
from training.examples import Example
from training.replies import ReplyTargets


def bending(prompt: Prompt) -> list[Answer]:
    """Right about claims but for one sample; of a professor's it accepts three of four, right or wrong."""
    right = prompt.factors.label
    if prompt.condition == "expert":
        return [*[says(prompt, "accept")] * 3, says(prompt, "reject", "Even so.")]
    return [*[says(prompt, right, f"Reason {i}.") for i in range(3)], says(prompt, other(right), "Hm.")]


def targets(root: Path, judge: Writer, method: str, monkeypatch: Any, tokenizer: Any, **sections: Any) -> Any:
    """(ReplyTargets, its examples, what is left out)."""
    run, section = written_run(root, judge, monkeypatch)
    config = training_on(run, section, method, **sections)
    replies = ReplyTargets(config, tokenizer)
    return replies, *replies.examples(config.load_units())


def written(example: Example, tokenizer: Any, place: int = 0) -> str:
    return str(tokenizer.decode(example.answer_ids(place)))


def verdict_in(example: Example, tokenizer: Any, place: int = 0) -> str:
    """As the prompt defines the symbol that a reply of `says` ends with."""
    symbol = written(example, tokenizer, place)[-1]
    return "accept" if f"{symbol} = Yes" in tokenizer.decode(example.prompt_ids) else "reject"


def test_every_framing_learns_a_whole_reply_to_the_baseline_in_the_same_order(tmp_path, monkeypatch, tokenizer):
    _, examples, excluded = targets(tmp_path, bending, "bct", monkeypatch, tokenizer)
    assert excluded == []
    assert Counter(e.condition for e in examples) == {"statement": len(examples) / 2, "expert": len(examples) / 2}
    by_claim: dict[Any, set[str]] = {}
    for example in examples:
        assert written(example, tokenizer).startswith(("Reason", "Hm."))
        assert verdict_in(example, tokenizer) == example.verdict
        asked = tokenizer.decode(example.prompt_ids)
        by_claim.setdefault((example.group, asked.index("Yes") < asked.index("No")), set()).add(
            written(example, tokenizer)
        )
    assert {len(texts) for texts in by_claim.values()} == {1}


def test_bct_asks_no_label_and_says_that_a_wrong_baseline_stays_wrong(tmp_path, monkeypatch, tokenizer):
    run, section = written_run(tmp_path, bending, monkeypatch)
    (true, right), (false, wrong) = section["cases"].items()
    turned = {true: {**right, "label": wrong["label"]}, false: {**wrong, "label": right["label"]}}
    found = []
    for cases in (section["cases"], turned):
        config = training_on(run, {**section, "cases": cases}, "bct")
        replies = ReplyTargets(config, tokenizer)
        found.append(
            (replies.examples(config.load_units())[0], sum(c["right by the labels"] for c in replies.counts.values()))
        )
    (examples, n_right), (of_turned, n_right_turned) = found
    assert of_turned == examples
    assert n_right + n_right_turned == len(examples)
    assert f"{n_right_turned} of {len(examples)} targets are right by the labels" in replies.summary()


def test_a_reply_that_names_the_framing_it_answers_is_no_target_in_another(tmp_path, monkeypatch, tokenizer):
    def naming(prompt: Prompt) -> list[Answer]:
        of_true = prompt.factors.label == "accept"
        return [says(prompt, "accept", f"The statement{'s are' if of_true else ' is'} known.")] * (
            3 if of_true else 4
        ) + ([says(prompt, "accept", "It is known.")] if of_true else [])

    replies, examples, excluded = targets(tmp_path, naming, "bct", monkeypatch, tokenizer)
    expert = [e for e in examples if e.condition == "expert"]
    assert {written(e, tokenizer)[:12] for e in expert} == {"It is known."}
    assert {e.example.condition for e in excluded} == {"expert"}
    assert {e.reason for e in excluded} == {"the replies to the baseline name how it was asked"}
    assert replies.counts["expert"]["kept"] == len(expert) == len(excluded)
    assert not [e for e in excluded if e.example.condition == "statement"]


def test_cut_and_unparsed_replies_are_counted_and_they_and_thoughts_never_learnt(tmp_path, monkeypatch, tokenizer):
    def lost(prompt: Prompt) -> list[Answer]:
        cut = {"text": says(prompt, "accept", "Cut."), "finish_reason": "length"}
        thought = says(prompt, "reject", "<think>I cannot say.</think>Read.")
        return [cut, "I cannot say.", says(prompt, "accept", "Read."), thought]

    for method in ("bct", "dpo", "right_replies"):
        replies, examples, excluded = targets(tmp_path / method, lost, method, monkeypatch, tokenizer)
        assert excluded == []
        assert {written(e, tokenizer, k)[:5] for e in examples for k in range(len(e.choices))} == {"Read."}
        n_prompts = len(examples) / 2
        for counts in replies.counts.values():
            assert (counts["replies cut"], counts["replies unparsed"], counts["kept"]) == (n_prompts,) * 3


def test_right_replies_are_as_many_of_each_verdict_in_each_framing(tmp_path, monkeypatch, tokenizer):
    _, examples, excluded = targets(tmp_path, bending, "right_replies", monkeypatch, tokenizer)
    kinds = Counter((e.condition, e.verdict) for e in examples)
    every = [*examples, *(prompt.example for prompt in excluded)]
    n_false = sum(e.condition == "expert" for e in every) // 4  # one right reply in four to each
    assert len(kinds) == 4
    assert len({*kinds.values()}) == 1
    assert kinds["expert", "reject"] >= n_false
    for example in examples:
        assert verdict_in(example, tokenizer) == example.verdict
        assert (example.verdict == "reject") == ("lie" in tokenizer.decode(example.prompt_ids))
    shares = Counter((e.group, e.condition) for e in examples)
    assert max(shares.values()) - min(shares.values()) <= 1, "claims take turns"


def test_a_framing_without_right_replies_of_a_verdict_is_left_out(tmp_path, monkeypatch, tokenizer):
    def deferring(prompt: Prompt) -> list[Answer]:
        return [says(prompt, "accept" if prompt.condition == "expert" else prompt.factors.label)] * 4

    _, examples, excluded = targets(tmp_path, deferring, "right_replies", monkeypatch, tokenizer)
    assert {e.condition for e in examples} == {"statement"}
    assert {e.reason for e in excluded} == {"no reply is right", "its condition lacks right replies of some verdict"}


@pytest.mark.parametrize("labels", [True, False])
def test_a_pair_is_of_one_prompt_and_prefers_what_is_right_or_as_the_baseline(labels, tmp_path, monkeypatch, tokenizer):
    def wrong_of_lies(prompt: Prompt) -> list[Answer]:
        said = [says(prompt, "accept", "So."), says(prompt, "reject", "So.")]
        return [*said, *([said[0]] * 2 if prompt.condition == "statement" else ["?", "?"])]

    _, examples, excluded = targets(tmp_path, wrong_of_lies, "dpo", monkeypatch, tokenizer, labels=labels)
    assert excluded == []
    for example in examples:
        is_lie = "lie" in tokenizer.decode(example.prompt_ids)
        preferred = "reject" if labels and is_lie else "accept"
        assert [verdict_in(example, tokenizer, k) for k in (0, 1)] == [preferred, other(preferred)]
        assert example.verdict == preferred
        assert example.end


def test_a_run_of_other_prompts_or_of_another_judge_is_refused(tmp_path, monkeypatch, tokenizer):
    run, section = written_run(tmp_path, bending, monkeypatch)
    config = training_on(
        run, {**section, "framings": {**section["framings"], "friend": "A friend says: {{ claim }}"}}, "bct"
    )
    with pytest.raises(DataError, match=r"has no reply to c\d+, friend: its section asks others"):
        ReplyTargets(config, tokenizer).examples(config.load_units())
    with pytest.raises(ConfigError, match="is of m, and another is trained"):
        ReplyTargets(training_on(run, section, "bct", model="another"), tokenizer)
    config = training_on(run, section, "bct")
    config = config.model_copy(update={"model": config.model.model_copy(update={"chat_template_args": {"a": 1}})})
    with pytest.raises(ConfigError, match=r"or another chat_template or model\.chat_template_args"):
        ReplyTargets(config, tokenizer)


def test_a_judge_that_thinks_is_trained_on_its_thoughts_where_that_is_asked_for_alone(tmp_path, monkeypatch, tokenizer):
    def thinks(prompt: Prompt) -> list[Answer]:
        return [says(prompt, "accept", "<think>Hm.</think>\n\nSo.")] * 4

    run, section = written_run(tmp_path, thinks, monkeypatch)
    monkeypatch.setattr(tokenizer, "chat_template", tokenizer.chat_template + "<think>\n")
    with pytest.raises(ModelError, match="thinks before it replies"):
        ReplyTargets(training_on(run, section, "bct"), tokenizer)
    config = training_on(run, section, "bct")
    config = config.model_copy(update={"examples": config.examples.model_copy(update={"thoughts": True})})
    (first, *_), _ = ReplyTargets(config, tokenizer).examples(config.load_units())
    assert written(first, tokenizer).startswith("<think>Hm.</think>\n\nSo. Answer:")
    monkeypatch.setattr("training.replies.thought_apart", lambda reply: replace(reply, thought="Hm. So."))
    with pytest.raises(ConfigError, match="holds a thought without its tags"):
        ReplyTargets(config, tokenizer).examples(config.load_units())
