"""BBQ: eleven files of templated questions about social groups, with an ambiguous or a disambiguating context.

Ids number the lines of each file. The paper says nine dimensions; the data has two intersectional files more.
"""

from collections.abc import Iterator
from pathlib import Path

from evenhand.sources.fetching import Origin
from evenhand.sources.raw_files import json_records
from evenhand.sources.record_fields import Record
from studies.dialdefer.records import Item
from studies.dialdefer.unified.dataset import Dataset, Licence
from studies.dialdefer.unified.items import unified_item

# In pool order, with the number of lines of each; 58,492 in all.
FILES = {
    "Age": 3_680,
    "Disability_status": 1_556,
    "Gender_identity": 5_672,
    "Nationality": 3_080,
    "Physical_appearance": 1_576,
    "Race_ethnicity": 6_880,
    "Race_x_SES": 11_160,
    "Race_x_gender": 15_960,
    "Religion": 1_200,
    "SES": 6_864,
    "Sexual_orientation": 864,
}
ANSWERS = ("ans0", "ans1", "ans2")


def convert(folder: Path) -> Iterator[Item]:
    """The lines of all eleven files, in the files' alphabetical order."""
    for stem in FILES:
        yield from convert_file(folder / f"{stem}.jsonl")


def convert_file(path: Path) -> Iterator[Item]:
    """The lines of one file."""
    for record in json_records(path):
        yield convert_record(record, path)


def convert_record(record: Record, path: Path) -> Item:
    """One line: context and question become the question, the labelled answer the correct one."""
    label = record.whole("label", 0, 2)
    answers = [record.raw_text(name) for name in ANSWERS]  # a few wrong ones end in a blank, as in the published split
    return unified_item(
        item_id=f"bbq-{path.stem}-{record.index}",
        dataset="bbq",
        question=f"{record.text('context')} {record.text('question')}",
        correct_answer=answers.pop(label).strip(),
        incorrect_answers=answers,
        meta={
            "source_file": path.name,
            "category": record.text("category"),
            "context_condition": record.one_of("context_condition", ("ambig", "disambig")),
            "question_polarity": record.one_of("question_polarity", ("neg", "nonneg")),
        },
    )


DATASET = Dataset(
    name="bbq",
    convert=convert,
    origin=Origin(
        place="github:nyu-mll/BBQ",
        files=tuple(f"data/{stem}.jsonl" for stem in FILES),
        sha256={
            "Age.jsonl": "46e805b3fc2d8cbd26eeb8e8430d98cf7b2dc9c83574ff3674e8ce4f0fca2a60",
            "Disability_status.jsonl": "375d40d9b71f056150264445ec189b13934998f3f49a1e311aa7578eb3b45e5f",
            "Nationality.jsonl": "a583e74666aec0341ded8aa3983e7cad694eb24de72c254d28b2df3035720090",
            "Physical_appearance.jsonl": "e48d7e13508565f4801574e611043470c25c95a0a62af3699cb5ee7cb02608fb",
            "Religion.jsonl": "cb9555f9f3454a52cd2df85956b59bd7fcca5aa922c8527693b1164d08417616",
            "Sexual_orientation.jsonl": "2c71036b9e7584fe589c42aef32c1a42bc01b9a5e9b1b8704342630cdb08cefd",
        },
    ),
    licence=Licence(name="CC BY 4.0"),
    citation="Parrish, Chen, Nangia, Padmakumar, et al. BBQ: A hand-built bias benchmark for QA. Findings of ACL 2022.",
    n_total=58_492,
    n_test=300,
    stratum="context_condition",
)
