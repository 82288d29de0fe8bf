"""GPQA (main): graduate-level questions. Its authors ask that no example be shown in plain text online."""

from collections.abc import Iterator
from pathlib import Path

from evenhand.sources.fetching import Origin
from evenhand.sources.raw_files import csv_records, first_present, opened, zip_member
from evenhand.sources.record_fields import Record
from studies.dialdefer.published_items import GPQA_PASSWORD
from studies.dialdefer.records import Item
from studies.dialdefer.unified.dataset import Dataset, Licence
from studies.dialdefer.unified.items import distinct, unified_item

FILE = "gpqa_main.csv"
ARCHIVE = "dataset.zip"  # of github.com/idavidrein/gpqa
META = {
    "subdomain": "Subdomain",
    "domain": "High-level domain",
    "writer_difficulty": "Writer's Difficulty Estimate",
    "explanation": "Explanation",
}
WRONG = ("Incorrect Answer 1", "Incorrect Answer 2", "Incorrect Answer 3")
COLUMNS = ("Question", "Correct Answer", *WRONG, "Record ID", *META.values())


def convert(folder: Path) -> Iterator[Item]:
    """The rows of the Hub's CSV, or of the one in the authors' zip."""
    path = first_present(folder, FILE, ARCHIVE)
    if path.name == FILE:
        with opened(path) as file:
            yield from distinct(csv_records(file, str(path), COLUMNS), convert_row, "Record ID")
    else:
        lines = zip_member(path, FILE, GPQA_PASSWORD)
        yield from distinct(csv_records(lines, f"{path}!{FILE}", COLUMNS), convert_row, "Record ID")


def convert_row(row: Record) -> Item:
    """One row; cells keep the blanks at the ends of their inner lines."""
    return unified_item(
        item_id=f"gpqa-{row.identifier('Record ID')}",
        dataset="gpqa",
        question=row.text("Question"),
        correct_answer=row.text("Correct Answer"),
        incorrect_answers=[row.text(column) for column in WRONG],
        meta={key: row.raw_text(column) for key, column in META.items()},
    )


DATASET = Dataset(
    name="gpqa",
    convert=convert,
    origin=Origin(
        place="hf:Idavidrein/gpqa",
        files=(FILE,),
        also=(ARCHIVE,),
        terms="https://huggingface.co/datasets/Idavidrein/gpqa",
    ),
    licence=Licence(name="CC BY 4.0", not_passed_on="its authors ask that no example appear in plain text online"),
    citation="Rein, Hou, Stickland, et al. GPQA: A graduate-level Google-proof Q&A benchmark. COLM 2024.",
    n_total=448,
    n_test=134,
    stratum="domain",
)
