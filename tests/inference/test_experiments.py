"""Experiments of several prompt variants: what each asks, on which datasets, in which order, and its verdicts."""

from itertools import product
from os.path import commonprefix

import pytest

from inference.config import load_sampling_config
from inference.schedule import first_prompts, in_prefix_order
from studies.dialdefer.panels import variant_of
from studies.dialdefer.render import SETS, TEMPLATES
from tests.made.experiment_runs import N_ITEMS, run_with, says_one, use_few_items, with_variants
from tests.made.places import CONFIGS, cases
from tests.made.scripted_engine import AnsweringEngine

FOLDER = CONFIGS / "experiments"
EXPERIMENTS = sorted(FOLDER.glob("*.yaml"))
SEVERAL = ({"arm": "honest"}, {"speakers": ["A", "B"]}, {"template": "v2"}, {"answer_order": "no_first"})


def every_wording(names):
    """Every template of a set that margins can be read in, the first the main one, in both answer orders."""
    others = [(name, "/".join(TEMPLATES[name, "one_token"].speakers or ())) for name in names[1:] if name != "paper"]
    orders = product([("", ""), *others], ("", "no_first"))
    return {", ".join(filter(None, [*words, order])): ("pocket",) for words, order in orders}


ON_PAPER = cases(__file__)["experiments"]
EXPECTED = {name: {variant: tuple(asked) for variant, asked in of.items()} for name, of in ON_PAPER.items()}
EXPECTED |= {f"wordings-{name}": every_wording(names) for name, names in SETS.items()}  # ours, of no paper


@pytest.fixture(autouse=True)
def few(monkeypatch):
    use_few_items(monkeypatch)


def experiment(path, root):
    return load_sampling_config([str(path), f"run.root={root}"])


@pytest.mark.parametrize("path", EXPERIMENTS, ids=lambda p: p.stem)
def test_an_experiment_gives_every_variant_its_verdicts_on_its_datasets(path, tmp_path, monkeypatch):
    run = run_with(judge := AnsweringEngine(says_one), experiment(path, tmp_path), monkeypatch)
    found = {}
    for panel in run.panels:
        name = variant_of(panel, run.panels)
        main_roles = panel.roles == "2->1"
        words = [name, "" if panel.factors.arm == "none" else panel.factors.arm, "" if main_roles else panel.roles]
        if "both_orders" not in name:
            found.setdefault(", ".join(filter(None, words)), []).append(panel.dataset)
        assert len(panel.item_ids) == N_ITEMS
        assert panel.has_c1
        assert panel.has_c2
    assert {name: tuple(datasets) for name, datasets in found.items()} == EXPECTED[path.stem]
    assert judge.asked_once() == len({p.prompt_hash for p in run.plan})


def test_no_earlier_prompt_shares_a_longer_beginning_than_the_one_just_before():
    ordered = in_prefix_order(first_prompts(with_variants(*SEVERAL, datasets=("truthfulqa", "aio-context"))))
    texts = ["\0".join(f"{m.role}\0{m.content}" for m in prompt.messages) for prompt in ordered]
    for i, text in enumerate(texts[1:], start=1):
        shared = [len(commonprefix([earlier, text])) for earlier in texts[:i]]
        assert shared[-1] == max(shared)
