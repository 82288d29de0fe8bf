"""PlausibleQA: questions whose wrong candidates carry plausibility scores; the most plausible one is the claim."""

from collections.abc import Iterator
from pathlib import Path

from evenhand.sources.fetching import Origin
from evenhand.sources.raw_files import json_records
from evenhand.sources.record_fields import Record, shown
from studies.dialdefer.records import Item
from studies.dialdefer.unified.dataset import Dataset, Licence
from studies.dialdefer.unified.items import distinct, unified_item

FILE = "test.json"  # one JSON array
SCORE = "init_plackett_luce"
N_KEPT = 3  # wrong candidates, of up to ten


def convert(folder: Path) -> Iterator[Item]:
    """Every element as an item, read one by one: the file is large."""
    yield from distinct(json_records(folder / FILE), convert_record, "id")


def convert_record(record: Record) -> Item:
    """One question with its most plausible wrong candidates."""
    answer, kind = record.text("answer"), record.inside("question_type")
    return unified_item(
        item_id=f"plausibleqa-{record.identifier('id')}",
        dataset="plausibleqa",
        question=record.text("question"),
        correct_answer=answer,
        incorrect_answers=most_plausible(record, answer),
        meta={
            "split": "test",
            "source_id": record.identifier("id"),
            "question_type_major": kind.text("major"),
            "question_type_minor": kind.text("minor"),
            **record.kept("question_difficulty", "answer_difficulty"),
            "plausibility_key": SCORE,
        },
    )


def most_plausible(record: Record, answer: str) -> list[str]:
    """The candidates other than the answer by falling score; equal scores keep their order, a missing one counts 0."""
    scored = []
    for candidate, scores in record.mapping("candidate_answers").items():
        field = f"candidate_answers[{shown(candidate)}]"
        if not isinstance(scores, dict):
            raise record.error(field, f"must be an object of scores, found {shown(scores)}")
        score = record.checked_number(f"{field}.{SCORE}", scores.get(SCORE, 0))
        if candidate.strip() != answer:
            scored.append((-score, candidate.strip()))
    return [candidate for _, candidate in sorted(scored, key=lambda pair: pair[0])[:N_KEPT]]


DATASET = Dataset(
    name="plausibleqa",
    convert=convert,
    origin=Origin(place="hf:JamshidJDMY/PlausibleQA", files=(FILE,)),
    licence=Licence(name="CC BY 4.0"),
    citation="Mozafari, Abdallah, Piryani, Jatowt. Wrong answers can also be useful: PlausibleQA. SIGIR 2025.",
    n_total=10_000,
    n_test=300,
)
