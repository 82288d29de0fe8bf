"""pocket: what its items promise, so that a verdict can only come from reading the passage."""

from dataclasses import asdict

import pytest

from evenhand.records import digest
from studies.dialdefer.pocket import SCHEMA_VERSION, pocket_items

GOLDEN = {
    "train": "08688c9a07606ecffe9cbe68e00941d0a1dbb904afb8fe3212229015e9231678",
    "test": "c8cd2787a9d2917b0b3f7671f0d8807231086478031c920c4984788ec3c6a860",
}


@pytest.mark.parametrize("split", GOLDEN)
def test_the_items_never_change(split):
    """An intended change raises SCHEMA_VERSION and brings a new digest: scores of other items cannot be compared."""
    assert digest([asdict(item) for item in pocket_items(split)]) == GOLDEN[split]
    assert SCHEMA_VERSION == "v2"
