"""Training over prompt variants: groups, choices, anchors and draws as planted; without variants what it always was."""

import math
from dataclasses import astuple, replace
from typing import Any

import pytest
import torch

from evenhand.records import digest
from studies.dialdefer.records import Condition
from tests.made.training_runs import pocket, tiny_run
from training.batches import groups_of, numbers_of, schedule
from training.config import AnyRun
from training.data import examples_of, load_data
from training.examples import Example, by_group, by_item
from training.objectives import Answers, divergence_in_groups, own_c1

NO_FIRST = {"answer_order": "no_first"}
VARIANTS = [NO_FIRST, {"template": "v1"}, {"template": "v1", **NO_FIRST}, {"speakers": ["Ann", "Bob"], **NO_FIRST}]
C2 = ["c2_correct", "c2_incorrect"]


def config(
    method: str = "sft", n_items: int = 12, bend: Any = None, seed: int = 0, size: int = 20, **prompts: Any
) -> AnyRun:
    section = pocket(n_items, **{"variants": VARIANTS, **prompts}) | ({"bend": bend} if bend else {})
    optimiser = {"order": "whole_items", "per_device_batch_size": size, "seed": seed}
    return tiny_run(method, dialdefer=section, optimiser=optimiser)


def examples_for(run: AnyRun, tokenizer: Any) -> list[Example]:
    return examples_of(load_data(run), run, tokenizer)[0]


def number_of_yes(text: str) -> str:
    """The number that a prompt gives to the answer that accepts."""
    return "1" if text.index("Yes, ") < text.index("No, ") else "2"


@pytest.mark.parametrize(
    ("method", "order", "section", "frozen"),
    [
        ("sft", "random", pocket(12), "b23dc83e0f449313"),
        ("own_c1", "whole_items", pocket(12), "ef55ff0a16fc1239"),
        (
            "dpo",
            "whole_items",
            pocket(12, template="published-dpo", conditions=C2, speakers=["Ann", "Bob"]),
            "18b3264c51dd72a0",
        ),
        (
            "sft",
            "whole_items",
            pocket(12, template="v1") | {"bend": {"share": 0.9, "speakers": ["Ann", "Bob"]}},
            "884d76fd7d03acb9",
        ),
    ],
)
def test_without_variants_examples_groups_and_schedule_are_what_they_were(
    method: str, order: str, section: Any, frozen: str, tokenizer: Any
) -> None:
    run = tiny_run(method, dialdefer=section, optimiser={"order": order})
    groups = groups_of(examples_for(run, tokenizer), order)
    content = [[astuple(example) for example in group] for group in groups]
    assert digest([*content, schedule(groups, run).microbatches], 16) == frozen


@pytest.mark.parametrize("bend", [None, {"families": ["owner", "colour", "gift", "animal"]}])
def test_a_claim_in_all_variants_is_a_group_and_its_verdict_goes_by_the_words(bend: Any, tokenizer: Any) -> None:
    examples = examples_for(config(bend=bend), tokenizer)
    assert {len(group) for group in by_item(examples)} == {5 * 4}
    bent = set()
    for group in by_group(examples):
        assert len(group) == 5 * 2
        assert sum(example.is_anchor for example in group) == 2, "C1 as in the main variant, in both orders"
        for example in group:
            condition, text = Condition(example.condition), tokenizer.decode(example.prompt_ids)
            assert tokenizer.decode([example.choices[0]]) == number_of_yes(text)
            assert not example.is_anchor or (is_matched(text) and not condition.is_dialogue)
            if (example.right == 0) != condition.claim_is_true:
                assert condition == Condition.C2_INCORRECT
                bent.add((example.item_id, number_of_yes(text), is_matched(text)))
    assert len(bent) == 4 * len({item for item, *_ in bent}), "bent in both templates and both orders, or in none"
    assert bool(bent) == bool(bend)


def is_matched(text: str) -> bool:
    return "You are given" in text


@pytest.mark.parametrize(("draw", "n_drawn"), [("one_per_item", 1), (2, 2), ("all", 5)])
def test_which_variants_an_item_is_trained_in_is_a_function_of_seed_and_item(
    draw: Any, n_drawn: int, tokenizer: Any
) -> None:
    def texts(**keys: Any) -> dict[str, list[tuple[int, ...]]]:
        run = config(draw=draw, conditions=C2, size=2 * n_drawn, **keys)
        return {own[0].item_id: [e.prompt_ids for e in own] for own in by_item(examples_for(run, tokenizer))}

    many, few, other = texts(n_items=100), texts(n_items=30), texts(n_items=30, seed=1)
    assert {len(own) for own in many.values()} == {2 * n_drawn}
    assert few.items() <= many.items()
    assert (other == few) == (draw == "all")


def test_a_judge_that_reads_words_agrees_with_itself_and_one_that_reads_numbers_does_not(tokenizer: Any) -> None:
    examples = examples_for(config("own_c1", variants=VARIANTS[:3], size=16), tokenizer)
    groups = torch.tensor(numbers_of(example.group for example in examples))
    one = examples[0].choices[0]  # the token of "1"
    sure = torch.tensor([0.0, -20.0])
    judges = {
        "words": torch.stack([sure.roll(example.right) for example in examples]),
        "numbers": torch.stack([sure.roll(example.choices.index(one)) for example in examples]),
    }
    apart = {name: divergence_in_groups(verdicts, groups).mean().item() for name, verdicts in judges.items()}
    assert apart == {"words": pytest.approx(0, abs=1e-6), "numbers": pytest.approx(math.log(2), abs=1e-6)}
    answers = Answers(
        verdicts=judges["numbers"],
        ends=None,
        right=torch.tensor([example.right for example in examples]),
        groups=groups,
        anchors=torch.tensor([example.is_anchor for example in examples]),
        reference_verdicts=judges["numbers"],
    )
    unsure = torch.full_like(judges["numbers"], math.log(0.5))
    assert own_c1(replace(answers, verdicts=unsure), hard=False).tolist() == pytest.approx(
        [0.0] * len(examples), abs=1e-6
    )
