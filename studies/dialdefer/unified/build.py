"""`evenhand build unified`: publishers' files → tables of test and train items without leaks, a manifest and a card.

Test items are the published ids, or a new draw by the paper's procedure (appendix A.2), out of which the published ids
come with its defaults, in order (PlausibleQA's pool order is not known).
"""

import argparse
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tqdm import tqdm

from evenhand.errors import ConfigError, DataError
from evenhand.files import sha256_of, write_jsonl
from evenhand.study import check_no_repeats
from evenhand.terminal import command_parser
from studies.built_folder import MANIFEST_FILE, building, described, finish, finished, is_built, read_manifest
from studies.dialdefer import release
from studies.dialdefer.datasets import HeldOut, write_items
from studies.dialdefer.records import TEXTS, Item
from studies.dialdefer.unified.card import card_text, list_text, notes_on, table8_text
from studies.dialdefer.unified.catalogue import DATASETS, RELEASE, RELEASE_FOLDER, Dataset
from studies.fetching import Origin, SourceFile, fetch, source_files

CONVERTER_VERSION = "1"  # raise it when any converter gives other items than before
DROPPED_FILE = "dropped.jsonl"
SEED = 42
N_FIRST_STAGE = 100

PoolIndex = Mapping[str, str | None]  # item id → stratum, in pool order; None where the draw is from the whole


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What is to be built, and from where."""

    out: Path
    raw: Path | None  # a folder of files that the user has; None downloads into OUT/raw
    datasets: tuple[str, ...]
    kind: str = "published"  # or "resample", a new draw of test items
    seed: int = SEED  # of resample
    sizes: Mapping[str, int] = field(default_factory=dict)  # test items by dataset; of resample
    test_only: bool = False  # the authors' released test items and nothing else
    any_revision: bool = False  # published ids may stand for other questions, which are counted

    @property
    def raw_folder(self) -> Path:
        """Where the publishers' files lie."""
        return self.raw or self.out / "raw"


def main(argv: Sequence[str]) -> None:
    """Build the Unified Benchmark: nine QA datasets and r/AIO's contexts, split into test and train without leaks."""
    parser = command_parser("build unified", main, "Examples are in docs/unified-benchmark.md.")
    parser.add_argument(
        "--datasets", nargs="+", choices=list(DATASETS), metavar="NAME", help="only these; default: all"
    )
    parser.add_argument("--seed", type=int, default=SEED, help="of --split resample")
    options = parser.parse_args(argv)
    if options.list:
        print(list_text())
        return
    if options.out is None or options.out == Path():
        raise ConfigError("say where to build: --out data/unified (--list shows what would be fetched)")
    is_known = options.stats and is_built(options.out)
    manifest = read_manifest(options.out) if is_known else build(request_from(options))
    print("\n".join([table8_text(manifest), "", *notes_on(manifest)]))
    print(f"{options.out}: done. README.md says what it holds")


def request_from(options: argparse.Namespace) -> Request:
    """The words as a request. Raises ConfigError for words that do not go together."""
    if options.split == "published" and (options.size or options.seed != SEED):
        raise ConfigError("--size and --seed are of --split resample; the published split is what it is")
    if options.test_only and options.split != "published":
        raise ConfigError("--test-only takes the authors' released test items; it does not go with --split resample")
    wanted = options.datasets or (release.published_ids() if options.test_only else DATASETS)
    names = tuple(name for name in DATASETS if name in wanted)
    sizes = {name: DATASETS[name].n_test for name in names if not DATASETS[name].evaluation_only}
    for word in options.size:
        name, _, number = word.partition("=")
        if name not in sizes or not number.isdecimal() or int(number) < 1:
            known = ", ".join(sorted(sizes))
            raise ConfigError(f"--size {word}: write a dataset and a number of items, as in --size harp=300 ({known})")
        sizes[name] = int(number)
    return Request(
        out=options.out,
        raw=options.raw,
        datasets=names,
        kind=options.split,
        seed=options.seed,
        sizes=sizes if options.split == "resample" else {},
        test_only=options.test_only,
        any_revision=options.any_revision,
    )


@dataclass(slots=True, kw_only=True)
class Part:
    """One dataset's split: the test items in order, and what became of the others."""

    dataset: Dataset
    pool: Sequence[Item] | None = None  # None: only the authors' released test items were asked for
    test: list[Item]
    test_from: str  # "release": the authors' own records; "publisher": converted here
    held: list[Item] = field(default_factory=list)  # the test items in the publisher's wording, held out as well
    differs: dict[str, list[str]] = field(default_factory=dict)  # field → test ids that the two word differently
    n_train: int = 0
    dropped: list[dict[str, str]] = field(default_factory=list)  # item_id, reason and, for a leak, the test item


def build(request: Request) -> dict[str, Any]:
    """Build the folder and return its manifest; what an interrupted build has fetched is taken over.

    Raises DataError for whatever is wrong with a publisher's file, a leak, or a folder that holds another build or
    somebody's files. Another process is refused meanwhile.
    """
    with building(request.out, "unified"):
        sources = gather(request)
        terms = {
            "datasets": list(request.datasets),
            "split": {"kind": request.kind, "seed": request.seed, "sizes": dict(request.sizes)},
            "any_revision": request.any_revision,
            "test_only": request.test_only,
            "converters": CONVERTER_VERSION,
        }
        every_file = [file for files in sources.values() for file in files]
        return finished(request.out, "unified", "", terms, every_file) or build_anew(request, terms, sources)


def gather(request: Request) -> dict[str, list[SourceFile]]:
    """The files of every raw folder needed, downloaded or found: folder name → files with their checksums.

    Raises DataError naming all folders that lack theirs at once.
    """
    raw = request.raw_folder
    wanted = [] if request.test_only else [DATASETS[name] for name in request.datasets]
    needed: dict[str, Origin] = {dataset.folder: dataset.origin for dataset in wanted}
    is_at_hand = request.raw is None or (raw / RELEASE_FOLDER).is_dir()
    if request.test_only or (request.kind == "published" and is_at_hand):
        needed[RELEASE_FOLDER] = RELEASE
    if request.any_revision:
        needed = {folder: replace(origin, sha256={}) for folder, origin in needed.items()}
    if request.raw is None:
        return {name: fetch(origin, raw / name, name=name) for name, origin in needed.items()}
    files, wrong = {}, []
    for name, origin in needed.items():
        try:
            files[name] = source_files(origin, raw / name, name=name)
        except DataError as error:
            wrong.append(str(error))
    if wrong:
        raise DataError("\n".join(wrong))
    return files


def build_anew(
    request: Request, terms: Mapping[str, Any], sources: Mapping[str, Sequence[SourceFile]]
) -> dict[str, Any]:
    """Everything behind the publishers' files. A finished build is given up only when all that can fail has passed."""
    parts = {}
    for name in request.datasets:
        dataset = DATASETS[name]
        if request.test_only:
            parts[name] = Part(dataset=dataset, test=released_test(request, dataset), test_from="release")
        else:
            parts[name] = converted(request, dataset, use_release=RELEASE_FOLDER in sources)
    (request.out / MANIFEST_FILE).unlink(missing_ok=True)
    files = write_split(request.out, parts)
    listed = {folder: described(files) for folder, files in sources.items()}
    contents = {
        name: entry_of(part, listed[RELEASE_FOLDER if request.test_only else part.dataset.folder])
        for name, part in parts.items()
    }
    facts = {**terms, "sources": listed, "contents": contents, "files": files}
    return finish(request.out, "unified", facts, card_text)


def converted(request: Request, dataset: Dataset, *, use_release: bool) -> Part:
    """A dataset's pool and its test items; the released records are the standard for the published split.

    Raises DataError naming file, line and field of the first record that is not as the publisher documents it.
    """
    name, stratum, folder = dataset.name, dataset.stratum, request.raw_folder / dataset.folder
    items = dataset.convert(folder)
    pool = list(tqdm(items, desc=f"{name}: converting", total=dataset.n_total, unit=" items", disable=None))
    if not pool:
        raise DataError(f"{folder}: holds no {name} item; fetch the files again")
    check_no_repeats((item.item_id for item in pool), name)
    strata = {item.item_id: str(item.meta[stratum]) if stratum else None for item in pool}
    if request.kind == "published" and name in release.published_ids():
        ids = published_split(name, strata)
    elif dataset.evaluation_only:
        ids = list(strata)
    else:  # a dataset that the paper has not is drawn in a published split, too
        ids = resample(name, strata, request.sizes.get(name, dataset.n_test), request.seed)
    by_id = {item.item_id: item for item in pool}
    test_from = "release" if dataset.origin is RELEASE else "publisher"
    part = Part(dataset=dataset, pool=pool, test=[by_id[item_id] for item_id in ids], test_from=test_from)
    if request.kind == "published":
        part.differs = release.differences(name, part.test)
        if (reworded := part.differs.get("question", [])) and not request.any_revision:
            raise DataError(
                f"{name}: {len(reworded)} of the published test ids (first: '{reworded[0]}') ask something else in "
                "the publisher's files: another split or revision. Fetch it anew; --any-revision takes it as it is"
            )
        if use_release and name in release.FILES:
            part.held, part.test, part.test_from = part.test, released_test(request, dataset), "release"
    return part


def released_test(request: Request, dataset: Dataset) -> list[Item]:
    """The released test items of a dataset. Raises DataError when they are not the published ones in order.

    With any_revision, items that read otherwise than the published ones are taken, under the published ids.
    """
    name, folder = dataset.name, request.raw_folder / RELEASE_FOLDER
    items = list(release.published_items(name, folder) if name in release.FILES else dataset.convert(folder))
    ids, way_out = release.published_ids()[name], f"fetch revision {RELEASE.revision} of {RELEASE.place}"
    if [item.item_id for item in items] != list(ids):
        raise DataError(
            f"{folder}: the released test split of {name} ({len(items)} items) is not the published one "
            f"({len(ids)} ids, in order); {way_out}"
        )
    for changed, differing in () if request.any_revision else release.differences(name, items).items():
        raise DataError(f"{folder}: {changed} of {name}'s item '{differing[0]}' is not as published; {way_out}")
    return items


def write_split(folder: Path, parts: Mapping[str, Part]) -> dict[str, str]:
    """Write the tables of all datasets and the list of what was left out; returns path in the folder → checksum."""
    held_out = HeldOut(item for part in parts.values() for item in (*part.test, *part.held))
    files, dropped = {}, []

    def write(name: str, split: str, items: Sequence[Item]) -> None:
        path = folder / "data" / name / f"{split}.parquet"
        write_items(path, items, parts[name].dataset.stratum, {"dataset": name, "split": split})
        files[path.relative_to(folder).as_posix()] = sha256_of(path)

    for name, part in parts.items():
        write(name, "test", part.test)
        if part.pool and not part.dataset.evaluation_only:
            train = train_items(part.pool, part, held_out)
            write(name, "train", train)
            part.n_train = len(train)
        dropped += part.dropped
    write_jsonl(folder / DROPPED_FILE, dropped)
    return files


def train_items(pool: Sequence[Item], part: Part, held_out: HeldOut) -> list[Item]:
    """The pool minus the test items, by id and by question text; what goes beside the test items is listed."""
    test_ids, kept = {item.item_id for item in part.test}, []
    for item in pool:
        if item.item_id in test_ids:
            continue
        empty = [name for name in TEXTS if not getattr(item, name).strip()]
        if leak := held_out.leak(item):
            part.dropped.append({"item_id": item.item_id, "reason": f"same {leak[1]}", "test_item": leak[0]})
        elif empty:
            part.dropped.append({"item_id": item.item_id, "reason": f"empty {empty[0]}"})
        else:
            kept.append(item)
    return kept


def entry_of(part: Part, files: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """A dataset's entry in the manifest; `files` are what it was made of."""
    dataset = part.dataset
    return {
        "n_pool": None if part.pool is None else len(part.pool),
        "n_train": part.n_train,
        "n_test": len(part.test),
        "n_dropped": dict(Counter(row["reason"] for row in part.dropped)),
        "test_from": part.test_from,
        "test_differs": part.differs,
        "strata": dict(Counter(str(item.meta[dataset.stratum]) for item in part.test)) if dataset.stratum else {},
        "source": files,
        "licence": dataset.licence,
        "not_passed_on": dataset.not_passed_on,
        "citation": dataset.citation,
    }


def published_split(dataset: str, pool: PoolIndex) -> list[str]:
    """The published test ids of a dataset. Raises DataError when the pool lacks some of them."""
    ids = list(release.published_ids()[dataset])
    lacking = [item_id for item_id in ids if item_id not in pool]
    if lacking:
        raise DataError(
            f"{dataset}: {len(lacking)} of {len(ids)} published test items are not in the publisher's files (first: "
            f"'{lacking[0]}'), which hold {len(pool)} items; fetch them whole (docs/unified-benchmark.md)"
        )
    return ids


def resample(dataset: str, pool: PoolIndex, n_test: int, seed: int = SEED) -> list[str]:
    """The ids of a new test split in drawing order: 100 from the pool, then the others from what is left.

    Each stage starts the generator anew. Raises DataError when a stratum is too small.
    """
    first = draw(dataset, pool, min(n_test, N_FIRST_STAGE), seed)
    taken = set(first)
    rest = {item_id: stratum for item_id, stratum in pool.items() if item_id not in taken}
    return first + draw(dataset, rest, n_test - len(first), seed)


def draw(dataset: str, pool: PoolIndex, n: int, seed: int) -> list[str]:
    """n ids, evenly over the strata; which strata take one more is drawn too."""
    generator = random.Random(seed)
    strata: dict[str | None, list[str]] = {} if pool else {None: []}
    for item_id, stratum in pool.items():
        strata.setdefault(stratum, []).append(item_id)
    names = list(strata)
    if names != [None]:
        generator.shuffle(names)
    share, n_larger = divmod(n, len(names))
    ids: list[str] = []
    for place, name in enumerate(names):
        wanted = share + (place < n_larger)
        if wanted > len(strata[name]):
            where = "the pool" if name is None else f"stratum '{name}'"
            n_left = len(strata[name])
            raise DataError(f"{dataset}: {where} has {n_left} items left, {wanted} are wanted; take fewer (--size)")
        ids += generator.sample(strata[name], wanted)
    return ids
