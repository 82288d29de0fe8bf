"""The converters against what DialDefer's authors published: from the raw files at hand, and from rebuilt ones.

A publisher's file that is not at hand is rebuilt, in its documented schema, from the published records as far as they
determine it, and converted back. Differences are reported by id and field: no item's text ever reaches the output.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from evenhand.sources.raw_files import json_records
from evenhand.sources.record_fields import Record
from studies.dialdefer.item_table import INCORRECT_ANSWERS
from studies.dialdefer.published_items import FILES, SPLIT_FOLDER, published_items, records_at
from studies.dialdefer.records import Item
from studies.dialdefer.unified import bbq, gpqa, halueval, harp, socialiqa, truthfulqa
from studies.dialdefer.unified.catalogue import DATASETS
from tests.made.places import SHARED
from tests.made.rebuilt_files import REBUILT, number_of, parted, placed
from tests.made.unified_files import csv_text
from tests.made.unified_rows import Row

DATA = SHARED / "data"
POOLS = Path("benchmark_data/datasets/formatted")

pytestmark = pytest.mark.skipif(not DATA.exists(), reason="no publishers' files beside this checkout")


def released(dataset: str, folder: Path = SPLIT_FOLDER) -> list[Row]:
    """The published records of a dataset: its test split, or its pool."""
    path = DATA / "published" / folder / f"{FILES[dataset]}_formatted.jsonl"
    lines = enumerate(record.values for record in records_at(path))
    return [record for _, record in lines]


def differences(items: Iterable[Item], records: Iterable[Row]) -> list[str]:
    """`id: field` wherever the item of a record differs from it or is absent."""
    by_id = {item.item_id: item for item in items}
    found = []
    for record in records:
        item = by_id.get(record["id"])
        have = {} if item is None else as_released(item)
        want = as_compared(record)
        found += [f"{record['id']}: {name}" for name, value in want.items() if have.get(name) != value]
    return found


def as_released(item: Item) -> Row:
    meta = dict(item.meta)
    wrong = meta.pop(INCORRECT_ANSWERS)
    texts = {"question": item.question, "correct": item.correct_answer, "incorrect": item.incorrect_answer}
    return {"id": item.item_id, **texts, "context": item.context, "wrong": wrong, "meta": meta}


def as_compared(record: Row) -> Row:
    """A published record's fields, under the names of `as_released`."""
    meta = {key: value for key, value in record.get("meta", {}).items() if key != "schema_version"}
    meta |= {key: record[key] for key in ("type", "category", "desensitized_question") if key in record}
    assert record["correct_answers"] == [record["chosen_correct_answer"]]
    return {
        "id": record["id"],
        "question": record["question"],
        "correct": record["chosen_correct_answer"],
        "incorrect": record["chosen_incorrect_answer"],
        "context": record.get("context"),
        "wrong": record["incorrect_answers"],
        "meta": meta,
    }


def test_truthfulqa_is_exact_in_789_of_790_and_one_published_apostrophe_is_damaged():
    found = differences(truthfulqa.convert(DATA / "raw" / "truthfulqa"), released("truthfulqa"))
    assert found == ["truthfulqa-186: correct"]


def test_gpqa_is_exact_in_the_448_of_the_pool_and_the_134_of_the_test_split():
    items = list(gpqa.convert(DATA / "raw" / "gpqa"))
    pool, test = released("gpqa", POOLS), released("gpqa")
    assert ([item.item_id for item in items], len(test)) == ([record["id"] for record in pool], 134)
    assert differences(items, pool) + differences(items, test) == []


def test_gpqa_reads_the_hubs_plain_csv_as_it_reads_the_authors_zip(tmp_path):
    locked = list(gpqa.convert(DATA / "raw" / "gpqa"))
    columns = gpqa.META.items()
    rows = [
        {
            "Record ID": item.item_id.removeprefix("gpqa-"),
            "Question": item.question,
            "Correct Answer": item.correct_answer,
            **dict(zip(gpqa.WRONG, item.meta[INCORRECT_ANSWERS], strict=True)),
            **{column: item.meta[name] for name, column in columns},
        }
        for item in locked
    ]
    (tmp_path / gpqa.FILE).write_text(csv_text(rows), encoding="utf-8", newline="")
    same = list(gpqa.convert(tmp_path)) == locked  # a bare comparison would print the items when it fails
    assert same


def test_bbq_is_exact_in_the_67_published_items_of_the_six_files_at_hand():
    folder = DATA / "raw" / "bbq"
    items = [
        item for stem in bbq.FILES if (path := folder / f"{stem}.jsonl").exists() for item in bbq.convert_file(path)
    ]
    coverable = [record for record in released("bbq") if (folder / record["meta"]["source_file"]).exists()]
    assert (len(items), len(coverable)) == (11_956, 67)
    assert differences(items, coverable) == []


def test_halueval_is_exact_in_the_28_published_items_of_the_first_1000_lines(tmp_path):
    (tmp_path / halueval.FILE).symlink_to(DATA / "raw" / "halueval" / "qa_data.first1000.json")
    coverable = [record for record in released("halueval") if number_of(record) < 1_000]
    assert len(coverable) == 28
    assert differences(halueval.convert(tmp_path), coverable) == []


def test_harp_of_november_2024_is_exact_but_for_the_order_of_the_choices():
    items = [
        as_released(item) | {"id": item.item_id, "wrong": sorted(item.meta[INCORRECT_ANSWERS])}
        for item in harp.convert(DATA / "raw" / "harp")
    ]
    by_id = {item["id"]: item for item in items}
    assert len(items) == len(by_id) == 4_110
    for record in released("harp"):
        want = as_compared(record) | {"wrong": sorted(record["incorrect_answers"])}
        assert [name for name in want if name != "incorrect" and by_id[record["id"]][name] != want[name]] == []


def test_socialiqas_dev_file_has_the_layout_that_the_converter_reads():
    items = [socialiqa.convert_record(record) for record in dev_records()]
    assert len(items) == 1_954
    for item, record in zip(items, dev_records(), strict=True):
        assert item.correct_answer == record.values[f"answer{record.values['label_letter']}"].strip()
        assert len(item.meta[INCORRECT_ANSWERS]) == 2
        assert item.meta["answerSourcesWithCor"][record.values["label_ix"]] == "cor"
        assert isinstance(item.meta["charmap"], dict)


def dev_records() -> Iterator[Record]:
    return json_records(DATA / "raw" / "socialiqa" / "socialIWa_v1.4_dev_wDims.jsonl")


@pytest.mark.parametrize("dataset", REBUILT)
def test_a_rebuilt_file_gives_every_published_test_item(dataset, tmp_path):
    n_test, rebuild = REBUILT[dataset]
    records = released(dataset)
    rebuild(records, tmp_path)
    items = list(DATASETS[dataset].convert(tmp_path))
    assert len(records) == n_test
    assert differences(items, records) == []
    by_id = {item.item_id: (item.question, item.correct_answer, item.incorrect_answer) for item in items}
    for item in published_items(dataset, DATA / "published"):
        assert by_id[item.item_id] == (item.question, item.correct_answer, item.incorrect_answer), item.item_id


@pytest.mark.parametrize(("dataset", "n_items"), [("amqa", 801), ("socialiqa", 2_224)])
def test_a_rebuilt_file_gives_the_whole_published_pool_in_its_order(dataset, n_items, tmp_path):
    records = released(dataset, POOLS)
    REBUILT[dataset][1](records, tmp_path)
    items = list(DATASETS[dataset].convert(tmp_path))
    assert [item.item_id for item in items] == [record["id"] for record in records]
    assert (len(items), differences(items, records)) == (n_items, [])


def test_every_published_bbq_item_comes_out_of_a_rebuilt_line():
    items, records = [], released("bbq")
    for number, record in enumerate(records):
        meta, (context, question) = record["meta"], parted(record["question"])
        label = number % 3
        answers = dict(zip(bbq.ANSWERS, placed(record, label), strict=True))
        kept = {key: meta[key] for key in ("category", "context_condition", "question_polarity")}
        line = {"context": context, "question": question, **answers, "label": label, **kept}
        items.append(bbq.convert_record(Record(line, "here", number_of(record)), Path(meta["source_file"])))
    assert (len(records), differences(items, records)) == (300, [])
