"""The words of `evenhand build unified`."""

import argparse
from collections.abc import Sequence
from pathlib import Path

from evenhand.errors import ConfigError
from evenhand.terminal import command_parser
from studies.built_folder import is_built, read_manifest
from studies.dialdefer.release import published_ids
from studies.dialdefer.unified.build import Request, build
from studies.dialdefer.unified.card import list_text, notes_on, table8_text
from studies.dialdefer.unified.catalogue import DATASETS
from studies.dialdefer.unified.splits import SEED, sizes_from


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
    wanted = options.datasets or (published_ids() if options.test_only else DATASETS)
    names = tuple(name for name in DATASETS if name in wanted)
    sizes = {name: DATASETS[name].n_test for name in names if not DATASETS[name].evaluation_only}
    return Request(
        out=options.out,
        raw=options.raw,
        datasets=names,
        kind=options.split,
        seed=options.seed,
        sizes=sizes_from(options.size, sizes) if options.split == "resample" else {},
        test_only=options.test_only,
        any_revision=options.any_revision,
    )
