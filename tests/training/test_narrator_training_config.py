"""Training on conversations: what a config may ask, and nothing of the test split."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from evenhand.config import to_yaml
from evenhand.errors import ConfigError, DataError
from evenhand.fetch import fetch
from studies.narrator.pocket import pocket_conflicts
from studies.narrator.records import Conversation
from studies.narrator.splits import refuse_shared_pages
from tests.made.made_conflicts import conflict, of_page, use_corpus
from tests.made.places import CONFIGS
from tests.made.training_runs import tiny_run
from training.config import AnyRun, load_training_config
from training.data import load_data, refuse_test_data
from training.dev import conversations_without_dev
from training.run import folder_of
from training.sections import DevConfig
from training.train import train

TRAINING = CONFIGS / "training"
PAIRED = TRAINING / "pocket-narrator-paired.yaml"
POCKET = "pocket-conflicts"
CORPUS = {"dataset": POCKET, "split": "train"}
ITEMS = [{"dataset": "pocket", "split": "train"}]


def run_of(method: str = "sft", model: Path = Path("m"), root: Path = Path("r"), **sections: Any) -> AnyRun:
    return tiny_run(method, model, root, **{"narrator": {}, **sections})


def changed(tmp_path: Path, **keys: Any) -> list[str]:
    """The paired pocket config with some keys replaced, None: left out."""
    tree = {**yaml.safe_load(PAIRED.read_text()), **keys}
    file = tmp_path / "config.yaml"
    file.write_text(yaml.safe_dump({key: value for key, value in tree.items() if value is not None}))
    return [str(file)]


@pytest.mark.parametrize(
    ("keys", "says"),
    [
        ({"benchmarks": ITEMS}, "a run trains on either `benchmarks` or `narrator`: both are given"),
        ({"narrator": None}, "a run trains on either `benchmarks` or `narrator`: neither is"),
        (
            {"narrator": {"corpus": {"dataset": POCKET}}},
            "narrator: pocket-conflicts: split 'test' must not be trained on",
        ),
        ({"narrator": {"corpus": {**CORPUS, "split": "all"}}}, "split 'all' must not be trained on"),
        ({"narrator": {"corpus": CORPUS, "task": ["blame"]}}, "narrator.task: unknown key. Did you mean 'tasks'?"),
        ({"examples": {"loss_on_eos": False, "template": "matched"}}, "examples.template: is for `benchmarks`"),
        ({"examples": {"loss_on_eos": False, "conditions": "c1_and_c2"}}, "examples.conditions: is for `benchmarks`"),
        ({"examples": {}}, "not where a reply ends: set examples.loss_on_eos=false"),
        ({"narrator": {"corpus": CORPUS}}, "of detection every label is Yes, which a judge learns without reading"),
        *(
            ({"method": method, "consistency": None}, "prefers one of two answers, and conversations have a speaker")
            for method in ("dpo", "ipo", "kto", "simpo")
        ),
        ({"consistency": None, "trainer": "trl", "quantisation": {}}, "trainer: trl is for `benchmarks`"),
        ({"optimiser": {"learning_rate": 1e-3}}, "set optimiser.order=whole_items, or whole_groups"),
        ({"method": "own_c1", "optimiser": {"learning_rate": 1e-3}}, "set optimiser.order=whole_items, or whole_g"),
        (
            {"narrator": None, "benchmarks": ITEMS, "consistency": None}
            | {"optimiser": {"learning_rate": 1e-3, "order": "whole_groups"}},
            "optimiser.order: whole_groups is for `narrator`; write whole_items",
        ),
    ],
)
def test_what_a_run_on_conversations_cannot_be_is_refused_with_the_way_out(
    keys: dict[str, Any], says: str, tmp_path: Path
) -> None:
    with pytest.raises(ConfigError) as refusal:
        load_training_config(changed(tmp_path, **keys))
    assert says in str(refusal.value)


def test_a_resolved_config_has_no_key_of_the_other_study_and_is_read_again(tmp_path: Path) -> None:
    for file in sorted(TRAINING.glob("*narrator*.yaml")):
        run = load_training_config([str(file)])
        resolved = to_yaml(run)
        assert not {"template", "conditions", "speakers"} & set(yaml.safe_load(resolved)["examples"])
        assert "benchmarks" not in resolved
        copy = tmp_path / "config.yaml"
        copy.write_text(resolved)
        again = load_training_config([str(copy)])
        assert again == run
        assert folder_of(again) == folder_of(run)


def test_runs_on_items_keep_the_directories_that_they_had() -> None:
    names = {"pocket-sft": "dfa6bb9f", "pocket-sft-c2": "6d762c9b", "qwen2.5-7b-own-c1": "13fc1515"}
    found = {name: folder_of(load_training_config([str(TRAINING / f"{name}.yaml")])).name for name in names}
    assert found == {name: f"{name}-{digest}" for name, digest in names.items()}


def test_the_arms_on_conversations_differ_by_what_they_are_named_for() -> None:
    paired, sft, own = (
        load_training_config([str(TRAINING / f"pocket-narrator-{arm}.yaml")]).model_dump(mode="json")
        for arm in ("paired", "sft", "own")
    )
    assert {key for key in paired if paired[key] != sft[key]} == {"name", "consistency"}
    assert {key for key in own if own[key] != sft.get(key)} == {"name", "method", "target"}


def test_a_narrator_config_can_be_fetched(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fetch(PAIRED)
    assert "narrator: 32 conversations of pocket-conflicts, 516 prompts" in capsys.readouterr().out


# Leaks and the dev split.


def test_pockets_train_conversations_share_nothing_with_its_test_conversations() -> None:
    config = run_of(narrator={"corpus": {**CORPUS, "n_conversations": 40}})
    data = load_data(config)
    assert len(data) == 40
    refuse_test_data(data, config)


@pytest.mark.parametrize(
    ("test", "says"),
    [
        (of_page(conflict("b"), "Talk:Oak/Archive 3"), r"'a' and test conversation 'b' share a page"),
        (replace(conflict("a"), conversation_id="b"), r"'a' and test conversation 'b' share a page or their text"),
        (of_page(conflict("a", words="Other words."), "Talk:Elm"), r"conversation id 'a' occurs twice"),
    ],
    ids=["page", "text", "id"],
)
def test_a_conversation_that_gives_a_test_conversation_away_stops_the_run(
    test: Conversation, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    train_too = [of_page(conflict("a"), "Talk:Oak"), of_page(conflict("c", words="New."), "Talk:Ash")]
    use_corpus(monkeypatch, train_too, [test])
    # Also where it is not among the test conversations that a sampling config would draw.
    config = run_of(root=tmp_path, narrator={"corpus": {**CORPUS, "n_conversations": 1}})
    with pytest.raises(DataError, match=says):
        train(config)
    assert list(tmp_path.iterdir()) == []


def test_the_dev_split_takes_whole_pages() -> None:
    conversations = pocket_conflicts("train")
    kept, held = conversations_without_dev(conversations, DevConfig(n_items=7, every_steps=1))
    assert len(kept) + len(held) == 480
    assert len({conversation.meta["page_title"] for conversation in held}) == 7
    refuse_shared_pages(kept, held)
    with pytest.raises(ConfigError, match=r"dev\.n_items is 28, but there are only 56 pages of training conversations"):
        conversations_without_dev(conversations, DevConfig(n_items=28, every_steps=1))
