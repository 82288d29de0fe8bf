"""The words of `evenhand build unified`."""

import argparse
from collections.abc import Sequence
from pathlib import Path

from evenhand.errors import ConfigError
from studies.built_folder import is_built, read_manifest
from studies.dialdefer.unified.assemble import Split
from studies.dialdefer.unified.build import Request, build
from studies.dialdefer.unified.catalogue import DATASETS, DEFAULT
from studies.dialdefer.unified.listing import list_text
from studies.dialdefer.unified.splits import SEED, sizes_from
from studies.dialdefer.unified.table8 import notes_on, table8_text

EXAMPLES = """examples:
  evenhand build unified --list                                what will be fetched, under which licences
  evenhand build unified --out data/unified                    everything, from the publishers
  evenhand build unified --out data/unified --test-only        the published test split alone, from its authors
  evenhand build unified --out data/mine --raw FOLDER --datasets bbq harp --split resample --seed 7 --size bbq=1000
  evenhand build unified --out data/unified --stats            Table 8 as built, beside the paper's
"""


def main(argv: Sequence[str]) -> None:
    """Build the Unified Benchmark: nine QA datasets and r/AIO's contexts, split into test and train without leaks."""
    words = parser().parse_args(argv)
    if words.list:
        print(list_text(DATASETS.values()))
        return
    if words.out is None or words.out == Path():
        raise ConfigError("say where to build: --out data/unified (--list shows what would be fetched)")
    if words.stats and is_built(words.out) and not says_what_to_build(words):
        print(table8_text(read_manifest(words.out)))
        return
    manifest = build(request_from(words))
    if words.stats:
        print(table8_text(manifest))
        return
    for name, found in manifest["contents"].items():
        print(f"{name:<14} train {found['n_train']:>7,}   test {found['n_test']:>5,} (from the {found['test_from']})")
    for note in notes_on(manifest):
        print(note)
    print(f"{words.out}: done. README.md says what it holds; --stats compares with the paper's Table 8")


def says_what_to_build(words: argparse.Namespace) -> bool:
    """Whether an option beside --out and --stats is given."""
    return vars(words) != vars(parser().parse_args(["--out", str(words.out), "--stats"]))


def parser() -> argparse.ArgumentParser:
    """What may be said."""
    words = argparse.ArgumentParser(
        prog="evenhand build unified",
        description=main.__doc__,
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    words.add_argument("--out", type=Path, help="the folder to build; an interrupted build is continued")
    words.add_argument(
        "--raw", type=Path, help="take the publishers' files from here (RAW/bbq/Age.jsonl, ...); no download"
    )
    words.add_argument(
        "--datasets", nargs="+", choices=list(DATASETS), metavar="NAME", help="only these; default: all ten"
    )
    words.add_argument("--split", choices=("published", "resample"), default="published")
    words.add_argument("--seed", type=int, default=SEED, help="of --split resample")
    words.add_argument(
        "--size", action="extend", nargs="+", default=[], metavar="NAME=N", help="test items of --split resample"
    )
    words.add_argument("--test-only", action="store_true", help="the authors' released test items, no train split")
    words.add_argument(
        "--any-revision",
        action="store_true",
        help="take files whose checksum is not the one this version was made with",
    )
    words.add_argument("--list", action="store_true", help="show sources, licences and citations; fetch nothing")
    words.add_argument("--stats", action="store_true", help="print Table 8 as built, beside the paper's")
    return words


def request_from(words: argparse.Namespace) -> Request:
    """The words as a request. Raises ConfigError for words that do not go together."""
    if words.seed < 0:
        raise ConfigError(f"--seed {words.seed}: take 0 or more")
    if words.split == "published" and (words.size or words.seed != SEED):
        raise ConfigError("--size and --seed are of --split resample; the published split is what it is")
    if words.test_only and words.split != "published":
        raise ConfigError("--test-only takes the authors' released test items; it does not go with --split resample")
    chosen = words.datasets or [dataset.name for dataset in DEFAULT]
    names = tuple(name for name in DATASETS if name in chosen)
    drawn = [name for name in names if not DATASETS[name].evaluation_only]
    sizes = {name: DATASETS[name].n_test for name in drawn}
    if words.split == "resample":
        sizes = sizes_from(words.size, sizes)
    split = Split(kind=words.split, seed=words.seed, sizes=sizes, any_revision=words.any_revision)
    return Request(
        out=words.out,
        raw=words.raw,
        datasets=names,
        split=split,
        test_only=words.test_only,
    )
