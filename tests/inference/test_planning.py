"""Wordings planned together: what they share is asked once, in an order that is always the same."""

import subprocess
import sys
from typing import Any

import pytest

from evenhand.errors import ConfigError
from inference.schedule import first_prompts, in_prefix_order
from tests.made.experiment_runs import N_ITEMS, use_few_items, with_variants
from tests.made.places import ROOT

SEVERAL = ({"arm": "honest"}, {"speakers": ["A", "B"]}, {"template": "v2"}, {"answer_order": "no_first"})


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    use_few_items(monkeypatch)


@pytest.mark.usefixtures("few")
def test_r_aio_has_one_template_so_a_paraphrase_adds_nothing_there() -> None:
    planned = first_prompts(with_variants({"template": "v1"}, datasets=("truthfulqa", "aio-context")))
    assert [p.factors.template for p in planned if p.dataset == "aio-context"] == ["aio"] * 4 * N_ITEMS
    assert {p.factors.template for p in planned if p.dataset == "truthfulqa"} == {"published", "v1"}


@pytest.mark.usefixtures("few")
def test_a_variant_without_an_arm_is_asked_under_every_arm_of_the_run() -> None:
    planned = first_prompts(with_variants({"template": "v1"}, prompts={"arms": ["none", "honest"]}))
    assert {(p.factors.arm, p.factors.template) for p in planned} == {
        (arm, template) for arm in ("none", "honest") for template in ("published", "v1")
    }


@pytest.mark.parametrize(
    ("variant", "says"),
    [
        ({}, "prompts.variants[0]: names nothing to change"),
        ({"tempalte": "v1"}, "prompts.variants[0]: unknown key 'tempalte'. Did you mean 'template'?"),
        ({"template": "v9"}, "template 'v9' has no json form"),
        ({"arm": "honest", "datasets": ["truthful"]}, "unknown dataset 'truthful'. Did you mean 'truthfulqa'?"),
    ],
)
def test_a_variant_that_cannot_be_is_refused_with_its_key(variant: dict[str, Any], says: str) -> None:
    with pytest.raises(ConfigError) as refusal:
        with_variants(variant)
    assert says in str(refusal.value)


def shared(one: str, other: str) -> int:
    """The length of the longest common beginning."""
    return next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


@pytest.mark.usefixtures("few")
def test_no_earlier_prompt_shares_a_longer_beginning_than_the_one_just_before() -> None:
    ordered = in_prefix_order(first_prompts(with_variants(*SEVERAL, datasets=("truthfulqa", "aio-context"))))
    texts = ["\0".join(f"{m.role}\0{m.content}" for m in prompt.messages) for prompt in ordered]
    for i, text in enumerate(texts[1:], start=1):
        assert shared(texts[i - 1], text) == max(shared(earlier, text) for earlier in texts[:i])


def test_plan_and_order_are_the_same_in_every_process() -> None:
    code = f"""
from evenhand.records import digest
from inference.schedule import first_prompts
from tests.made.sampling_configs import sampling_config
from inference.schedule import in_prefix_order
tree = dict(name="x", model=dict(name="m"), benchmarks=[dict(dataset="pocket", n_items=20)])
prompts = first_prompts(sampling_config(dict(tree, prompts=dict(variants={list(SEVERAL)}))))
for order in (prompts, in_prefix_order(prompts)):
    print(len(order), digest([p.prompt_hash for p in order]))
"""
    outputs = [
        subprocess.run(
            [sys.executable, "-c", code],
            cwd=ROOT,
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": "."},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    ]
    assert outputs[0] == outputs[1]
    assert outputs[0].startswith("400 ")
