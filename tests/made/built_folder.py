"""Small built folders for tests, from made files in the publishers' formats."""

import json
from collections.abc import Sequence
from pathlib import Path

from studies.dialdefer.published_items import FILES
from studies.dialdefer.records import Item
from studies.dialdefer.unified.assemble import Split
from studies.dialdefer.unified.build import Request, build
from studies.dialdefer.unified.catalogue import DATASETS
from tests.made.unified_files import write_raw


def build_small(folder: Path, *names: str, n_test: int = 9, scale: float = 0.02) -> Path:
    """A `resample` split of a few datasets with n_test test items each; returns the built folder."""
    write_raw(folder / "raw", scale=scale, datasets=[name for name in names if name in FILES])
    out = folder / "built"
    build(request(out, folder / "raw", names, n_test=n_test))
    return out


def request(out: Path, raw: Path, names: Sequence[str], *, n_test: int | None = None, seed: int = 42) -> Request:
    """What to build: with n_test a new draw, without it the published split."""
    sizes = {name: n_test or DATASETS[name].n_test for name in names if drawn(name)}
    split = Split(kind="resample" if n_test else "published", seed=seed, sizes=sizes, any_revision=True)
    chosen = tuple(name for name in DATASETS if name in names)
    return Request(out=out, raw=raw, datasets=chosen, split=split)


def drawn(name: str) -> bool:
    """Whether a dataset's test split is drawn from its pool."""
    return not DATASETS[name].evaluation_only


def write_release(folder: Path, dataset: str, items: Sequence[Item]) -> None:
    """Test items as the authors released theirs."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = [
        json.dumps(
            {
                "id": item.item_id,
                "question": item.question,
                "incorrect_answers": item.meta["incorrect_answers"],
                "context": item.context,
                "meta": {key: value for key, value in item.meta.items() if key != "incorrect_answers"},
                "chosen_correct_answer": item.correct_answer,
                "chosen_incorrect_answer": item.incorrect_answer,
            }
        )
        for item in items
    ]
    (folder / f"{FILES[dataset]}_formatted.jsonl").write_text("\n".join(lines) + "\n")
