"""What DialDefer's authors released (MIT): the test split as they ran it, and r/AIO with its dialogues redacted."""

from collections.abc import Mapping
from pathlib import Path

from benchmarks.aio import aio_context_items
from benchmarks.errors import DataError
from benchmarks.published import FILES, published_items
from benchmarks.records import Item
from benchmarks.unified.dataset import Dataset, Licence, Origin
from benchmarks.unified.splits import published_ids

FOLDER = "release"  # under the raw folder, beside the publishers' own
RELEASE = Origin(
    place="github:LadyPary/DialDefer",
    revision="ad11801",
    files=("*sampled_formatted/*_formatted.jsonl", "*aio/finalAIOdata_experiment_ready.jsonl"),
    also=("*sampled_formatted/*_formatted.jsonl.zip",),
)
AIO_CONTEXT = Dataset(
    name="aio-context",
    convert=aio_context_items,
    origin=RELEASE,
    licence=Licence(
        name="MIT", not_passed_on="it concerns real people; its authors' own release is the place to get it from"
    ),
    citation="Rabbani et al. DialDefer: A framework for detecting and mitigating LLM dialogic deference.",
    n_total=280,
    n_test=280,
    folder=FOLDER,
)


def released_test_items(dataset: Dataset, folder: Path) -> list[Item]:
    """The released test items of a dataset. Raises DataError when their ids are not the published ones in order."""
    name = dataset.name
    items = list(published_items(name, folder) if name in FILES else dataset.convert(folder))
    ids = published_ids()[name]
    if [item.item_id for item in items] != list(ids):
        raise DataError(
            f"{folder}: the released test split of {name} ({len(items)} items) is not the published one "
            f"({len(ids)} ids, in order); fetch revision {RELEASE.revision} of {RELEASE.place}"
        )
    return items


def differences(released: list[Item], pool: Mapping[str, Item]) -> dict[str, list[str]]:
    """Field → ids of the released items that read otherwise in the publisher's files as converted here."""
    found: dict[str, list[str]] = {}
    for item in released:
        own = pool[item.item_id]
        for name in ("question", "correct_answer", "incorrect_answer", "context"):
            if getattr(item, name) != getattr(own, name):
                found.setdefault(name, []).append(item.item_id)
    return found
