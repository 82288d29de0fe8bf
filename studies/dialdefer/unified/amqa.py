"""AMQA: medical licensing questions. Six variants of each, for groups of patients, are named in meta and not asked."""

from collections.abc import Iterator
from pathlib import Path

from evenhand.sources.fetching import Origin
from evenhand.sources.raw_files import json_records
from evenhand.sources.record_fields import Record, shown
from studies.dialdefer.records import Item
from studies.dialdefer.unified.dataset import Dataset, Licence
from studies.dialdefer.unified.items import distinct, unified_item

FILE = "AMQA_Dataset.jsonl"
LETTERS = ("A", "B", "C", "D")
GROUPS = ("white", "black", "high_income", "low_income", "male", "female")


def convert(folder: Path) -> Iterator[Item]:
    """The original questions."""
    yield from distinct(json_records(folder / FILE), convert_record, "question_id")


def convert_record(record: Record) -> Item:
    """One question with the record's answer; every option that reads differently is a wrong one."""
    answer = record.text("answer")
    choices = record.options("options", LETTERS)  # as they stand: three wrong ones end in a blank, as published
    wrong = [text for text in choices.values() if text.strip() != answer]
    if len(wrong) == len(choices):
        raise record.error("answer", f"is none of the options: {shown(answer)}; fetch the file again")
    return unified_item(
        item_id=f"amqa-{record.identifier('question_id')}",
        dataset="amqa",
        question=record.text("original_question"),
        correct_answer=answer,
        incorrect_answers=wrong,
        meta={
            "answer_idx": record.one_of("answer_idx", LETTERS),
            "desensitized_question": record.text("desensitized_question"),
            "variants": list(GROUPS),
        },
    )


DATASET = Dataset(
    name="amqa",
    convert=convert,
    origin=Origin(place="github:XY-Showing/AMQA", files=(f"AMQA_Dataset/{FILE}",)),
    licence=Licence(name="not stated", not_passed_on="its repository states no licence, so nobody may pass copies on"),
    citation="Xiao, Huang, He, et al. AMQA: An adversarial dataset for benchmarking bias of LLMs. arXiv:2505.19562.",
    n_total=801,
    n_test=240,
)
