"""Items of a study in YAML: which groups are families, resampled together, and which are kinds of items."""

from pathlib import Path

import pytest

from evenhand.config import parse_config
from evenhand.errors import DataError
from evenhand.files import write_jsonl
from studies.framing.rows import are_families
from studies.framing.section import FramingSection
from tests.made.framing_runs import study


@pytest.mark.parametrize(
    ("n_groups", "size", "is_family"),
    [(40, 2, True), (10, 2, True), (20, 5, True), (60, 5, True), (80, 1, False), (10, 4, False), (10, 80, False)],
    ids=["twins", "few twins", "fives", "more fives", "alone", "pocket's 40", "pocket"],
)
def test_many_groups_of_few_items_are_families(n_groups: int, size: int, is_family: bool) -> None:
    assert are_families([f"g{i % n_groups}" for i in range(n_groups * size)]) == is_family


@pytest.mark.parametrize("column", ["group", "dataset"])
def test_a_group_or_dataset_with_a_name_of_our_own_rows_is_refused(column: str, tmp_path: Path) -> None:
    items = [{"id": i, "yes": f"y{i}", "no": f"n{i}", column: "(all)"} for i in range(3)]
    write_jsonl(tmp_path / "items.jsonl", items)
    columns = {"group": "group"} if column == "group" else {}
    section = parse_config(FramingSection, study(tmp_path / "items.jsonl", columns=columns), "framing")
    with pytest.raises(DataError, match=r"items\.jsonl:1: its group or dataset is '\(all\)'"):
        section.units("margin")
