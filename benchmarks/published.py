"""The test split that DialDefer's authors published (MIT), read from a data root that the user names; never shipped.

The root holds `benchmark_data/sampled_formatted/<dataset>_formatted.jsonl` (GPQA's may be zipped, as its authors wish),
as in github.com/LadyPary/DialDefer.
"""

import io
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.errors import DataError
from benchmarks.item_table import INCORRECT_ANSWERS
from benchmarks.jsonl import parse_lines, read_jsonl
from benchmarks.records import Item

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


def published_items(dataset: str, root: Path) -> Iterator[Item]:
    """The published test items of one dataset, in published order. Raises DataError naming file, line and field."""
    path = released_file(root, SPLIT_FOLDER / f"{FILES[dataset]}_formatted.jsonl")
    zipped = path.with_name(f"{path.name}.zip")
    if path.exists():
        records = read_jsonl(path)
    elif zipped.exists():
        records = read_zipped(zipped)
    else:
        raise DataError(f"{path}: no such file; set `root` to a checkout of github.com/LadyPary/DialDefer's data")
    for number, record in records:
        yield to_item(dataset, record, f"{path}:{number}")


def released_file(root: Path, place: Path) -> Path:
    """A file of a checkout, or of a flat folder as `evenhand build unified` fetches it."""
    flat = root / place.name
    return flat if flat.exists() or flat.with_name(f"{flat.name}.zip").exists() else root / place


def to_item(dataset: str, record: dict[str, Any], where: str) -> Item:
    """One published record as an Item; `where` is its file and line."""
    meta = record.get("meta") or {key: record[key] for key in ("type", "category") if key in record}
    wrong = record.get("incorrect_answers")
    return Item(
        item_id=text_field(record, "id", where),
        benchmark="dialdefer",
        dataset=dataset,
        question=text_field(record, "question", where),
        correct_answer=text_field(record, "chosen_correct_answer", where),
        incorrect_answer=text_field(record, "chosen_incorrect_answer", where),
        context=record.get("context"),
        meta={**meta, INCORRECT_ANSWERS: wrong} if isinstance(wrong, list) else meta,
    )


def read_zipped(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """The JSON lines of the only member of a password-protected zip."""
    try:
        with zipfile.ZipFile(path) as archive:
            members = archive.namelist()
            if len(members) != 1:
                raise DataError(f"{path}: holds {len(members)} files, expected the one JSONL; fetch it again")
            with archive.open(members[0], pwd=GPQA_PASSWORD) as raw:
                yield from parse_lines(io.TextIOWrapper(raw, encoding="utf-8"), f"{path}!{members[0]}")
    except (zipfile.BadZipFile, RuntimeError) as error:
        raise DataError(f"{path}: is no readable zip ({error}); fetch it again") from None


def text_field(record: dict[str, Any], name: str, where: str) -> str:
    """A field that must be a non-empty text. Raises DataError naming the field."""
    value = record.get(name)
    if not isinstance(value, str) or not value.strip():
        found = "absent" if name not in record else repr(value)[:40]
        raise DataError(f"{where}: field '{name}' must be a text, found {found}; is this the right file?")
    return value
