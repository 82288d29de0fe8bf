"""pocket: our own items, a short passage and a question that it settles. They never change, or scores of others could
not be compared.

Ten families, 400 train and 80 test items each. An item is decided by reading alone, with no arithmetic and no knowledge
of the world. meta["level"] says how much reading it takes:

single (80 %): the passage states one fact, the correct answer to the letter; the wrong one, from the same word list,
is absent from it.
pair (20 %): the passage states two facts of the same kind, and the wrong answer is the one not asked for.

To bind two answers to two keys is the harder task: single is meant for models as small as 135M parameters, pair is
room above it.

Disjoint between train and test: every person, object, colour, day, ..., and so every passage. Shared: the sentence
patterns, and fixed pairs such as left and right.

Balanced in each split, level and family, exactly: every answer is the correct one as often as the incorrect one, for
each fixed key such as "left" too, so that an answer without its passage tells nothing. In pair, the correct answer is
the first one mentioned in half of the items, for each fixed key too, so that its place tells nothing either.
"""

from collections.abc import Sequence
from functools import cache
from pathlib import Path

from evenhand.files import read_jsonl
from studies.dialdefer.records import TEXTS, Item

SCHEMA_VERSION = "v2"
ITEMS_FILE = Path(__file__).with_name("pocket_items.jsonl")


@cache
def pocket_items(split: str) -> Sequence[Item]:
    """The items of "train" (4,000) or "test" (800), always the same ones in the same order.

    Any prefix holds the families evenly, to within one item each. Any prefix of 50 k items has k pair items of each
    family; any prefix of 100 k items has the correct answer mentioned first in exactly half of those.
    """
    rows = [row for _, row in read_jsonl(ITEMS_FILE) if row["split"] == split]
    return [
        Item(
            item_id=f"pocket-{split}-{number}",
            benchmark="pocket",
            dataset="pocket",
            **{name: row[name] for name in TEXTS},
            meta={"family": row["family"], "level": row["level"], "schema_version": SCHEMA_VERSION},
        )
        for number, row in enumerate(rows)
    ]
