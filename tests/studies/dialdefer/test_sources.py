"""Real items from a data root, and what happens when the root is wrong."""

import json
from pathlib import Path
from typing import Any

import pytest

from evenhand.errors import ConfigError, DataError
from studies.dialdefer.datasets import DatasetSpec, load_items
from studies.dialdefer.records import Item
from studies.dialdefer.release import SPLIT_FOLDER

ANSWERS = {"chosen_correct_answer": "yes", "chosen_incorrect_answer": "no", "incorrect_answers": ["no", "never"]}
RECORD = {"id": "t-0", "question": "Q?", **ANSWERS}


def root_with(folder: Path, *lines: str) -> Path:
    path = folder / SPLIT_FOLDER / "truthfulqa_formatted.jsonl"
    path.parent.mkdir(parents=True)
    path.write_text("\n".join(lines))
    return folder


def truthfulqa(root: Path, **keys: object) -> list[Item]:
    return load_items([DatasetSpec.model_validate({"dataset": "truthfulqa", "root": root, **keys})])


def test_items_are_drawn_over_the_whole_split_by_their_seed_alone() -> None:
    def ids(**keys: Any) -> list[str]:
        return [item.item_id for item in load_items([DatasetSpec(dataset="pocket", split="test", **keys)])]

    every, first = ids(), ids(n_items=20, draw_seed=1)
    assert first == ids(n_items=20, draw_seed=1) != ids(n_items=20, draw_seed=2)
    assert len(set(first)) == 20
    assert first == sorted(first, key=every.index)
    assert max(map(every.index, first)) > len(every) // 2, "drawn over all of it"
    with pytest.raises(DataError, match="n_items is 1000000, but there are"):
        ids(n_items=1_000_000, draw_seed=1)
    with pytest.raises(ValueError, match="set n_items, or leave it out"):
        DatasetSpec(dataset="pocket", draw_seed=1)
    assert "draw_seed" not in DatasetSpec(dataset="pocket", n_items=1).model_dump(), "older configs keep their digest"


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        ((json.dumps(RECORD), "{broken"), r"formatted\.jsonl:2: is no JSON object"),
        ((json.dumps({"id": "x", **ANSWERS}),), r":1: field 'question' is absent"),
        ((json.dumps({**RECORD, "chosen_incorrect_answer": "nope"}),), r"field 'chosen_incorrect_answer' is none of"),
        ((json.dumps(RECORD), json.dumps(RECORD)), "the id 't-0' occurs twice"),
    ],
)
def test_a_bad_line_is_named_with_file_line_and_field(tmp_path: Path, lines: tuple[str, ...], says: str) -> None:
    with pytest.raises(DataError, match=says):
        truthfulqa(root_with(tmp_path, *lines))


def test_an_empty_an_absent_and_an_unset_root_are_told_apart(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"truthfulqa_formatted\.jsonl: no such file"):
        truthfulqa(tmp_path)
    with pytest.raises(ConfigError, match="set `root`"):
        load_items([DatasetSpec(dataset="truthfulqa")])


def test_r_aio_with_its_dialogues_redacted_is_refused_with_what_to_do(tmp_path: Path) -> None:
    record = {"id": "abc", "context": "Speaker A ...", "ground_truth": "NOR", "c2_input": "[redacted]"}
    file = tmp_path / "finalAIOdata_experiment_ready.jsonl"
    file.write_text(json.dumps(record) + "\n")
    with pytest.raises(DataError, match=r":1: field 'c2_input' of item 'abc' holds no dialogue.*aio-context"):
        load_items([DatasetSpec(dataset="aio", root=tmp_path)])
    (item,) = load_items([DatasetSpec(dataset="aio-context", root=tmp_path)])
    assert item.correct_answer == "not overreacting"
    file.write_text(json.dumps({**record, "c2_input": "Speaker A: hi"}) + "\n")
    (item,) = load_items([DatasetSpec(dataset="aio", root=tmp_path)])
    assert item.meta["dialogue"] == "Speaker A: hi"
