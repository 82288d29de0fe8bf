"""`evenhand build pocket`: our own generated items as files."""

import argparse
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from evenhand.jsonl import write_json, write_jsonl
from evenhand.provenance import code_state
from studies.dialdefer.datasets import item_set_hash
from studies.dialdefer.pocket import pocket_items


def main(argv: Sequence[str]) -> None:
    """Write the items of `pocket`, our generated dataset: train.jsonl, test.jsonl and manifest.json."""
    parser = argparse.ArgumentParser(
        prog="evenhand build pocket",
        description=main.__doc__,
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
