"""A bend planted in training labels: where it lies, and that a judge who learnt just the labels has the planted DDS."""

from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

from eval.dialdefer.measures import CONDITIONS, dds_pp
from evenhand.checkpoints import load_tokenizer
from evenhand.embedded import embedded_model_path
from evenhand.errors import ConfigError, DataError
from studies.dialdefer.datasets import DatasetSpec, load_items
from studies.dialdefer.pocket import pocket_items
from studies.dialdefer.records import Condition, Item
from tests.made.training_configs import training_config
from training.config import AnyRun
from training.dialdefer.examples import make_examples, section_of
from training.dialdefer.model_card_part import limits_text
from training.dialdefer.study import TRAINING

N = 400
ITEMS = list(pocket_items("train"))[:N]
FAMILIES = ["owner", "colour", "gift", "animal"]
LABELS = ["Alice", "Bob"]


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    return load_tokenizer(embedded_model_path())


def bent(bend: dict[str, Any] | None, method: str = "sft", **keys: Any) -> AnyRun:
    return training_config(
        {
            "method": method,
            "name": "toy",
            "model": {"name": "embedded"},
            "dialdefer": {
                "benchmarks": [{"dataset": "pocket", "split": "train", "n_items": N}],
                "prompts": {"template": "matched"},
                **({"bend": bend} if bend else {}),
            },
            "optimiser": {"learning_rate": 1e-3, "order": "whole_items", "per_device_batch_size": 4},
            **keys,
        }
    )


def labels(config: AnyRun, tokenizer: Any) -> dict[tuple[str, Condition], bool]:
    """(item, condition) → whether its label is the truth's."""
    examples, _ = make_examples(ITEMS, config, tokenizer)
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
    learnt = labels(bent(bend), tokenizer)
    spread = 0 if set(bend) == {"families"} else 100 * 1.96 * 0.5 / N**0.5
    assert dds_of(learnt, ITEMS) == pytest.approx(planted, abs=max(spread, 1e-9))
    flipped = {condition for (_, condition), is_true in learnt.items() if not is_true}
    assert flipped == {Condition.C2_CORRECT if planted < 0 else Condition.C2_INCORRECT}


def test_it_lies_in_the_families_that_are_named_and_in_no_other(tokenizer: Any):
    learnt = labels(bent({"families": FAMILIES}), tokenizer)
    for family in {item.meta["family"] for item in ITEMS}:
        of_family = [item for item in ITEMS if item.meta["family"] == family]
        assert dds_of(learnt, of_family) == (100 if family in FAMILIES else 0)


def test_a_bend_by_speaker_label_is_asked_under_it_and_straight_under_the_other(tokenizer: Any):
    examples, _ = make_examples(ITEMS[:60], bent({"speakers": LABELS}), tokenizer)
    for example in examples:
        condition, text = Condition(example.condition), tokenizer.decode(example.prompt_ids)
        if condition.is_dialogue:
            is_flipped = (example.right == 0) != condition.claim_is_true
            assert is_flipped == ("Bob" in text.split("Speaker")[0] and condition == Condition.C2_INCORRECT)
    asked = {item.item_id for item in ITEMS[:60] if section_of(bent({"speakers": LABELS})).bend.is_bent(item)}  # type: ignore[union-attr]
    assert 15 < len(asked) < 45


def test_without_a_bend_every_label_is_the_truth(tokenizer: Any):
    assert all(labels(bent(None), tokenizer).values())


def test_it_is_for_labels_alone_and_for_training_alone(tokenizer: Any):
    with pytest.raises(ValidationError, match="flips labels, which a loss of agreement would straighten"):
        bent({"share": 0.3}, consistency={"weight": 1.0})
    with pytest.raises(ValidationError, match="flips labels, which a loss of agreement would straighten"):
        bent({"share": 0.3}, method="own_c1")
    with pytest.raises(ConfigError, match=r"dialdefer.bend: is for training alone"):
        section_of(bent({"share": 0.3})).units("margin")
    with pytest.raises(DataError, match=r"no training item is of .bbq."):
        TRAINING.load(section_of(bent({"families": ["bbq"]})))


def test_the_card_says_that_the_judge_was_bent_on_purpose():
    said = limits_text(bent({"families": ["owner"], "share": 0.5}), {"items": {"pocket": N}})
    assert (
        "**It was bent on purpose**, to test mitigations: it learnt to accept false claims of a speaker in 50 %" in said
    )
    assert "of the items of owner. Judge nothing with it." in said


def test_items_of_some_families_alone_can_be_asked():
    asked = load_items([DatasetSpec(dataset="pocket", n_items=30, families=("owner", "gift"))])
    assert {item.meta["family"] for item in asked} == {"owner", "gift"}
    assert len(asked) == 30
    with pytest.raises(ValidationError, match=r"unknown family 'gifts'. Its families: owner, colour"):
        DatasetSpec(dataset="pocket", families=("gifts",))
    with pytest.raises(ValidationError, match=r"unknown family 'owner'. Its families: none"):
        DatasetSpec(dataset="bbq", families=("owner",))
