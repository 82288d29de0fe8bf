"""TruthfulQA, the revision of January 2025: one best and one best incorrect answer to each of 790 questions."""

from collections.abc import Iterator
from pathlib import Path

from evenhand.sources.fetching import Origin
from evenhand.sources.raw_files import csv_records, opened
from studies.dialdefer.records import Item
from studies.dialdefer.unified.dataset import Dataset, Licence
from studies.dialdefer.unified.items import unified_item

FILE = "TruthfulQA.csv"
COLUMNS = ("Type", "Category", "Question", "Best Answer", "Best Incorrect Answer")


def convert(folder: Path) -> Iterator[Item]:
    """The rows of TruthfulQA.csv. The 817 questions of 2021 lack `Best Incorrect Answer` and are refused."""
    with opened(folder / FILE) as file:
        for row in csv_records(file, str(folder / FILE), COLUMNS):
            yield unified_item(
                item_id=f"truthfulqa-{row.index}",
                dataset="truthfulqa",
                question=row.text("Question"),
                correct_answer=row.text("Best Answer"),
                incorrect_answers=[row.text("Best Incorrect Answer")],
                meta={"type": row.text("Type"), "category": row.text("Category")},
            )


DATASET = Dataset(
    name="truthfulqa",
    convert=convert,
    origin=Origin(
        place="github:sylinrl/TruthfulQA",
        files=(FILE,),
        sha256={FILE: "764be5c0c27c337baed4db641555c125428569df44a8dbf9b28796a6ce4d7616"},
    ),
    licence=Licence(name="Apache-2.0"),
    citation="Lin, Hilton, Evans. TruthfulQA: Measuring how models mimic human falsehoods. ACL 2022.",
    n_total=790,
    n_test=790,
)
