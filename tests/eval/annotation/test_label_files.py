"""Labels count with the run, the questions and the draw that they were made from, and with no other."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from eval.annotation.command import read_labels
from eval.annotation.tasks import drawn
from evenhand.errors import ConfigError, DataError
from tests.made.made_annotation import item, label_file, task, whole

MADE = task([item(n, "yes" if n % 2 else "no") for n in range(12)])


def test_labels_are_read_with_the_draw_that_they_are_of(tmp_path: Path):
    draw = drawn(MADE, 6, 3)
    (labels,) = read_labels([label_file(tmp_path / "anna.json", draw, lambda one: "yes")], [MADE])
    assert (labels.annotator, labels.draw) == ("anna", draw)
    assert set(labels.answers) == {one.item_id for one in draw.items}


def test_people_are_told_apart(tmp_path: Path):
    files = [
        label_file(tmp_path / f"{n}.json", whole(MADE), lambda one, said=said: said, annotator=name)
        for n, (name, said) in enumerate([("Anna", "yes"), ("Ben", "yes"), ("Anna", "no")])
    ]
    assert [one.annotator for one in read_labels(files, [MADE])] == [str(files[0]), "Ben", str(files[2])]
    other = replace(MADE, name="other")
    files[2] = label_file(files[2], whole(other), lambda one: "yes", annotator="Anna")
    assert [one.annotator for one in read_labels(files, [MADE, other])] == ["Anna", "Ben", "Anna"]
    with pytest.raises(DataError, match="named twice"):
        read_labels([files[0], files[0]], [MADE])


@pytest.mark.parametrize("name", ["", "Anna"])
def test_two_copies_of_one_label_file_are_not_two_people(tmp_path: Path, name: str):
    first = label_file(tmp_path / "anna.json", whole(MADE), lambda one: "yes", annotator=name)
    copy = tmp_path / "ben.json"
    copy.write_text(json.dumps(json.loads(first.read_text()), indent=1))
    with pytest.raises(DataError, match=r"ben\.json: holds the same labels under the same name as .*anna\.json"):
        read_labels([first, copy], [MADE])


@pytest.mark.parametrize(
    "other",
    [
        task([item(n, "yes") for n in range(12)]),
        task([item(n + 1, "yes" if n % 2 else "no") for n in range(12)]),
        task(MADE.items, runs=("other-run",), in_run={"yes": 60, "no": 6}),
        task(MADE.items, ("yes", "no", "perhaps")),
    ],
    ids=["another judge", "other texts", "another run", "other answers"],
)
def test_labels_of_another_run_are_refused(tmp_path: Path, other: Any):
    file = label_file(tmp_path / "a.json", whole(MADE), lambda one: "yes")
    with pytest.raises(DataError, match=r"a\.json: holds labels of 'made' made from made-run. They do not go"):
        read_labels([file], [other])


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"digest": "0" * 16}, "is another run"),
        ({"seed": 1}, "is another run"),
        ({"what": "unknown"}, "is another run"),
        ({"labels": {"0" * 16: "yes"}}, "'yes' is no answer to an item of the page"),
        ({"labels": {MADE.items[0].item_id: "perhaps"}}, "'perhaps' is no answer .*answers are yes, no"),
        ({"labels": {}}, "holds no label yet"),
    ],
)
def test_an_edited_file_is_refused(tmp_path: Path, change: dict[str, Any], says: str):
    with pytest.raises(DataError, match=says):
        read_labels([label_file(tmp_path / "a.json", whole(MADE), lambda one: "yes", **change)], [MADE])


@pytest.mark.parametrize("content", ["[]", "no JSON", json.dumps({"labels": {}}), json.dumps({"format": 2})])
def test_what_is_no_file_of_labels_is_refused_by_name(tmp_path: Path, content: str):
    file = tmp_path / "a.json"
    file.write_text(content)
    with pytest.raises((ConfigError, DataError), match=r"a\.json"):
        read_labels([file], [MADE])
