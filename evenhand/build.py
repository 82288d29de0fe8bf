"""`evenhand build`: write a benchmark's items to a folder."""

import argparse
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from evenhand.errors import ConfigError
from evenhand.jsonl import write_json, write_jsonl
from evenhand.provenance import code_state
from studies.dialdefer.datasets import item_set_hash
from studies.dialdefer.pocket import pocket_items

USAGE = """usage: evenhand build {unified,pocket,narrator} --out FOLDER ...

  unified   DialDefer's nine QA datasets and r/AIO's contexts, from their publishers' files or the authors' release
  narrator  the narrator study's Wikipedia conflicts, from ConvoKit's dump; --pocket: our own conflicts, as files
  pocket    our own generated items, as files (configs need none: they name the dataset `pocket`)

`evenhand build unified --help` and the like explain more."""


def main(argv: Sequence[str]) -> None:
    """Hand over to the benchmark that is named first."""
    name, *rest = argv or [""]
    if name == "unified":
        from studies.dialdefer.unified.command import main as build_unified

        build_unified(rest)
    elif name == "pocket":
        build_pocket(rest)
    elif name == "narrator":
        from studies.narrator.command import main as build_narrator

        build_narrator(rest)
    elif name in ("-h", "--help"):
        print(USAGE)
        raise SystemExit(0)
    else:
        raise ConfigError(f"nothing is called '{name}'.\n{USAGE}" if name else USAGE)


def build_pocket(argv: Sequence[str]) -> None:
    """Write the items of `pocket`, our generated dataset: train.jsonl, test.jsonl and manifest.json."""
    parser = argparse.ArgumentParser(
        prog="evenhand build pocket",
        description=build_pocket.__doc__,
        epilog="example: evenhand build pocket --out data/pocket",
    )
    parser.add_argument("--out", type=Path, required=True, help="the folder to write to")
    words = parser.parse_args(argv)
    splits = {}
    for split in ("train", "test"):
        items = list(pocket_items(split))
        write_jsonl(words.out / f"{split}.jsonl", (asdict(item) for item in items))
        splits[split] = {"n_items": len(items), "item_set_hash": item_set_hash(items)}
        print(f"{words.out / split}.jsonl: {len(items)} items")
    write_json(
        words.out / "manifest.json", {"dataset": "pocket", "splits": splits, "code": code_state(Path(__file__).parent)}
    )
