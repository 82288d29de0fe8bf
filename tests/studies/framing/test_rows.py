"""Items of a study in YAML: which groups are families, resampled together, and which are kinds of items."""

import pytest

from studies.framing.rows import are_families


@pytest.mark.parametrize(
    ("n_groups", "size", "is_family"),
    [(40, 2, True), (10, 2, True), (20, 5, True), (60, 5, True), (80, 1, False), (10, 4, False), (10, 80, False)],
    ids=["twins", "few twins", "fives", "more fives", "alone", "pocket's 40", "pocket"],
)
def test_many_groups_of_few_items_are_families(n_groups: int, size: int, is_family: bool) -> None:
    assert are_families([f"g{i % n_groups}" for i in range(n_groups * size)]) == is_family
