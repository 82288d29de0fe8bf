"""Items of a study in YAML: which groups are families, resampled together, and which are kinds of items."""

import pytest

from studies.framing.rows import Row, in_families


@pytest.mark.parametrize(
    ("n_groups", "size", "is_family"),
    [(40, 2, True), (10, 2, True), (20, 5, True), (60, 5, True), (80, 1, False), (10, 4, False), (10, 80, False)],
    ids=["twins", "few twins", "fives", "more fives", "alone", "pocket's 40", "pocket"],
)
def test_many_groups_of_few_items_are_families(n_groups: int, size: int, is_family: bool) -> None:
    rows = [Row(f"{i}", f"g{i % n_groups}", "d", {}, "here") for i in range(n_groups * size)]
    assert {row.cluster for row in in_families(rows)} == ({row.group for row in rows} if is_family else {None})
