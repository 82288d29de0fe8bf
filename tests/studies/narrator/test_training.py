"""Training on conversations: each speaker's own token, nothing of the test split, a run, its card."""

from collections import Counter
from dataclasses import replace

import pytest

from evenhand.errors import ConfigError, DataError
from inference.encoding import Encoder
from studies.narrator.corpus import CorpusSpec, check_no_shared_pages, load_conversations
from studies.narrator.training import SHARED, TRAINING
from tests.made.made_conflicts import conflict, narrator_config, of_page, use_corpus
from tests.made.tiny_checkpoint import byte_tokenizer
from tests.made.training_runs import tiny_run
from training.examples import TOO_LONG, WITH_ANOTHER
from training.train import train

POCKET = "pocket-conflicts"
CORPUS = {"dataset": POCKET, "split": "train"}
TWO, ALL = ["identification", "blame"], ["detection", "identification", "blame"]
CONFLICTS = load_conversations(CorpusSpec(dataset="pocket-conflicts", split="train", n_conversations=12))


def run_of(method="sft", model="m", root="r", **sections):
    return tiny_run(method, model, root, study="narrator", **sections)


@pytest.mark.parametrize(("method", "tasks"), [("sft", TWO), ("label_free", ALL)])
@pytest.mark.parametrize("chat_template", [True, False])
def test_a_prompt_is_trained_on_as_inference_asks_it_and_a_choice_is_where_its_option_begins(
    tokenizer, chat_template, method, tasks
):
    examples_section = {"chat_template": chat_template, "max_prompt_length": 4096}
    config = run_of(method, examples=examples_section, narrator={"tasks": tasks})
    examples, excluded = TRAINING.examples(CONFLICTS[:3], config, tokenizer)
    assert excluded == []
    found = {(e.group, e.prompt_ids): e for e in examples}
    reading = narrator_config(verdict="options", chat_template=chat_template, engine={"kind": "transformers"})
    asked = [(unit, prompt) for unit in CONFLICTS[:3] for prompt in config.narrator.prompts_of(unit)]
    encoded = Encoder(tokenizer, reading).encode([prompt for _, prompt in asked])
    for (unit, prompt), encoding in zip(asked, encoded, strict=True):
        factors, options = prompt.factors, encoding.options
        example = found[f"{unit.conversation_id} {factors.task} {factors.visibility}", tuple(encoding.token_ids)]
        names = ["Me" if speaker == factors.narrator else unit.names[speaker] for speaker in unit.speakers]
        answers = ["Yes", "No"] if factors.task == "detection" else names
        assert list(example.choices) == [options[answer][0] for answer in answers]
        assert answers[example.right] == factors.target
        whole = tuple(options[factors.target])
        assert example.right_ids == (whole if method == "sft" else whole[:1])
        assert not example.is_anchor or factors.narrator == ""
        assert example.condition == factors.perspective
    assert len(asked) == len(examples)
    assert Counter(e.group for e in examples if e.is_anchor) == dict.fromkeys({e.group for e in examples}, 1)
    assert any(len(example.right_ids) > 2 for example in examples) == (method == "sft")


def test_what_all_options_begin_with_belongs_to_the_prompt():
    tokenizer = byte_tokenizer(word_start=True)  # as Mistral's: every text starts with a mark of its own
    config = run_of(narrator={"tasks": ["blame"]}, examples={"max_prompt_length": 4096})
    examples, _ = TRAINING.examples([conflict("a", 2, words="No."), renamed()], config, tokenizer)
    assert {tokenizer.decode([e.prompt_ids[-1]]) for e in examples} == {"_"}
    assert {tokenizer.decode([token]) for e in examples for token in e.choices} == {"C", "D", "M"}
    assert {tokenizer.decode(list(e.right_ids)) for e in examples} == {"Dov", "Me"}


def renamed():
    """A conversation whose names differ in their first letter."""
    return replace(conflict("b", 2), names={"Ann": "Cleo", "Anna": "Dov"})


def test_a_group_goes_whole_where_one_token_does_not_tell_a_prompts_options_apart():
    tokenizer = byte_tokenizer()  # a letter a token: Ann and Anna begin alike
    config = run_of("label_free", narrator={"tasks": ["detection", "blame"], "visibilities": ["visible"]})
    config = config.model_copy(update={"examples": config.examples.model_copy(update={"max_prompt_length": 4096})})
    examples, excluded = TRAINING.examples([conflict("a", 3), renamed()], config, tokenizer)
    assert {e.group for e in examples} == {"a detection visible", "b detection visible", "b blame visible"}
    # Ann, who attacks, Anna and Bo: told apart only where Ann or Anna is Me.
    one_order = [("neutral", SHARED), ("attacker", WITH_ANOTHER), ("non_attacker", WITH_ANOTHER)]
    one_order += [("non_attacker", SHARED)]
    assert [(e.example.condition, e.reason) for e in excluded] == [*one_order, *one_order], "of both option orders"
    assert {e.example.group for e in excluded} == {"a blame visible"}
    assert {e.example.dataset for e in excluded} == {"made-conflicts"}


@pytest.mark.parametrize("compares", [False, True])
def test_a_prompt_too_long_takes_its_group_along_where_the_loss_compares_prompts(tokenizer, compares):
    everything, none = TRAINING.examples(CONFLICTS[:3], run_of(), tokenizer)
    assert none == []
    limit = sorted(len(e.prompt_ids) for e in everything)[len(everything) // 2]
    paired = {"method": "paired", "paired": {"weight": 1.0}} if compares else {}
    config = run_of(examples={"max_prompt_length": limit}, **paired)
    kept, excluded = TRAINING.examples(CONFLICTS[:3], config, tokenizer)
    longer = {e.group for e in everything if len(e.prompt_ids) > limit}
    partly = {e.group for e in everything if len(e.prompt_ids) <= limit} & longer
    assert partly, "no group has both, nothing is shown"
    expected = [e for e in everything if (e.group not in longer if compares else len(e.prompt_ids) <= limit)]
    assert kept == expected
    assert len(kept) + len(excluded) == len(everything)
    assert {e.reason for e in excluded if len(e.example.prompt_ids) > limit} == {TOO_LONG}
    assert {e.reason for e in excluded if len(e.example.prompt_ids) <= limit} == ({WITH_ANOTHER} if compares else set())


@pytest.mark.parametrize(
    ("test", "says"),
    [
        (of_page(conflict("b"), "Talk:Oak/Archive 3"), r"'a' and test conversation 'b' share a page"),
        (replace(conflict("a"), conversation_id="b"), r"'a' and test conversation 'b' share a page or their text"),
        (of_page(conflict("a", words="Other words."), "Talk:Elm"), r"the id 'a' occurs twice"),
    ],
    ids=["page", "text", "id"],
)
def test_a_conversation_that_gives_a_test_conversation_away_stops_the_run(test, says, tmp_path, monkeypatch):
    train_too = [of_page(conflict("a"), "Talk:Oak"), of_page(conflict("c", words="New."), "Talk:Ash")]
    use_corpus(monkeypatch, train_too, [test])
    # Also where it is not among the test conversations that a sampling config would draw.
    config = run_of(root=tmp_path, narrator={"corpus": {**CORPUS, "n_conversations": 1}})
    with pytest.raises(DataError, match=says):
        train(config)
    assert list(tmp_path.iterdir()) == []


def test_the_dev_split_takes_whole_pages():
    conversations = load_conversations(CorpusSpec(dataset="pocket-conflicts", split="train"))
    kept, held = run_of(dev={"n_items": 7, "every_steps": 1}).split(conversations)
    assert len(kept) + len(held) == 480
    assert len({conversation.meta["page_title"] for conversation in held}) == 7
    check_no_shared_pages(kept, held)
    with pytest.raises(ConfigError, match=r"dev\.n_items is 28, but there are only 56 families of conversations"):
        run_of(dev={"n_items": 28, "every_steps": 1}).split(conversations)
