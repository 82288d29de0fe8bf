"""What DialDefer's authors released (MIT): the test split as they ran it, and r/AIO with its dialogues redacted."""

import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from evenhand.errors import DataError
from evenhand.records import digest
from evenhand.sources.fetching import Origin
from studies.dialdefer.aio.released import aio_context_items
from studies.dialdefer.published_items import FILES, published_items
from studies.dialdefer.records import Item
from studies.dialdefer.unified.dataset import Dataset, Licence
from studies.dialdefer.unified.splits import published_ids

DIGESTS_FILE = Path(__file__).with_name("published_digests.json")
DIGESTED, N_DIGITS = ("question", "correct_answer", "incorrect_answer"), 6
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


def released_test_items(dataset: Dataset, folder: Path, *, any_revision: bool) -> list[Item]:
    """The released test items of a dataset. Raises DataError when they are not the published ones in order.

    any_revision: items that read otherwise than the published ones are taken, under the published ids.
    """
    name = dataset.name
    items = list(published_items(name, folder) if name in FILES else dataset.convert(folder))
    ids = published_ids()[name]
    way_out = f"fetch revision {RELEASE.revision} of {RELEASE.place}"
    if [item.item_id for item in items] != list(ids):
        raise DataError(
            f"{folder}: the released test split of {name} ({len(items)} items) is not the published one "
            f"({len(ids)} ids, in order); {way_out}"
        )
    for field, differing in () if any_revision else differences(name, items).items():
        raise DataError(f"{folder}: {field} of {name}'s item '{differing[0]}' is not as published; {way_out}")
    return items


def differences(dataset: str, items: Sequence[Item]) -> dict[str, list[str]]:
    """Field → ids of those published test items that read otherwise here, by digests of the published texts.

    items: all test items of a dataset in published order. r/AIO's have no digests.
    """
    published, found = published_digests().get(dataset, ""), dict[str, list[str]]()
    for place, item in enumerate(items if published else ()):
        digits = digits_of(item)
        for k, field in enumerate(DIGESTED):
            start, width = k * N_DIGITS, len(digits)
            if digits[start : start + N_DIGITS] != published[width * place + start :][:N_DIGITS]:
                found.setdefault(field, []).append(item.item_id)
    return found


def digits_of(item: Item) -> str:
    """An item's hex digits in published_digests.json."""
    return "".join(digest(getattr(item, field), N_DIGITS) for field in DIGESTED)


@cache
def published_digests() -> dict[str, str]:
    """Dataset → the digests of its published test items, one behind the other: no text, and enough to know it again."""
    content: dict[str, str] = json.loads(DIGESTS_FILE.read_text(encoding="utf-8"))
    return content
