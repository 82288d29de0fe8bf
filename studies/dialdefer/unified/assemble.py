"""Pools → test and train tables without leaks, and a manifest that says what everything was made of."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from evenhand.errors import DataError
from evenhand.jsonl import write_jsonl
from evenhand.sources.fetching import SourceFile
from studies.dialdefer.built_items import DROPPED_FILE
from studies.dialdefer.built_tables import table_path
from studies.dialdefer.item_table import read_items, write_items
from studies.dialdefer.leaks import HeldOut
from studies.dialdefer.published_items import FILES
from studies.dialdefer.records import Item
from studies.dialdefer.unified.dataset import Dataset
from studies.dialdefer.unified.pool import Pool
from studies.dialdefer.unified.release import RELEASE, differences, released_test_items
from studies.dialdefer.unified.splits import published_ids, published_split, resample


@dataclass(frozen=True, slots=True, kw_only=True)
class Split:
    """How test items are chosen."""

    kind: str  # "published" or "resample"
    seed: int  # of resample
    sizes: Mapping[str, int]  # test items by dataset; of resample
    any_revision: bool = False  # published ids may stand for other questions, which are counted


@dataclass(slots=True, kw_only=True)
class Assembled:
    """One dataset's split: the test items in order, and what became of the others."""

    dataset: Dataset
    pool: Pool | None  # None: only the authors' released test items were asked for
    test: list[Item]
    test_from: str  # "release": the authors' own records; "publisher": converted here
    held: list[Item] = field(default_factory=list)  # the test items in the publisher's wording, held out as well
    differing: dict[str, list[str]] = field(default_factory=dict)  # field → test ids that the two tell differently
    n_train: int = 0
    dropped: list[dict[str, str]] = field(default_factory=list)  # item_id, reason and, for a leak, the test item


def choose_test(pool: Pool, split: Split, release: Path | None) -> Assembled:
    """The test items of one dataset.

    release: the authors' released records, which are the standard for the published split where they are at hand.
    """
    dataset = pool.dataset
    test_from = "release" if dataset.origin is RELEASE else "publisher"
    held: list[Item] = []
    differing: dict[str, list[str]] = {}
    if split.kind == "resample":
        try:
            test = pool.chosen(
                pool.index if dataset.evaluation_only else resample(pool.index, split.sizes[dataset.name], split.seed)
            )
        except DataError as error:
            raise DataError(f"{dataset.name}: {error}") from None
    else:
        test = pool.chosen(published_split(dataset.name, pool.index))
        differing = differences(dataset.name, test)
        refuse_others(dataset.name, differing.get("question", []), split)
        if release is not None and dataset.name in FILES:
            held, test_from = test, "release"
            test = released_test_items(dataset, release, any_revision=split.any_revision)
    return Assembled(dataset=dataset, pool=pool, test=test, test_from=test_from, held=held, differing=differing)


def refuse_others(dataset: str, differing: Sequence[str], split: Split) -> None:
    """Raises DataError when published ids stand for other questions in the publisher's files: ids are line numbers."""
    if differing and not split.any_revision:
        raise DataError(
            f"{dataset}: {len(differing)} of the published test ids (first: '{differing[0]}') ask something else in "
            "the publisher's files: another split or revision of it. Fetch it anew; --any-revision takes it as it is"
        )


def released_test(dataset: Dataset, release: Path, split: Split) -> Assembled:
    """A dataset's released test items alone, without the publisher's files."""
    if dataset.name not in published_ids():
        raise DataError(f"{dataset.name}: is not in the authors' release; leave it out, or build without --test-only")
    test = released_test_items(dataset, release, any_revision=split.any_revision)
    return Assembled(dataset=dataset, pool=None, test=test, test_from="release")


def write_split(folder: Path, parts: Mapping[str, Assembled]) -> None:
    """Write the tables of all datasets, the list of what was left out, and check the finished split for leaks."""
    held_out = HeldOut(item for part in parts.values() for item in (*part.test, *part.held))
    for name, part in parts.items():
        stratum = part.dataset.stratum
        write_items(table_path(folder, name, "test"), part.test, stratum, {"dataset": name, "split": "test"})
        train = table_path(folder, name, "train")
        train.unlink(missing_ok=True)  # of an earlier, interrupted build
        if part.pool and not part.dataset.evaluation_only:
            rows, facts = train_items(part.pool, part, held_out), {"dataset": name, "split": "train"}
            part.n_train = write_items(train, rows, stratum, facts)
    write_jsonl(folder / DROPPED_FILE, [row for part in parts.values() for row in part.dropped])
    refuse_leaks(folder, parts)


def train_items(pool: Pool, part: Assembled, held_out: HeldOut) -> Iterator[Item]:
    """The pool minus the test items, by id and by question text; what goes beside the test items is listed."""
    test_ids = {item.item_id for item in part.test}
    for item in pool.items():
        if item.item_id in test_ids:
            continue
        leak = held_out.find(item)
        needed = ("question", "correct_answer", "incorrect_answer")
        empty = [name for name in needed if not getattr(item, name).strip()]
        if leak:
            part.dropped.append({"item_id": item.item_id, "reason": f"same {leak.reason}", "test_item": leak.test_id})
        elif empty:
            part.dropped.append({"item_id": item.item_id, "reason": f"empty {empty[0]}"})
        else:
            yield item


def refuse_leaks(folder: Path, parts: Mapping[str, Assembled]) -> None:
    """Raises DataError when a finished split, as it lies on disk, trains on what it tests."""
    held_out = HeldOut(item for name in parts for item in read_items(table_path(folder, name, "test")))
    for name in parts:
        train = table_path(folder, name, "train")
        if train.exists():
            held_out.refuse(read_items(train), str(train))


def described(part: Assembled, files: Iterable[SourceFile]) -> dict[str, Any]:
    """A dataset's entry in the manifest; `files` are what it was made of."""
    dataset = part.dataset
    by_stratum = Counter(str(item.meta[dataset.stratum]) for item in part.test) if dataset.stratum else {}
    return {
        "n_pool": len(part.pool.index) if part.pool else None,
        "n_train": part.n_train,
        "n_test": len(part.test),
        "n_dropped": dict(Counter(row["reason"] for row in part.dropped)),
        "test_from": part.test_from,
        "test_differs": part.differing,
        "strata": dict(by_stratum),
        "source": [asdict(file) for file in files],
        "licence": dataset.licence.name,
        "not_passed_on": dataset.licence.not_passed_on,
        "citation": dataset.citation,
    }
