"""HARP: multiple-choice problems of United States mathematics competitions.

The releases of November 2024 and January 2025 hold the same problems with the choices in another order, so the chosen
wrong answer differs; the published test split was made from the later one.
"""

from collections.abc import Iterator
from pathlib import Path

from evenhand.sources.fetching import Origin
from evenhand.sources.raw_files import first_present, json_records, line_records, zip_member
from evenhand.sources.record_fields import Record
from studies.dialdefer.records import Item
from studies.dialdefer.unified.dataset import Dataset, Licence
from studies.dialdefer.unified.items import distinct, unified_item

FILE = "HARP_mcq.jsonl"
ARCHIVE = f"{FILE}.zip"
INSIDE = "*_mcq.jsonl"
LETTERS = ("A", "B", "C", "D", "E")


def convert(folder: Path) -> Iterator[Item]:
    """The problems of the publisher's zip, or of the file that was inside."""
    path = first_present(folder, ARCHIVE, FILE)
    records = json_records(path) if path.name == FILE else line_records(zip_member(path, INSIDE), f"{path}!{INSIDE}")
    yield from distinct(records, convert_record, "year, contest, number")


def convert_record(record: Record) -> Item:
    """One problem; its id is its place in the competition."""
    choices = record.options("choices", LETTERS)
    answer = choices.pop(record.one_of("answer_choice", LETTERS))
    year, contest, number = record.identifier("year"), record.identifier("contest"), record.whole("number", 0, 1000)
    return unified_item(
        item_id=f"harp_mc-{year}-{contest}-{number}",
        dataset="harp",
        question=record.text("problem"),
        correct_answer=answer.strip(),
        incorrect_answers=[choice.strip() for choice in choices.values()],
        meta={
            "year": year,
            "contest": contest,
            "number": number,
            "level": record.whole("level", 1, 9),
            "subject": record.text("subject"),
            **record.kept("multiple_choice_only", "num_solutions"),
            "solution": record.text("solution_1") if "solution_1" in record.values else None,
        },
    )


DATASET = Dataset(
    name="harp",
    convert=convert,
    origin=Origin(place="github:aadityasingh/HARP", files=(ARCHIVE,), also=(FILE,)),
    licence=Licence(name="MIT", not_passed_on="its authors publish it zipped only, so that no crawler reads it"),
    citation="Yue, Madaan, Moskovitz, et al. HARP: A challenging human-annotated math benchmark. arXiv:2412.08819.",
    n_total=4_110,
    n_test=300,
    stratum="level",
)
