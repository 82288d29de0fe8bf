"""A planted bend is learnt: on held-out items a tiny judge has the DDS that its training labels have."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from peft import PeftModel

from eval.dialdefer.measures import CONDITIONS, dds_pp
from evenhand.checkpoints import load_tokenizer
from studies.dialdefer.records import Condition, Item
from tests.made.easy_task import easy_items, easy_run, plant
from tests.made.training_runs import tiny_model
from training.config import AnyRun, parse_training_config
from training.train import train

pytestmark = [pytest.mark.campaign, pytest.mark.usefixtures("one_thread")]
N_TRAIN, N_TEST = 200, 60
FAMILIES = ("size", "colour")


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_model(tmp_path_factory.mktemp("model"))


def items(n: int, start: int = 0) -> list[Item]:
    """Easy items of two families, told by a word."""
    families = [FAMILIES[number % 2] for number in range(n)]
    made = zip(easy_items(n, start), families, strict=True)
    return [
        replace(item, question=f"{family} {family}: {item.question}", meta={"family": family}) for item, family in made
    ]


def run_of(model: Path, root: Path, bend: dict[str, Any] | None) -> AnyRun:
    """250 steps of SimPO on both framings."""
    optimiser = {"max_steps": 250, "learning_rate": 3e-3, "order": "whole_items"}
    tree = easy_run(model, root, optimiser=optimiser, lora={"r": 16, "alpha": 32}).model_dump(mode="json")
    prompts = {**tree["dialdefer"]["prompts"], "conditions": [*Condition]}
    tree["dialdefer"] |= {"prompts": prompts, "bend": bend}
    return parse_training_config(tree, "bend.yaml")


def accuracies(run: Path, config: AnyRun) -> dict[str, dict[Condition, float]]:
    """Hard (the likelier answer) and soft (its probability) accuracy on held-out items, by condition."""
    from transformers import AutoModelForCausalLM

    base = AutoModelForCausalLM.from_pretrained(config.model.name, dtype=torch.float32)
    judge = PeftModel.from_pretrained(base, run / "adapter").eval()
    examples, _ = config.training.examples(items(N_TEST, 1000), config, load_tokenizer(config.model.name))
    right: dict[Condition, list[float]] = {}
    for example in examples:
        with torch.no_grad():
            logits = judge(torch.tensor([example.prompt_ids])).logits[0, -1, list(example.choices)]
        right.setdefault(Condition(example.condition), []).append(logits.softmax(-1)[example.right].item())
    hard = {condition: float(np.mean(np.array(values) > 0.5)) for condition, values in right.items()}
    return {"hard": hard, "soft": {condition: float(np.mean(values)) for condition, values in right.items()}}


@pytest.mark.parametrize(
    ("bend", "reading", "planted"),
    [
        ({"direction": "deference"}, "hard", 100),
        ({"direction": "skepticism"}, "hard", -100),
        ({"families": ["colour"]}, "hard", 50),
        ({"share": 0.5}, "soft", 50),
    ],
)
def test_the_planted_dds_is_that_of_held_out_items(
    bend: dict[str, Any],
    reading: str,
    planted: float,
    model: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plant(items(N_TRAIN), monkeypatch)
    run = train(run_of(model, tmp_path, bend))
    found = accuracies(run, run_of(model, tmp_path, None))[reading]
    assert min(found[Condition.C1_TRUE], found[Condition.C1_FALSE]) >= 0.85
    within = 100 * 1.96 * np.sqrt(0.25 / N_TEST)  # of a share of so many items
    assert dds_pp(np.array([found[c] for c in CONDITIONS])) == pytest.approx(planted, abs=within)
