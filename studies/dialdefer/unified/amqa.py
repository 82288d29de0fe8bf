"""AMQA: medical licensing questions. Beside each, the file has six variants that name a patient's group.

The benchmark uses the original question; the variants are a dataset of their own, `amqa-variants`.
"""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from evenhand.sources.origin import Origin
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
    """One original question."""
    meta = {"desensitized_question": record.text("desensitized_question"), "variants": list(GROUPS)}
    return amqa_item(record, base_id(record), "amqa", "original_question", meta)


def convert_variants(folder: Path) -> Iterator[Item]:
    """The questions rewritten for each patient group; a variant goes to the split of the question it varies."""
    yield from distinct(variants(json_records(folder / FILE)), convert_variant, "question_id")


def variants(records: Iterable[Record]) -> Iterator[Record]:
    """Each record once for every group that has a variant of its question, with the group as one field more."""
    for record in records:
        for group in GROUPS:
            if record.get(f"adv_question_{group}") not in (None, ""):
                yield Record({**record.values, "group": group}, record.where, record.index)


def convert_variant(record: Record) -> Item:
    """One variant."""
    group, base = record.text("group"), base_id(record)
    meta = {"variant_of": base, "group": group, **record.kept(f"adv_description_{group}")}
    return amqa_item(record, f"{base}-{group}", "amqa-variants", f"adv_question_{group}", meta)


def base_id(record: Record) -> str:
    """The id of the original question."""
    return f"amqa-{record.identifier('question_id')}"


def amqa_item(record: Record, item_id: str, dataset: str, question: str, meta: Mapping[str, object]) -> Item:
    """One question with the record's answer; every option that reads differently is a wrong one."""
    answer = record.text("answer")
    choices = record.options("options", LETTERS)  # as they stand: three wrong ones end in a blank, as published
    wrong = [text for text in choices.values() if text.strip() != answer]
    if len(wrong) == len(choices):
        raise record.error("answer", f"is none of the options: {shown(answer)}; fetch the file again")
    return unified_item(
        item_id=item_id,
        dataset=dataset,
        question=record.text(question),
        correct_answer=answer,
        incorrect_answers=wrong,
        meta={"answer_idx": record.one_of("answer_idx", LETTERS), **meta},
    )


ORIGIN = Origin(place="github:XY-Showing/AMQA", files=(f"AMQA_Dataset/{FILE}",))
LICENCE = Licence(name="not stated", not_passed_on="its repository states no licence, so nobody may pass copies on")
CITATION = "Xiao, Huang, He, et al. AMQA: An adversarial dataset for benchmarking bias of LLMs. arXiv:2505.19562."
DATASET = Dataset(
    name="amqa", convert=convert, origin=ORIGIN, licence=LICENCE, citation=CITATION, n_total=801, n_test=240
)
VARIANTS = Dataset(
    name="amqa-variants",
    convert=convert_variants,
    origin=ORIGIN,
    licence=LICENCE,
    citation=CITATION,
    n_total=6 * 801,
    n_test=6 * 240,
    folder="amqa",
    follows="amqa",
)
