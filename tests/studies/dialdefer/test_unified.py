"""The converters, the split and a build against what DialDefer's authors published.

Differences are reported by id and field: no item's text ever reaches the output.
"""

from pathlib import Path

import pytest

from evenhand.data_files import rows as json_records
from studies.dialdefer.datasets import DatasetSpec, load_items
from studies.dialdefer.records import INCORRECT_ANSWERS, Condition
from studies.dialdefer.release import FILES, SPLIT_FOLDER, published_ids, records_at
from studies.dialdefer.render import render
from studies.dialdefer.unified.build import build, resample
from studies.dialdefer.unified.catalogue import DATASETS, NINE
from studies.dialdefer.unified.converters import bbq
from tests.made.built_folder import request
from tests.made.places import SHARED
from tests.made.unified_files import BBQ_LINES

DATA = SHARED / "data"
POOLS = Path("benchmark_data/datasets/formatted")

pytestmark = pytest.mark.skipif(not DATA.exists(), reason="no publishers' files beside this checkout")


def released(dataset, folder=SPLIT_FOLDER):
    """The published records of a dataset: its test split, or its pool."""
    place = folder / f"{FILES[dataset]}_formatted.jsonl"
    return [record.values for record in records_at(DATA / "published", place)]


def differences(items, records):
    """`id: field` wherever the item of a record differs from it or is absent."""
    by_id = {item.item_id: as_released(item) for item in items}
    return [
        f"{record['id']}: {name}"
        for record in records
        for name, value in as_compared(record).items()
        if by_id.get(record["id"], {}).get(name) != value
    ]


def as_released(item):
    meta = dict(item.meta)
    texts = {"question": item.question, "correct": item.correct_answer, "incorrect": item.incorrect_answer}
    return {**texts, "wrong": meta.pop(INCORRECT_ANSWERS), "context": item.context, "meta": meta}


def as_compared(record):
    """A published record's fields, under the names of `as_released`."""
    meta = {key: value for key, value in record.get("meta", {}).items() if key != "schema_version"}
    meta |= {key: record[key] for key in ("type", "category", "desensitized_question") if key in record}
    assert record["correct_answers"] == [record["chosen_correct_answer"]]
    return {
        "question": record["question"],
        "correct": record["chosen_correct_answer"],
        "incorrect": record["chosen_incorrect_answer"],
        "wrong": record["incorrect_answers"],
        "context": record.get("context"),
        "meta": meta,
    }


def raw_items(dataset):
    return list(DATASETS[dataset].convert(DATA / "raw" / dataset))


def test_truthfulqa_and_gpqa_are_exact_but_for_one_damaged_apostrophe():
    assert differences(raw_items("truthfulqa"), released("truthfulqa")) == ["truthfulqa-186: correct"]
    items, pool = raw_items("gpqa"), released("gpqa", POOLS)
    assert [item.item_id for item in items] == [record["id"] for record in pool]
    assert differences(items, pool) + differences(items, released("gpqa")) == []


def test_bbq_is_exact_in_the_67_published_items_of_the_six_files_at_hand():
    folder, records = DATA / "raw" / "bbq", released("bbq")
    items = list(bbq(folder, sorted(path.name for path in folder.glob("*.jsonl"))))
    coverable = [record for record in records if (folder / record["meta"]["source_file"]).exists()]
    assert (len(items), len(coverable)) == (11_956, 67)
    assert differences(items, coverable) == []


def pool_of(dataset):
    """Id → stratum: from line numbers where ids are those, else from the authors' pools, or HARP's own file."""
    if dataset == "bbq":
        lines = ((stem, line) for stem, n in BBQ_LINES.items() for line in range(n))
        return {f"bbq-{stem}-{line}": "disambig" if line % 2 else "ambig" for stem, line in lines}
    if dataset == "halueval":
        return {f"halueval-qa-{line}": None for line in range(10_000)}
    if dataset == "advisorqa":
        return {f"advisorqa-{line}": "safe" if line < 576 else "unsafe" for line in range(1000)}
    if dataset == "harp":
        return {item.item_id: str(item.meta["level"]) for item in raw_items("harp")}
    key = DATASETS[dataset].stratum
    return {record["id"]: record["meta"][key] if key else None for record in released(dataset, POOLS)}


@pytest.mark.parametrize("dataset", ["bbq", "halueval", "advisorqa", "amqa", "gpqa", "socialiqa", "harp"])
def test_the_procedure_redraws_the_published_ids_in_order(dataset):
    pool = pool_of(dataset)
    assert len(pool) == DATASETS[dataset].n_total
    assert resample(dataset, pool, DATASETS[dataset].n_test) == list(published_ids()[dataset])


def test_the_published_split_loads_as_2964_and_280_items_whose_answers_and_chats_are_the_published_ones(tmp_path):
    (tmp_path / "raw").mkdir()
    (tmp_path / "raw" / "release").symlink_to(DATA / "published")
    names, out = [*(dataset.name for dataset in NINE), "aio-context"], tmp_path / "out"
    build(request(out, tmp_path / "raw", names, test_only=True, any_revision=False))
    n_same = 0
    for name in names:
        path = DATA / "published" / "aio" / "finalAIOdata_experiment_ready.jsonl"
        records = [r.values for r in json_records(path)] if name == "aio-context" else released(name)
        for item, record in zip(load_items([DatasetSpec(dataset=name, root=out)]), records, strict=True):
            answers = (record["id"], record["chosen_correct_answer"], record["chosen_incorrect_answer"])
            n_same += (item.item_id, item.correct_answer, item.incorrect_answer) == answers and chats(item) == (
                (record["c2_input"], record["context"])
                if name == "aio-context"
                else (record["correct_chat"], record["incorrect_chat"])
            )
    assert n_same == 3244


def chats(item):
    """What stands between the chat log's marks in the two C2 prompts; r/AIO's dialogue, which is redacted."""
    if item.dataset == "aio-context":
        return item.meta["dialogue"], item.context
    texts = [
        render(item, condition).messages[0].content for condition in (Condition.C2_CORRECT, Condition.C2_INCORRECT)
    ]
    return tuple(text.split("<<<CHATLOG>>>\n")[1].split("\n<<<END_CHATLOG>>>")[0] for text in texts)
