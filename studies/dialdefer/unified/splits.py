"""Which items of a pool are the test split: the published ids, or a new draw by the paper's procedure (appendix A.2).

The published ids come out of `resample` with its defaults, in order (PlausibleQA's pool order is not known).
"""

import json
import random
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from evenhand.errors import ConfigError, DataError

SEED = 42
N_FIRST_STAGE = 100
IDS_FILE = Path(__file__).with_name("published_test_ids.json")

PoolIndex = Mapping[str, str | None]  # item id → stratum, in pool order; None where the draw is from the whole


@cache
def published_ids() -> dict[str, tuple[str, ...]]:
    """Canonical dataset name → test ids in published order; r/AIO's among them. Sizes: Table 8."""
    content = json.loads(IDS_FILE.read_text(encoding="utf-8"))
    return {name: tuple(ids) for name, ids in content.items() if name != "source"}


def published_split(dataset: str, pool: PoolIndex) -> list[str]:
    """The published test ids of a dataset. Raises DataError when the pool lacks some of them."""
    ids = list(published_ids()[dataset])
    lacking = [item_id for item_id in ids if item_id not in pool]
    if lacking:
        raise DataError(
            f"{dataset}: {len(lacking)} of {len(ids)} published test items are not in the publisher's files (first: "
            f"'{lacking[0]}'), which hold {len(pool)} items; fetch them whole (docs/unified-benchmark.md)"
        )
    return ids


def resample(pool: PoolIndex, n_test: int, seed: int = SEED) -> list[str]:
    """The ids of a new test split in drawing order: 100 from the pool, then the others from what is left.

    Each stage starts the generator anew. Raises DataError when a stratum is too small.
    """
    first = draw(pool, min(n_test, N_FIRST_STAGE), seed)
    taken = set(first)
    rest = {item_id: stratum for item_id, stratum in pool.items() if item_id not in taken}
    return first + draw(rest, n_test - len(first), seed)


def draw(pool: PoolIndex, n: int, seed: int) -> list[str]:
    """n ids, evenly over the strata; which strata take one more is drawn too."""
    generator = random.Random(seed)
    strata: dict[str | None, list[str]] = {}
    for item_id, stratum in pool.items():
        strata.setdefault(stratum, []).append(item_id)
    if set(strata) <= {None}:
        return pick(generator, list(pool), n, "the pool")
    share, n_larger = divmod(n, len(strata))
    names = list(strata)
    generator.shuffle(names)
    return [
        item_id
        for place, name in enumerate(names)
        for item_id in pick(generator, strata[name], share + (place < n_larger), f"stratum '{name}'")
    ]


def pick(generator: random.Random, ids: Sequence[str], n: int, where: str) -> list[str]:
    """n of the ids, without repetition."""
    if n > len(ids):
        raise DataError(f"{where} has {len(ids)} items left, {n} are to be drawn; take a smaller --size")
    return generator.sample(ids, n)


def sizes_from(words: Sequence[str], known: Mapping[str, int]) -> dict[str, int]:
    """Test sizes by dataset: Table 8's, with "bbq=500" words put over them. Raises ConfigError for a bad word."""
    sizes = dict(known)
    for word in words:
        name, _, number = word.partition("=")
        if name not in known:
            raise ConfigError(f"--size {word}: unknown dataset '{name}'; known: {', '.join(sorted(known))}")
        if not number.isdecimal() or int(number) < 1:
            raise ConfigError(f"--size {word}: write a number of items, as in --size {name}=300")
        sizes[name] = int(number)
    return sizes
