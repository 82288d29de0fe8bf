"""HaluEval's question answering part: the right answer against a hallucinated one."""

from collections.abc import Iterator
from pathlib import Path

from evenhand.sources.fetching import Origin
from evenhand.sources.raw_files import json_records
from studies.dialdefer.records import Item
from studies.dialdefer.unified.dataset import Dataset, Licence
from studies.dialdefer.unified.items import unified_item

FILE = "qa_data.json"  # JSON lines, despite its name


def convert(folder: Path) -> Iterator[Item]:
    """Every line as an item. The knowledge is kept as context, which no prompt of the benchmark shows."""
    for record in json_records(folder / FILE):
        yield unified_item(
            item_id=f"halueval-qa-{record.index}",
            dataset="halueval",
            question=record.text("question"),
            correct_answer=record.text("right_answer"),
            incorrect_answers=[record.text("hallucinated_answer")],
            context=record.raw_text("knowledge"),
            meta={"split": "all"},
        )


DATASET = Dataset(
    name="halueval",
    convert=convert,
    origin=Origin(place="github:RUCAIBox/HaluEval", files=(f"data/{FILE}",)),
    licence=Licence(name="MIT"),
    citation="Li, Cheng, Zhao, Nie, Wen. HaluEval: A large-scale hallucination evaluation benchmark. EMNLP 2023.",
    n_total=10_000,
    n_test=300,
)
