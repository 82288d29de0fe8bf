"""Training on conversations: what a config may ask, and nothing of the test split."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from evenhand.config import to_yaml
from evenhand.errors import ConfigError, DataError
from studies.narrator.pocket import pocket_conflicts
from studies.narrator.records import Conversation
from studies.narrator.splits import refuse_shared_pages
from tests.made.made_conflicts import conflict, of_page, use_corpus
from tests.made.places import CONFIGS
from tests.made.training_runs import tiny_run
from training.config import AnyRun, load_training_config
from training.data import TrainingData, load_data
from training.dev import without_dev
from training.narrator.study import TRAINING as TRAINING_ON_CONVERSATIONS
from training.run import folder_of
from training.sections import DevConfig
from training.train import train

TRAINING = CONFIGS / "training"
PAIRED = TRAINING / "pocket-narrator-paired.yaml"
POCKET = "pocket-conflicts"
CORPUS = {"dataset": POCKET, "split": "train"}
ITEMS = {"benchmarks": [{"dataset": "pocket", "split": "train"}]}


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
        ({"dialdefer": ITEMS}, "has sections of dialdefer and narrator; a run is of one study"),
        ({"narrator": None}, "names no study. The sections are: dialdefer, narrator"),
        (
            {"narrator": {"corpus": {"dataset": POCKET}}},
            "narrator.corpus: pocket-conflicts: split 'test' must not be trained on",
        ),
        ({"examples": {}}, "not where a reply ends: set examples.loss_on_eos=false"),
        ({"narrator": {"corpus": CORPUS}}, "of detection every label is Yes, which a judge learns without reading"),
        *(
            ({"method": method, "consistency": None}, "prefers one of two answers, and conversations have a speaker")
            for method in ("dpo", "ipo", "kto", "simpo")
        ),
        ({"optimiser": {"learning_rate": 1e-3}}, "set optimiser.order=whole_items"),
        ({"method": "own_c1", "optimiser": {"learning_rate": 1e-3}}, "set optimiser.order=whole_items"),
        (
            {"narrator": None, "dialdefer": ITEMS, "consistency": None}
            | {"optimiser": {"learning_rate": 1e-3, "order": "whole_groups"}},
            "optimiser.order: whole_groups is for units with several groups; write whole_items",
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
        assert "dialdefer" not in resolved
        copy = tmp_path / "config.yaml"
        copy.write_text(resolved)
        again = load_training_config([str(copy)])
        assert again == run
        assert folder_of(again) == folder_of(run)


def test_the_arms_on_conversations_differ_by_what_they_are_named_for() -> None:
    paired, sft, own = (
        load_training_config([str(TRAINING / f"pocket-narrator-{arm}.yaml")]).model_dump(mode="json")
        for arm in ("paired", "sft", "own")
    )
    assert {key for key in paired if paired[key] != sft[key]} == {"name", "consistency"}
    assert {key for key in own if own[key] != sft.get(key)} == {"name", "method", "target"}


# Leaks and the dev split.


def test_pockets_train_conversations_share_nothing_with_its_test_conversations() -> None:
    config = run_of(narrator={"corpus": {**CORPUS, "n_conversations": 40}})
    data = load_data(config)
    assert len(data) == 40
    data.study.refuse_test_data(data.units, config.study)


@pytest.mark.parametrize(
    ("test", "says"),
    [
        (of_page(conflict("b"), "Talk:Oak/Archive 3"), r"'a' and test conversation 'b' share a page"),
        (replace(conflict("a"), conversation_id="b"), r"'a' and test conversation 'b' share a page or their text"),
        (of_page(conflict("a", words="Other words."), "Talk:Elm"), r"the id 'a' occurs twice"),
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
    data = TrainingData(study=TRAINING_ON_CONVERSATIONS, units=conversations)
    kept, held = (side.units for side in without_dev(data, DevConfig(n_items=7, every_steps=1)))
    assert len(kept) + len(held) == 480
    assert len({conversation.meta["page_title"] for conversation in held}) == 7
    refuse_shared_pages(kept, held)
    with pytest.raises(ConfigError, match=r"dev\.n_items is 28, but there are only 56 pages of training conversations"):
        without_dev(data, DevConfig(n_items=28, every_steps=1))
