"""pocket-conflicts: its conversations never change."""

import pytest

from studies.narrator.corpora import conversation_set_hash
from studies.narrator.pocket import SCHEMA_VERSION, pocket_conflicts

GOLDEN = {"train": "66d8d0549716f861", "test": "9282b51638e629aa"}


@pytest.mark.parametrize("split", GOLDEN)
def test_the_conversations_never_change(split: str) -> None:
    """An intended change raises SCHEMA_VERSION and brings a new hash: scores of others cannot be compared."""
    assert conversation_set_hash(pocket_conflicts(split)) == GOLDEN[split]
    assert SCHEMA_VERSION == "v1"
