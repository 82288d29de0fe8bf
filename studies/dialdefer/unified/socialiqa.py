"""SocialIQA, the test split of version 1.4 (the only one that says which dimension a question asks about)."""

from collections.abc import Iterator
from pathlib import Path

from evenhand.sources.fetching import Origin
from evenhand.sources.raw_files import first_present, json_records, line_records, tar_member
from evenhand.sources.record_fields import Record
from studies.dialdefer.records import Item
from studies.dialdefer.unified.dataset import Dataset, Licence
from studies.dialdefer.unified.items import unified_item

FILE = "socialIWa_v1.4_tst_wDims.jsonl"
ARCHIVE = "socialIQa_v1.4_withDims.tgz"
ANSWERS = ("answerA", "answerB", "answerC")
DIMENSIONS = ("oEffect", "oReact", "oWant", "xAttr", "xEffect", "xIntent", "xNeed", "xReact", "xWant")


def convert(folder: Path) -> Iterator[Item]:
    """The lines of the test file, plain or still in the publisher's archive."""
    path = first_present(folder, FILE, ARCHIVE)
    records = json_records(path) if path.name == FILE else line_records(tar_member(path, FILE), f"{path}!{FILE}")
    for record in records:
        yield convert_record(record)


def convert_record(record: Record) -> Item:
    """One line: context and question become the question. `charmap` is an object or a text, by release."""
    label = record.whole("label_ix", 0, 2)
    answers = [record.text(name) for name in ANSWERS]
    return unified_item(
        item_id=f"socialiqa-{record.index}",
        dataset="socialiqa",
        question=f"{record.text('context')} {record.text('question')}",
        correct_answer=answers.pop(label),
        incorrect_answers=answers,
        meta={
            "promptDim": record.one_of("promptDim", DIMENSIONS),
            **record.kept("charmap", "answerSourcesOrigins", "answerSourcesWithCor", "promptQuestionFocusChar"),
        },
    )


DATASET = Dataset(
    name="socialiqa",
    convert=convert,
    origin=Origin(place="https://maartensap.com/social-iqa/data/", files=(ARCHIVE,), also=(FILE,)),
    licence=Licence(name="CC BY 4.0"),
    citation="Sap, Rashkin, Chen, Le Bras, Choi. Social IQa: Commonsense reasoning about interactions. EMNLP 2019.",
    n_total=2_224,
    n_test=300,
    stratum="promptDim",
)
