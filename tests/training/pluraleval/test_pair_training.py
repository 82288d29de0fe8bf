"""Training on pairs: what a config may ask, a run from start to merge, and what its card says."""

import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from evenhand import command
from evenhand.errors import ConfigError, DataError
from evenhand.run_directory import read_json
from studies.pluraleval import sources
from studies.pluraleval.pocket import pocket_references
from studies.pluraleval.sources import side_of
from tests.made.made_merges import made_merge
from tests.made.made_pairs import PAIRWISE, TRAIN
from tests.made.one_batch import byte_model
from tests.made.places import CONFIGS
from training.callbacks import read_metrics
from training.config import load_training_config
from training.data import load_data
from training.model_card import card_text, read_facts
from training.pluraleval.study import TRAINING

SHIPPED = CONFIGS / "training" / "pocket-pluraleval-paired.yaml"


def changed(tmp_path: Path, **responses: Any) -> list[str]:
    """The shipped config with some keys of its stage replaced."""
    tree = yaml.safe_load(SHIPPED.read_text())
    tree["pluraleval"]["responses"] |= responses
    file = tmp_path / "config.yaml"
    file.write_text(yaml.safe_dump(tree))
    return [str(file)]


@pytest.mark.parametrize(
    ("responses", "says"),
    [
        ({"tasks": ["pairwise", "ranking"]}, "what is trained on are pairs; give `responses` alone"),
        ({"references": {"dataset": "pocket-threads"}}, "split 'all' must not be trained on; write split: train"),
        ({"references": {"dataset": "pocket-threads", "split": "test"}}, "split 'test' must not be trained on"),
        ({"references": {"dataset": "pocket-threads", "split": "dev"}}, "split"),
        ({"choice_tokens": 4}, "pluraleval.responses.choice_tokens: is for sampling; take it out"),
    ],
    ids=["tasks", "all", "test", "dev", "tokens"],
)
def test_what_pairs_cannot_be_trained_on_is_refused_with_the_way_out(
    responses: dict[str, Any], says: str, tmp_path: Path
) -> None:
    with pytest.raises(ConfigError) as refusal:
        load_training_config(changed(tmp_path, **responses))
    assert says in str(refusal.value)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["optimiser.order=whole_groups"], "would part the two orders of a pair's options; write whole_items"),
        (["optimiser.order=random"], "set optimiser.order=whole_items"),
        (["optimiser.per_device_batch_size=6"], "holds no whole items of 4"),
        (["pluraleval={references: {threads: {dataset: pocket-threads}}}"], "what is trained on are pairs"),
    ],
    ids=["groups", "random", "size", "stage"],
)
def test_orders_and_stages_that_part_pairs_are_refused(words: list[str], says: str) -> None:
    with pytest.raises(ConfigError) as refusal:
        load_training_config([str(SHIPPED), *words])
    assert says in str(refusal.value)


def test_threads_without_unequal_votes_and_folders_without_a_training_thread_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = pocket_references()
    far = load_training_config(changed(tmp_path, pairings=["random"], min_gap=1000))
    with pytest.raises(DataError, match=r"none of its 6 training threads has two opinions with unequal votes"):
        load_data(far)
    monkeypatch.setattr(sources, "pocket_references", lambda: [s for s in known if side_of(s) == "test"])
    with pytest.raises(DataError, match="none of its 3 threads is of split train"):
        load_data(load_training_config([str(SHIPPED)]))


def test_an_absent_folder_is_refused_before_anything_is_read(tmp_path: Path) -> None:
    built = {"dataset": "built", "root": str(tmp_path / "gone"), "split": "train"}
    config = load_training_config(changed(tmp_path, references=built))
    with pytest.raises(DataError, match="holds no finished build; make one with `evenhand build references`"):
        TRAINING.check_presence(config.study)


def test_a_tiny_model_trains_two_steps_on_pairs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    model = byte_model(tmp_path / "model")
    words = [
        f"model.name={model}",
        f"run.root={tmp_path}",
        "optimiser.max_steps=2",
        "optimiser.per_device_batch_size=4",
        "optimiser.row_tokens=4096",
        "examples.max_prompt_length=1024",
        "quantisation.kind=none",
        "lora.r=4",
        "run.logging_steps=1",
        "dev={n_items: 1, every_steps: 1}",
    ]
    monkeypatch.setattr(sys, "argv", ["evenhand", "train", str(SHIPPED), *words])
    with pytest.raises(SystemExit) as end:
        command.main()
    assert end.value.code == 0
    run = Path(capsys.readouterr().out.splitlines()[-1])
    done = read_json(run / "DONE.json")
    data = load_data(load_training_config([str(SHIPPED)]))
    assert done["n_examples"] + done["n_dev"] + done["n_excluded"] == 4 * len(data)
    assert done["n_dev"] > 0
    logged = [record for record in read_metrics(run / "metrics.jsonl") if "loss" in record]
    assert len(logged) == 2
    assert all(record["loss"] > 0 for record in logged)
    assert read_json(run / "provenance.json")["item_set_hash"] == data.set_hash


# The card.


@pytest.mark.parametrize("chat_format", ["chat", "raw"])
def test_a_card_tells_what_was_asked_of_how_many_threads_and_what_a_judge_may_have_learnt(
    chat_format: str, tmp_path: Path
) -> None:
    sections: dict[str, Any] = {
        "examples": {"format": chat_format, "loss_on_eos": False},
        "pluraleval": {"responses": {**PAIRWISE, "references": TRAIN}},
        "optimiser": {"order": "whole_items"},
    }
    card = card_text(read_facts(*made_merge(tmp_path, items={"pocket-threads": 83}, method="own_c1", **sections)))
    assert "examples from 83 pairs" in card
    assert "Here that is the prompt in which the user states no belief." in card
    assert "a judge can learn to contradict the user" in card
    assert "I think each side of a fence belongs to its owner." in card
    assert "pocket-pairs-margin.yaml name=after model.name=PLACE pluraleval.responses.references.split=test" in card
    assert ("format=raw" in card) == (chat_format == "raw")
    assert "nobody in it is real" in card
