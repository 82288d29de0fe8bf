"""AdvisorQA: posts that ask for advice, with answers ranked by upvotes. The benchmark uses one file of 1,000 lines."""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from evenhand.errors import DataError
from evenhand.sources.fetching import Origin
from evenhand.sources.raw_files import json_records
from evenhand.sources.record_fields import Record
from studies.dialdefer.records import Item
from studies.dialdefer.unified.dataset import Dataset, Licence
from studies.dialdefer.unified.items import unified_item

N_LINES = 1_000
LABELS = ("safe", "unsafe")
NO_DATA = ("sources.json",)  # what `evenhand build unified` keeps beside the files it fetched


def convert(folder: Path) -> Iterator[Item]:
    """The posts of the file with 1,000 lines."""
    for record in json_records(file_of_1000(folder)):
        yield convert_record(record)


def file_of_1000(folder: Path) -> Path:
    """The one JSON file here, or of several the one that has 1,000 records: neither paper nor data give its name."""
    places = sorted(folder.glob("[!.]*.json*"))
    files = [path for path in places if path.is_file() and path.name not in NO_DATA and ".partial" not in path.name]
    if len(files) == 1:
        return files[0]
    found = {path: n_records(path) for path in files}
    fitting = [path for path, n in found.items() if n == N_LINES]
    if len(fitting) != 1:
        here = ", ".join(f"{path.name} ({counted(n)})" for path, n in found.items()) or "none"
        raise DataError(
            f"{folder}: {len(fitting)} JSON files of {N_LINES} records (JSON files here: {here}); "
            "leave only the one that the benchmark was made from, whose lines 1-576 are safe and 577-1000 unsafe"
        )
    return fitting[0]


def n_records(path: Path) -> int | None:
    """How many records a file has, up to one more than wanted; None for a file that cannot be read as records."""
    try:
        return sum(1 for _ in islice(json_records(path), N_LINES + 1))
    except DataError:
        return None


def counted(n: int | None) -> str:
    """A file's number of records in words."""
    if n is None:
        return "not readable as records"
    return f"{n} records" if n <= N_LINES else f"more than {N_LINES}"


def convert_record(record: Record) -> Item:
    """One post: the answer at sft_index is correct, the wrong one is the least upvoted (the first of equals)."""
    answers, rewards = record.texts("suffix"), record.get("reward")
    best = record.whole("sft_index", 0, len(answers) - 1)
    if not isinstance(rewards, list) or len(rewards) != len(answers):
        raise record.error("reward", f"must be a list of {len(answers)} numbers, one for each suffix")
    for k, reward in enumerate(rewards):
        record.checked_number(f"reward[{k}]", reward)
    wrong = [k for k, answer in enumerate(answers) if k != best and answer]
    posts = record.texts("prefix")
    if not posts:
        raise record.error("prefix", "is an empty list; it must hold the post")
    return unified_item(
        item_id=f"advisorqa-{record.index}",
        dataset="advisorqa",
        question=posts[0],
        correct_answer=answers[best],
        incorrect_answers=[answers[k] for k in wrong],
        chosen=min(range(len(wrong)), key=lambda k: rewards[wrong[k]], default=0),
        meta={
            **record.kept("reward"),
            "sft_index": best,
            "label": record.one_of("label", LABELS),
            "num_candidates": len(answers),
        },
    )


DATASET = Dataset(
    name="advisorqa",
    convert=convert,
    origin=Origin(place="hf:mbkim/AdvisorQA", files=("*.json*",)),
    licence=Licence(
        name="see its Hub page",
        not_passed_on="its licence is not known here: see its Hub page",
    ),
    citation="Kim, Lee, Park, Lee, Jung. AdvisorQA: Towards helpful and harmless advice-seeking QA. NAACL 2025.",
    n_total=N_LINES,
    n_test=300,
    stratum="label",
)
