"""Publishers' files with something wrong in them, and the error that a converter gives."""

from pathlib import Path

import pytest

from evenhand.errors import DataError
from studies.dialdefer.unified import amqa, gpqa, halueval, harp, plausibleqa, socialiqa, truthfulqa
from studies.dialdefer.unified.catalogue import DATASETS
from tests.made import unified_rows as rows_of
from tests.made.unified_files import csv_text, json_lines
from tests.made.unified_rows import Row

# Where the converter of each dataset looks for a plain file.
PLAIN = {
    "truthfulqa": truthfulqa.FILE,
    "advisorqa": "test.jsonl",
    "amqa": amqa.FILE,
    "bbq": "Age.jsonl",
    "gpqa": gpqa.FILE,
    "halueval": halueval.FILE,
    "harp": harp.FILE,
    "plausibleqa": plausibleqa.FILE,
    "socialiqa": socialiqa.FILE,
}
TABLES = ("truthfulqa", "gpqa")


def rows(dataset: str, n: int = 4) -> list[Row]:
    return list(rows_of.bbq_rows("Age", n) if dataset == "bbq" else getattr(rows_of, f"{dataset}_rows")(n))


def source(dataset: str, records: list[Row]) -> str:
    return csv_text(records) if dataset in TABLES else json_lines(records)


def refusal(dataset: str, folder: Path) -> str:
    """The error of a conversion, without the folder; it is one line and ends with what to do or to look for."""
    with pytest.raises(DataError) as caught:
        list(DATASETS[dataset].convert(folder))
    message = str(caught.value)
    assert message.startswith(str(folder))
    assert message.isprintable()
    return message.removeprefix(str(folder)).removeprefix("/")


def refused(dataset: str, content: str | bytes, folder: Path) -> str:
    """The error over a plain file of that content."""
    content = content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content
    (folder / PLAIN[dataset]).write_bytes(content)
    return refusal(dataset, folder)
