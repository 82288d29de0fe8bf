"""Small built folders for tests, from made files in the publishers' formats."""

import json

from studies.dialdefer.records import INCORRECT_ANSWERS
from studies.dialdefer.release import FILES
from studies.dialdefer.unified.build import Request, build
from studies.dialdefer.unified.catalogue import DATASETS
from tests.made.unified_files import write_raw


def build_small(folder, *names, n_test=9, scale=0.02):
    """A `resample` split of a few datasets with n_test test items each; returns the built folder."""
    write_raw(folder / "raw", scale=scale, datasets=[name for name in names if name in FILES])
    out = folder / "built"
    build(request(out, folder / "raw", names, n_test=n_test))
    return out


def request(out, raw, names, *, n_test=None, **changes):
    """What to build: with n_test a new draw, without it the published split."""
    draw = {"kind": "resample", "sizes": dict.fromkeys(names, n_test)} if n_test else {}
    chosen = tuple(name for name in DATASETS if name in names)
    return Request(**{"out": out, "raw": raw, "datasets": chosen, "any_revision": True, **draw, **changes})


def write_release(folder, dataset, items):
    """Test items as the authors released theirs."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = [
        json.dumps(
            {
                "id": item.item_id,
                **{key: getattr(item, key) for key in ("question", "context")},
                "incorrect_answers": item.meta[INCORRECT_ANSWERS],
                "meta": {key: value for key, value in item.meta.items() if key != INCORRECT_ANSWERS},
                "chosen_correct_answer": item.correct_answer,
                "chosen_incorrect_answer": item.incorrect_answer,
            }
        )
        for item in items
    ]
    (folder / f"{FILES[dataset]}_formatted.jsonl").write_text("\n".join(lines) + "\n")
