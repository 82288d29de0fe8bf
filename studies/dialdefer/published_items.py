"""The test split that DialDefer's authors published (MIT), read from a data root that the user names; never shipped.

The root holds `benchmark_data/sampled_formatted/<dataset>_formatted.jsonl` (GPQA's may be zipped, as its authors wish),
as in github.com/LadyPary/DialDefer, or the same files flat, as `evenhand build unified` fetches them.
"""

from collections.abc import Iterator
from pathlib import Path

from evenhand.errors import DataError
from evenhand.sources.raw_files import json_records, line_records, zip_member
from evenhand.sources.record_fields import Record
from studies.dialdefer.records import Item
from studies.dialdefer.unified.items import unified_item

# Canonical dataset name → stem of the published file. Sizes: Table 8.
FILES = {
    "truthfulqa": "truthfulqa",
    "advisorqa": "advisorqa",
    "amqa": "amqa",
    "bbq": "bbq",
    "gpqa": "gpqa",
    "halueval": "halueval_qa",
    "harp": "harp_mcq",
    "plausibleqa": "plausibleqa",
    "socialiqa": "socialiqa",
}
# GPQA's authors ask that no example be shown in plain text online; the password is the one their readme gives.
GPQA_PASSWORD = b"deserted-untie-orchid"
SPLIT_FOLDER = Path("benchmark_data/sampled_formatted")
BESIDE_META = ("type", "category", "desensitized_question")  # what some records keep outside `meta`


def published_items(dataset: str, root: Path) -> Iterator[Item]:
    """The published test items of one dataset, in published order. Raises DataError naming file, line and field."""
    for record in published_records(dataset, root):
        yield to_item(dataset, record)


def published_records(dataset: str, root: Path) -> Iterator[Record]:
    """The records of a dataset's published file."""
    return records_at(released_file(root, SPLIT_FOLDER / f"{FILES[dataset]}_formatted.jsonl"))


def records_at(path: Path) -> Iterator[Record]:
    """The records of a released file, or of its password-protected zip beside it."""
    zipped = path.with_name(f"{path.name}.zip")
    if path.exists():
        return json_records(path)
    if zipped.exists():
        return line_records(zip_member(zipped, "*.jsonl", GPQA_PASSWORD), f"{zipped}!{path.name}")
    raise DataError(f"{path}: no such file; set `root` to a folder that `evenhand build unified` made")


def released_file(root: Path, place: Path) -> Path:
    """A file of a checkout, or of a flat folder as `evenhand build unified` fetches it."""
    flat = root / place.name
    return flat if flat.exists() or flat.with_name(f"{flat.name}.zip").exists() else root / place


def to_item(dataset: str, record: Record) -> Item:
    """One published record as an Item: the answers are those its authors chose."""
    wrong = [record.checked_text("incorrect_answers", text) for text in listed(record, "incorrect_answers")]
    chosen = filled(record, "chosen_incorrect_answer")
    if chosen not in wrong:
        raise record.error("chosen_incorrect_answer", "is none of incorrect_answers; fetch the file again")
    context = record.values.get("context")
    return unified_item(
        item_id=record.identifier("id"),
        dataset=dataset,
        question=filled(record, "question"),
        correct_answer=filled(record, "chosen_correct_answer"),
        incorrect_answers=wrong,
        chosen=wrong.index(chosen),
        context=None if context is None else record.checked_text("context", context),
        meta={**record.kept(*BESIDE_META), **meta_of(record)},
    )


def meta_of(record: Record) -> dict[str, object]:
    """The record's own meta, checked to be plain JSON; TruthfulQA has none."""
    if record.values.get("meta") is None:
        return {}
    inside = record.inside("meta")
    return inside.kept(*inside.values)


def listed(record: Record, name: str) -> list[object]:
    """A field that must be a list."""
    value = record.get(name)
    if not isinstance(value, list):
        raise record.error(name, "must be a list of texts")
    return value


def filled(record: Record, name: str) -> str:
    """A text with something in it, as it stands."""
    text = record.raw_text(name)
    if not text.strip():
        raise record.error(name, "is empty; fetch the file again")
    return text
