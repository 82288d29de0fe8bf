"""Which datasets there are, how a config asks for them, their tables on disk, and which items are held out.

A new dataset of the Unified Benchmark has an entry in unified/catalogue.yaml and a converter; a user's is a file.
"""

import json
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import AfterValidator, Field, model_validator

from evenhand.config import did_you_mean, is_none, parse_config
from evenhand.errors import ConfigError, DataError
from evenhand.files import whole_file
from evenhand.records import normalised
from evenhand.study import check_no_repeats
from studies.built_folder import changed_files, is_built, read_manifest
from studies.dialdefer import pocket, release
from studies.dialdefer.records import INCORRECT_ANSWERS, OWN_ITEMS, TEXTS, Item
from studies.dialdefer.render import AIO_DATASETS
from studies.dialdefer.unified.catalogue import DATASETS, NINE
from studies.item_files import ItemSource, file_records, name_in, plain_record
from studies.units import set_hash

ROW_GROUP = 2_000
TEXT_COLUMNS = ("item_id", "benchmark", "dataset", *TEXTS)
STRATUM = "stratum"  # what the split was balanced by, as text; null where it was not
ORDER_SEED = 42


def known_dataset(name: str) -> str:
    """The name of a dataset. Raises ValueError for another word."""
    if name not in DATASET_NAMES:
        raise ValueError(f"unknown dataset '{name}'. {did_you_mean(name, sorted(DATASET_NAMES))}")
    return name


DatasetName = Annotated[str, AfterValidator(known_dataset)]


class DatasetSpec(ItemSource):
    """One dataset, or a file of items, as a config names it."""

    # truthfulqa and the others (docs/unified-benchmark.md); unified: all of them; pocket: our own
    dataset: DatasetName | None = Field(default=None, exclude_if=is_none)
    families: tuple[str, ...] | None = Field(default=None, min_length=1, exclude_if=is_none)  # pocket's

    @model_validator(mode="after")
    def fits_the_dataset(self) -> Self:
        items = pocket.pocket_items("test") if self.families and self.dataset == "pocket" else ()
        families = dict.fromkeys(item.meta["family"] for item in items)
        for name in self.families or ():
            if name not in families:
                raise ValueError(f"{self.name}: unknown family '{name}'. Its families: {', '.join(families) or 'none'}")
        return self


def source(spec: DatasetSpec) -> Iterable[Item]:
    """Our own generated items, or a dataset of the Unified Benchmark, or r/AIO: from a built folder, or from the
    authors' release.

    `unified` is all datasets of a built folder at once. `aio` needs a copy of the release with its dialogues put back.
    """
    name, split, root = spec.name, spec.split, spec.root
    if spec.file is not None:
        return file_items(spec)
    if name == "pocket":
        items = pocket.pocket_items(split)
        return (item for item in items if spec.families is None or item.meta["family"] in spec.families)
    if split != "test" and name in EVALUATION_ONLY:
        raise ConfigError(f"{name}: is for evaluation only; it has no split '{split}'")
    if root is None:
        raise ConfigError(f"{name}: set `root` to a folder made by `evenhand build unified --out data/unified`")
    if is_built(root) and name != "aio":
        files = read_manifest(root)["files"] if name == "unified" else ()
        wanted = [dataset.name for dataset in NINE if split == "test" or not dataset.evaluation_only]
        lacking = [dataset for dataset in wanted if files and f"data/{dataset}/{split}.parquet" not in files]
        if lacking:
            raise ConfigError(
                f"{root}: lacks the {split} split of {', '.join(lacking)}, so it is not `unified` whole; build them, "
                "or name each dataset that is there"
            )
        return built_items(root, name, split)
    if name in ("aio", "aio-context"):
        return release.conflicts(root, name)
    if split != "test" or name not in release.FILES:
        raise ConfigError(
            f"{name}: {root} is not a finished build, and the {split} split is not in the authors' release; `evenhand "
            f"build unified --out {root}` builds it, or continues"
        )
    return release.published_items(name, root)


def file_items(spec: DatasetSpec) -> Iterator[Item]:
    """The items of a split of a user's file; docs/dialdefer.md has the columns. Raises DataError with file and line."""
    for record in map(plain_record, file_records(str(spec.file), spec.at, spec.header)):
        values = record.values
        question, correct, incorrect = (release.filled(record, name) for name in TEXTS)
        if normalised(correct) == normalised(incorrect):
            raise record.error("incorrect_answer", "is the correct answer, too; the two claims must differ")
        dataset = record.identifier("dataset") if "dataset" in values else spec.name
        if dataset in AIO_DATASETS or dataset[0] + dataset[-1] == "()":
            kept = "r/AIO is asked in its own way, and names in brackets are those of our own rows"
            raise record.error("dataset", f"cannot be '{dataset}': {kept}; take another name")
        own = [record.inside("meta"), record] if "meta" in values else [record]
        clusters = [name_in(each, "cluster") for each in own if each.values.get("cluster") is not None]
        if spec.has(name_in(record, "group") if "group" in values else normalised(question)):
            yield Item(
                item_id=name_in(record, "item_id" if "item_id" in values else "id"),
                benchmark=OWN_ITEMS,
                dataset=dataset,
                question=question,
                correct_answer=correct,
                incorrect_answer=incorrect,
                context=record.raw_text("context") if "context" in values else None,
                meta={**values.get("meta", {}), **({"cluster": clusters[-1]} if clusters else {})},
            )


DATASET_NAMES = ("pocket", "unified", *DATASETS, "aio")

# Held out for good: no training run may read them, whatever its config says.
EVALUATION_ONLY = frozenset({"aio", *(dataset.name for dataset in DATASETS.values() if dataset.evaluation_only)})


def load_items(specs: Sequence[DatasetSpec]) -> list[Item]:
    """The items of all specs in order. Raises DataError for an empty dataset, fewer than n_items, or a repeated id."""
    items: list[Item] = []
    for spec in specs:
        items += spec.chosen(source(spec))
    check_no_repeats((item.item_id for item in items), " and ".join(spec.name for spec in specs))
    return items


def rows_of(keys: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The items of a dataset as rows of plain values, for a study in YAML; of a train split none is a test item.

    keys: those of DatasetSpec.
    """
    spec = parse_config(DatasetSpec, dict(keys), "items")
    items = load_items([spec])
    if spec.split == "train":
        check_leaks(items, [spec])
    shared = ("benchmark", "dataset", "question", "correct_answer", "incorrect_answer", "context")
    return [{**item.meta, "id": item.item_id, **{name: getattr(item, name) for name in shared}} for item in items]


def write_items(path: Path, items: Iterable[Item], stratum: str | None, facts: Mapping[str, str]) -> None:
    """Write a table whole or not at all.

    stratum: the key of Item.meta that fills the column of that name. facts: kept in the file's own metadata.
    """
    import pyarrow
    import pyarrow.parquet

    rows = []
    for item in items:
        meta = dict(item.meta)
        wrong = meta.pop(INCORRECT_ANSWERS, None)
        row = {name: getattr(item, name) for name in TEXT_COLUMNS}
        row |= {INCORRECT_ANSWERS: wrong, "context": item.context, "meta": json.dumps(meta, ensure_ascii=False)}
        rows.append({**row, STRATUM: None if stratum is None else str(meta[stratum])})
    table = pyarrow.Table.from_pylist(rows, table_schema().with_metadata(dict(facts)))
    with whole_file(path) as partial:
        pyarrow.parquet.write_table(table, partial, compression="zstd", row_group_size=ROW_GROUP)


def table_schema() -> Any:
    """The columns: texts, the list of all wrong answers, the stratum, and the other meta as JSON."""
    import pyarrow

    text = pyarrow.string()
    columns = [pyarrow.field(name, text, nullable=False) for name in TEXT_COLUMNS]
    more = {INCORRECT_ANSWERS: pyarrow.list_(text), "context": text, STRATUM: text, "meta": text}
    return pyarrow.schema([*columns, *(pyarrow.field(name, kind) for name, kind in more.items())])


def read_items(path: Path) -> list[Item]:
    """The items of a table in its order."""
    import pyarrow.parquet

    items = []
    for row in pyarrow.parquet.read_table(path, columns=table_schema().names).to_pylist():
        meta, wrong = json.loads(row["meta"]), row[INCORRECT_ANSWERS]
        if wrong is not None:
            meta[INCORRECT_ANSWERS] = wrong
        items.append(Item(**{name: row[name] for name in TEXT_COLUMNS}, context=row["context"], meta=meta))
    return items


def built_items(root: Path, dataset: str, split: str) -> list[Item]:
    """A split of one dataset of a built folder in its order; of `unified` that of all, train shuffled once and for all.

    So the first n training items are a sample of all datasets, the same on every machine. Raises ConfigError for a
    split that is not there, DataError for a table that is gone or not as built.
    """
    manifest, is_whole = read_manifest(root), dataset == "unified"
    wanted = {f"data/{name}/{split}.parquet" for name in (manifest["contents"] if is_whole else [dataset])}
    files = {name: sha256 for name, sha256 in manifest["files"].items() if name in wanted}
    if not files:
        raise ConfigError(f"{root}: holds no {split} split of {dataset}; its tables are {', '.join(manifest['files'])}")
    check_unchanged(root, files)
    items = [item for name in files for item in read_items(root / name)]
    if is_whole and split == "train":
        random.Random(ORDER_SEED).shuffle(items)
    return items


def check_unchanged(root: Path, files: Mapping[str, str]) -> None:
    """Raises DataError when tables of a built folder, path → checksum, are changed or gone."""
    if changed := changed_files(root, {"files": files}):
        problem = "is not as built: it was changed since, or is gone"
        raise DataError(f"{root / changed[0]}: {problem}; the same `evenhand build unified` command repairs it")


class HeldOut:
    """The test items of every dataset of a split: none may be trained on, under its own id or under another."""

    def __init__(self, items: Iterable[Item]) -> None:
        self.ids: set[str] = set()
        self.by_text: dict[str, str] = {}
        for item in items:
            self.ids.add(item.item_id)
            if text := normalised(item.question):  # empty for r/AIO, which asks no question
                self.by_text.setdefault(text, item.item_id)

    def leak(self, item: Item) -> tuple[str, str] | None:
        """(the test item that a training item gives away, by "id" or by "text"), if any; ids are looked at first."""
        if item.item_id in self.ids:
            return item.item_id, "id"
        same = self.by_text.get(normalised(item.question))
        return (same, "text") if same else None

    def check(self, items: Iterable[Item], where: str) -> None:
        """Raises DataError naming both items of the first leak, and how many there are."""
        leaks = [(item.item_id, *leak) for item in items if (leak := self.leak(item))]
        if leaks:
            train_id, test_id, reason = leaks[0]
            same = "is the test item" if reason == "id" else "asks the same question as the test item"
            raise DataError(
                f"{where}: training item '{train_id}' {same} '{test_id}' ({len(leaks)} such in all): what is measured "
                "after training would be memory. Take it out, or build the split anew with `evenhand build unified`"
            )


def check_leaks(items: Sequence[Item], specs: Sequence[DatasetSpec]) -> None:
    """Raises DataError naming both items when training items give away a test item of any dataset beside them.

    Test items are those under the same roots as they lie there now, and the published ids where that split is claimed.
    Then every table must be as it was built: a leak could hide behind a table that is gone.
    """
    for item in items:
        if item.dataset in EVALUATION_ONLY:
            raise DataError(f"training item '{item.item_id}' is of {item.dataset}, which is for evaluation only")
    roots = {spec.root: read_manifest(spec.root) for spec in specs if spec.root is not None}
    as_published = any(manifest["split"]["kind"] == "published" for manifest in roots.values())
    published = HeldOut(())
    for name, ids in release.published_ids().items():
        if as_published or name in EVALUATION_ONLY:
            published.ids.update(ids)
    tests: list[Iterable[Item]] = [built_items(root, "unified", "test") for root in roots]
    tests += [source(spec.model_copy(update={"split": "test"})) for spec in specs if spec.file]
    if any(spec.dataset == "pocket" for spec in specs):
        tests.append(pocket.pocket_items("test"))
    for held_out in (*map(HeldOut, tests), published):
        held_out.check(items, "the train split")
    for root, manifest in roots.items():
        check_unchanged(root, manifest["files"])


def published_among(items: Iterable[Item]) -> int:
    """How many items are of the published test split: what a `resample` split trains on cannot be measured there."""
    published = {item_id for ids in release.published_ids().values() for item_id in ids}
    return sum(item.item_id in published for item in items)


def item_set_hash(items: Iterable[Item]) -> str:
    """The hash of some items; see evenhand.study."""
    return set_hash({**asdict(item), "meta": dict(item.meta)} for item in items)
