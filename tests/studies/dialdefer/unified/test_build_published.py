"""The published split, built from the authors' release: every item as it was published."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from evenhand.sources.raw_files import json_records
from studies.dialdefer.datasets import DatasetSpec, load_items
from studies.dialdefer.published_items import published_records
from studies.dialdefer.records import Condition, Item
from studies.dialdefer.render import render
from studies.dialdefer.unified.build import build
from studies.dialdefer.unified.catalogue import NINE
from tests.made.built_folder import request
from tests.made.places import SHARED

PUBLISHED = SHARED / "data" / "published"
needs_published = pytest.mark.skipif(not PUBLISHED.exists(), reason=f"the published data is not at {PUBLISHED}")


@needs_published
def test_the_published_split_loads_as_2964_and_280_items_whose_answers_and_chats_are_the_published_ones(tmp_path):
    raw = tmp_path / "raw"
    raw.mkdir()
    (raw / "release").symlink_to(PUBLISHED)
    everything = [dataset.name for dataset in NINE] + ["aio-context"]
    wanted = request(tmp_path / "out", raw, everything)
    build(replace(wanted, test_only=True, split=replace(wanted.split, any_revision=False)))
    n_same = 0
    for name in everything:
        items = load_items([DatasetSpec(dataset=name, root=tmp_path / "out")])
        for item, record in zip(items, released_rows(name), strict=True):
            answers = (record["chosen_correct_answer"], record["chosen_incorrect_answer"])
            n_same += (item.item_id, item.correct_answer, item.incorrect_answer) == (record["id"], *answers) and (
                chats(item) == chats_in(record)
            )
    assert n_same == 3244


def released_rows(dataset: str) -> list[Mapping[str, Any]]:
    """The released records as they are."""
    if dataset == "aio-context":
        return [record.values for record in json_records(PUBLISHED / "aio" / "finalAIOdata_experiment_ready.jsonl")]
    return [record.values for record in published_records(dataset, PUBLISHED)]


def chats(item: Item) -> tuple[object, object]:
    """What stands between the chat log's marks in the two C2 prompts; r/AIO's dialogue, which is redacted."""
    if item.dataset == "aio-context":
        return item.meta["dialogue"], item.context
    texts = [
        render(item, condition).messages[0].content for condition in (Condition.C2_CORRECT, Condition.C2_INCORRECT)
    ]
    first, second = (text.split("<<<CHATLOG>>>\n")[1].split("\n<<<END_CHATLOG>>>")[0] for text in texts)
    return first, second


def chats_in(record: Mapping[str, Any]) -> tuple[object, object]:
    if record["dataset"] == "aio":
        return record["c2_input"], record["context"]
    return record["correct_chat"], record["incorrect_chat"]
