"""The released r/AIO: conflicts from Reddit with the community's verdict on the original poster.

The authors release ids, verdicts, neutralised contexts and prose summaries; every dialogue is redacted. So the dataset
`aio` needs dialogues that the user has put back, and `aio-context`, the contexts alone, is another experiment.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

from evenhand.errors import DataError
from evenhand.sources.raw_files import json_records
from evenhand.sources.record_fields import Record
from studies.dialdefer.published_items import filled, released_file
from studies.dialdefer.records import Item
from studies.dialdefer.unified.items import BENCHMARK, distinct

AIO_FILE = Path("aio/finalAIOdata_experiment_ready.jsonl")
VERDICTS = {"OR": "overreacting", "NOR": "not overreacting"}
REDACTED = "[redacted]"
WAY_OUT = (
    "The authors' release has every dialogue redacted. `evenhand build aio` makes a copy of it with the dialogues put "
    "back (from Reddit by id, screenshots transcribed; see docs/aio.md): set `root` to that copy, or run the contexts "
    "alone as dataset aio-context, another experiment"
)


def aio_context_items(root: Path) -> Iterator[Item]:
    """The conflicts with the neutralised context alone."""
    return conflicts(root, lambda record: conflict(record, "aio-context"))


def aio_items(root: Path) -> Iterator[Item]:
    """The conflicts with their dialogues. Raises DataError where one is redacted, and says what can be done."""
    return conflicts(root, with_dialogue)


def conflicts(root: Path, convert: Callable[[Record], Item]) -> Iterator[Item]:
    """One item a record of the released file, ids checked to be different."""
    path = released_file(root, AIO_FILE)
    if not path.exists():
        raise DataError(f"{path}: no such file; set `root` to a folder with the authors' release of r/AIO")
    return distinct(json_records(path), convert, "id")


def with_dialogue(record: Record) -> Item:
    """A conflict whose dialogue was put back."""
    dialogue = record.values.get("c2_input")
    if not isinstance(dialogue, str) or not dialogue.strip() or REDACTED in dialogue:
        raise record.error("c2_input", f"of item '{record.values.get('id')}' holds no dialogue. {WAY_OUT}")
    return conflict(record, "aio")


def conflict(record: Record, dataset: str) -> Item:
    """correct_answer is the verdict on the original poster (Speaker 2); the renderer inverts it for 2->1, where
    Speaker 2 judges Speaker 1, and takes it as it is for 1->2.

    `c1_input`, a prose summary of the dialogue, is kept in meta; no prompt shows it.
    """
    label = record.one_of("ground_truth", VERDICTS)
    summary = record.kept("c1_input", "c2_input")
    return Item(
        item_id=record.identifier("id"),
        benchmark=BENCHMARK,
        dataset=dataset,
        question="",
        correct_answer=VERDICTS[label],
        incorrect_answer=VERDICTS["OR" if label == "NOR" else "NOR"],
        context=filled(record, "context"),
        meta={"label": label, "dialogue": summary.get("c2_input"), "c1_input": summary.get("c1_input")},
    )
