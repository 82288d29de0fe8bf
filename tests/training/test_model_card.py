"""A merged checkpoint's card: what the run's files say, how to ask it, and nothing of this machine or any benchmark."""

import pytest
import yaml

from studies.dialdefer.unified.catalogue import DATASETS
from tests.made.made_merges import made_merge
from tests.made.places import cases
from training.model_card import card_text


def card_of(root, **facts):
    unified = {"benchmarks": [{"dataset": "unified", "split": "train", "root": "/srv/somebody/data"}]}
    return card_text(
        *made_merge(root, **{"items": {"bbq": 300, "gpqa": 20, "amqa": 40}, "dialdefer": unified, **facts})
    )


def front(card):
    return dict(yaml.safe_load(card.split("---\n")[1]))


def section(card, title):
    return card.split(f"## {title}\n")[1].partition("\n## ")[0]


@pytest.mark.parametrize(("name", "trained", "base"), cases(__file__)["bases"])
def test_the_base_is_named_by_its_hub_id_and_revision_or_by_its_hash(name, trained, base, tmp_path):
    card = card_of(tmp_path, model=name, provenance={"model": {"name": name, **trained}})
    assert front(card).get("base_model") == base
    assert "`abc123`" in section(card, "What it is")
    assert "/srv/me" not in card


def test_a_card_has_what_the_files_say_and_no_folder_of_the_machine_and_no_item(tmp_path):
    card = card_of(tmp_path)
    assert front(card) == cases(__file__)["front"]
    for part in (
        "1,234 examples from 360 items (item-set hash `0123456789abcdef`)",
        "| bbq | 300 | 2 |\n| gpqa | 20 | 0 |",
        *(DATASETS[name].citation for name in ("amqa", "bbq", "gpqa")),
        "| `optimiser.learning_rate` | 0.005 |",
        "those that it was trained on | 98.4% | 0.031 | 0.250 |",
    ):
        assert part in card
    for secret in (str(tmp_path), "/srv", "bbq-1"):
        assert secret not in card
