"""What is trained on of a conversation: each speaker's own token in one order of speakers, whoever is called Me."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from evenhand.checkpoints import load_tokenizer
from evenhand.embedded import embedded_model_path
from evenhand.records import Prompt
from inference.encoding import Encoder
from studies.narrator.pocket import pocket_conflicts
from studies.narrator.records import Conversation, NarratorFactors
from tests.made.made_conflicts import conflict, narrator_config
from tests.made.tiny_checkpoint import byte_tokenizer
from tests.made.training_runs import tiny_run
from training.batches import Collator
from training.config import AnyRun
from training.examples import TOO_LONG, Example, by_group
from training.narrator.examples import OF_GROUP, SHARED, make_narrator_examples
from training.objectives import divergence_in_groups

CONFLICTS = pocket_conflicts("train")[:12]


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    return load_tokenizer(embedded_model_path())


def run_of(method: str = "sft", **sections: Any) -> AnyRun:
    return tiny_run(method, Path("m"), Path("r"), **{"narrator": {}, **sections})


def asked(config: AnyRun, conversation: Conversation) -> list[tuple[Prompt, NarratorFactors]]:
    assert config.narrator is not None
    prompts = config.narrator.prompts_of(conversation)
    return [(prompt, prompt.factors) for prompt in prompts if isinstance(prompt.factors, NarratorFactors)]


def encoded(tokenizer: Any, prompts: Sequence[Prompt], chat_format: str = "chat") -> list[tuple[tuple[int, ...], Any]]:
    """Tokens of each prompt and of its options, as an engine that reads options asks them."""
    reading = narrator_config(verdict="options", format=chat_format, engine={"kind": "transformers"})
    return [(tuple(e.token_ids), e.options) for e in Encoder(tokenizer, reading).encode(prompts)]


TWO, ALL = ["identification", "blame"], ["detection", "identification", "blame"]


@pytest.mark.parametrize(("method", "tasks"), [("sft", TWO), ("own_c1", ALL)])
@pytest.mark.parametrize("chat_format", ["chat", "raw"])
def test_a_prompt_is_trained_on_as_inference_asks_it_and_a_choice_is_where_its_option_begins(
    tokenizer: Any, chat_format: str, method: str, tasks: list[str]
) -> None:
    examples_section = {"format": chat_format, "max_prompt_length": 4096}
    config = run_of(method, examples=examples_section, narrator={"tasks": tasks})
    examples, excluded = make_narrator_examples(CONFLICTS[:3], config, tokenizer)
    assert excluded == []
    found = {(e.group, e.prompt_ids): e for e in examples}
    n_seen = 0
    for conversation in CONFLICTS[:3]:
        prompts = asked(config, conversation)
        tokens = encoded(tokenizer, [prompt for prompt, _ in prompts], chat_format)
        for (_, factors), (ids, options) in zip(prompts, tokens, strict=True):
            group = f"{conversation.conversation_id} {factors.task} {factors.visibility} {factors.option_order}"
            example = found[group, ids]
            shown = [
                "Me" if speaker == factors.narrator else conversation.names[speaker]
                for speaker in conversation.speakers
            ]
            answers = ["Yes", "No"] if factors.task == "detection" else shown
            assert list(example.choices) == [options[answer][0] for answer in answers]
            assert answers[example.right] == factors.target
            whole = tuple(options[factors.target])
            assert (example.choices[example.right], *example.rest) == (whole if method == "sft" else whole[:1])
            assert example.is_anchor == (factors.narrator == "")
            assert example.condition == factors.perspective
            n_seen += 1
    assert n_seen == len(examples) == len(found)
    assert any(len(example.rest) > 1 for example in examples) == (method == "sft")


def test_the_members_of_a_group_name_the_speakers_in_one_order_with_me_in_the_narrators_slot(tokenizer: Any) -> None:
    config = run_of(narrator={"tasks": ["blame"], "visibilities": ["visible"]})
    (me,) = tokenizer.encode("Me", add_special_tokens=False)
    by_id = {conversation.conversation_id: conversation for conversation in CONFLICTS}
    groups = by_group(make_narrator_examples(CONFLICTS, config, tokenizer)[0])
    assert len(groups) > 20
    for group in groups:
        conversation = by_id[group[0].item_id]
        (neutral,) = (e for e in group if e.is_anchor)
        spelled = [tokenizer.decode([token]) for token in neutral.choices]
        names = [conversation.names[speaker] for speaker in conversation.speakers]
        assert all(name.startswith(start) for name, start in zip(names, spelled, strict=True))
        assert {e.right for e in group} == {conversation.speakers.index(conversation.attacker)}
        slots = []
        for narrated in (e for e in group if not e.is_anchor):
            (slot,) = (place for place, token in enumerate(narrated.choices) if token == me)
            slots.append(slot)
            assert [t for t in narrated.choices if t != me] == [
                t for t in neutral.choices if t != neutral.choices[slot]
            ]
            assert (narrated.condition == "attacker") == (slot == narrated.right)
        assert sorted(slots) == list(range(len(names))), "each speaker is Me once"


def test_what_all_options_begin_with_belongs_to_the_prompt() -> None:
    tokenizer = byte_tokenizer(word_start=True)  # as Mistral's: every text starts with a mark of its own
    config = run_of(narrator={"tasks": ["blame"]}, examples={"max_prompt_length": 4096})
    examples, _ = make_narrator_examples([conflict("a", 2, words="No."), renamed()], config, tokenizer)
    assert {tokenizer.decode([e.prompt_ids[-1]]) for e in examples} == {"_"}
    assert {tokenizer.decode([token]) for e in examples for token in e.choices} == {"C", "D", "M"}
    assert {tokenizer.decode(list(e.right_ids)) for e in examples} == {"Dov", "Me"}


def renamed() -> Conversation:
    """A conversation whose names differ in their first letter."""
    return replace(conflict("b", 2), names={"Ann": "Cleo", "Anna": "Dov"})


def test_a_group_goes_whole_where_one_token_does_not_tell_a_prompts_options_apart() -> None:
    tokenizer = byte_tokenizer()  # a letter a token: Ann and Anna begin alike
    config = run_of("own_c1", narrator={"tasks": ["detection", "blame"], "visibilities": ["visible"]})
    config = config.model_copy(update={"examples": config.examples.model_copy(update={"max_prompt_length": 4096})})
    examples, excluded = make_narrator_examples([conflict("a", 3), renamed()], config, tokenizer)
    assert {e.group for e in examples} == {
        *(f"a detection visible {order}" for order in ("published", "fixed_slot")),
        *(f"b {task} visible {order}" for task in ("detection", "blame") for order in ("published", "fixed_slot")),
    }
    for order in ("published", "fixed_slot"):
        # Ann, who attacks, Anna and Bo: told apart only where Ann or Anna is Me.
        assert [(e.condition, e.reason) for e in excluded if e.group == f"a blame visible {order}"] == [
            ("neutral", SHARED),
            ("attacker", OF_GROUP),
            ("non_attacker", OF_GROUP),
            ("non_attacker", SHARED),
        ]
    assert len(excluded) == 8
    assert {e.dataset for e in excluded} == {"made-conflicts"}


@pytest.mark.parametrize("compares", [False, True])
def test_a_prompt_too_long_takes_its_group_along_where_the_loss_compares_prompts(
    tokenizer: Any, compares: bool
) -> None:
    consistency = {"consistency": {"weight": 1.0}} if compares else {}
    everything, none = make_narrator_examples(CONFLICTS[:3], run_of(**consistency), tokenizer)
    assert none == []
    limit = sorted(len(e.prompt_ids) for e in everything)[len(everything) // 2]
    config = run_of(examples={"max_prompt_length": limit}, **consistency)
    kept, excluded = make_narrator_examples(CONFLICTS[:3], config, tokenizer)
    longer = {e.group for e in everything if len(e.prompt_ids) > limit}
    partly = {e.group for e in everything if len(e.prompt_ids) <= limit} & longer
    assert partly, "no group has both, nothing is shown"
    expected = [e for e in everything if (e.group not in longer if compares else len(e.prompt_ids) <= limit)]
    assert kept == expected
    assert len(kept) + len(excluded) == len(everything)
    assert {e.reason for e in excluded if e.prompt_tokens > limit} == {TOO_LONG}
    assert {e.reason for e in excluded if e.prompt_tokens <= limit} == ({OF_GROUP} if compares else set())


# The divergence of made judges: what the consistency term sees of them.


def divergence(examples: Sequence[Example], verdicts: Sequence[Sequence[float]]) -> float:
    batch = Collator(pad=0, branches="none", row_tokens=2048)([list(examples)])
    return divergence_in_groups(torch.tensor(verdicts, dtype=torch.float64), batch["groups"]).mean().item()


def test_a_judge_that_names_one_speaker_whoever_is_me_has_no_divergence_and_one_that_bends_to_me_has(
    tokenizer: Any,
) -> None:
    config = run_of(narrator={"tasks": ["identification", "blame"], "visibilities": ["visible"]})
    (me,) = tokenizer.encode("Me", add_special_tokens=False)
    three = [conversation for conversation in CONFLICTS if len(conversation.speakers) == 3]
    examples, _ = make_narrator_examples(three, config, tokenizer)
    fair = [[-0.1 if place == e.right else -3.0 for place in range(3)] for e in examples]
    assert divergence(examples, fair) == pytest.approx(0, abs=1e-12)
    for of_me in (-9.0, 9.0):  # spares Me, accuses Me
        bent = [
            [of_me if token == me else log for token, log in zip(e.choices, logs, strict=True)]
            for e, logs in zip(examples, fair, strict=True)
        ]
        assert divergence(examples, bent) > 0.1
