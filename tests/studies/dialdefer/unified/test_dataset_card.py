"""A built folder is a dataset that `datasets` loads by its card, and the card tells what is in it."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from studies.built_folder import read_manifest
from studies.dialdefer.item_table import read_items, table_schema
from studies.dialdefer.unified.catalogue import DATASETS
from studies.dialdefer.unified.dataset_card import WHOLE, card_text
from tests.made.built_folder import build_small

NAMES = ("truthfulqa", "bbq", "socialiqa")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_small(tmp_path_factory.mktemp("card"), *NAMES)


def front(card: str) -> dict[str, Any]:
    return yaml.safe_load(card.split("---\n")[1])


def loaded(folder: Path, cache: Path, *name: str, split: str) -> Any:
    from datasets import load_dataset

    return load_dataset(str(folder), *name, split=split, cache_dir=str(cache))


def test_load_dataset_gives_every_item_of_a_dataset_in_order(built: Path, tmp_path: Path) -> None:
    rows = loaded(built, tmp_path, "bbq", split="train")
    assert rows.column_names == table_schema().names
    items = list(read_items(built / "data" / "bbq" / "train.parquet"))
    assert rows["item_id"][:] == [item.item_id for item in items]
    assert rows[0]["incorrect_answers"] == items[0].meta["incorrect_answers"]


def test_without_a_name_load_dataset_gives_all_datasets_together(built: Path, tmp_path: Path) -> None:
    contents = read_manifest(built)["contents"]
    test = loaded(built, tmp_path, split="test")
    assert list(dict.fromkeys(test["dataset"])) == list(NAMES)
    assert len(test) == sum(found["n_test"] for found in contents.values())
    assert len(loaded(built, tmp_path, WHOLE, split="train")) == sum(found["n_train"] for found in contents.values())


def test_an_evaluation_only_dataset_has_no_train_split(built: Path, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="train"):
        loaded(built, tmp_path, "truthfulqa", split="train")
    card = (built / "README.md").read_text()
    assert "There is no training split of truthfulqa." in card
    one = next(config for config in front(card)["configs"] if config["config_name"] == "truthfulqa")
    assert one["data_files"] == [{"split": "test", "path": ["data/truthfulqa/test.parquet"]}]


def test_the_front_matter_says_what_the_hub_asks_for(built: Path) -> None:
    facts = front((built / "README.md").read_text())
    assert (facts["license"], facts["language"]) == ("other", ["en"])
    assert [config["config_name"] for config in facts["configs"]] == [WHOLE, *NAMES]
    assert [config.get("default", False) for config in facts["configs"]] == [True, False, False, False]


def test_the_card_names_every_column_source_licence_and_count(built: Path) -> None:
    card, manifest = (built / "README.md").read_text(), read_manifest(built)
    assert [line.split("`")[1] for line in card.splitlines() if line.startswith("| `")] == table_schema().names
    for files in manifest["sources"].values():
        for file in files:
            assert f"{file['name']} (put there by hand) | not known | {file['sha256']}" in card
    for name, found in manifest["contents"].items():
        assert f"| {name} | 0 | {found['n_pool']:,} | {found['n_train']:,} | {found['n_test']:,} |" in card
        assert f"- **{name}**: {DATASETS[name].licence.name}; may be passed on. {DATASETS[name].citation}" in card
    assert manifest["created"] in card
    assert (manifest["code"]["commit"] or "an unknown commit") in card


def test_the_card_of_a_new_draw_says_that_it_is_not_the_published_split(built: Path) -> None:
    manifest = read_manifest(built)
    assert "with seed 42. They are not the published test split." in card_text(manifest)
    published = {**manifest, "split": {"kind": "published", "seed": 42, "sizes": {}}}
    assert "The test items are the published ones" in card_text(published)
