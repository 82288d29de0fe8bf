"""A template fills an item's values in, and reaches nothing else."""

import pytest

from evenhand.errors import DataError
from evenhand.templates import rendered, valid_template
from tests.made.places import cases

TEMPLATES = cases(__file__)


@pytest.mark.parametrize(("template", "is_let_in"), TEMPLATES)
def test_a_template_fills_values_in_and_reaches_no_attribute_file_or_global(template, is_let_in):
    values = {"claim": "{{ 7 * 7 }} {% x", "yes": "{{ 7 * 7 }} {% x", "parts": ["p", "q"]}
    if is_let_in:
        assert rendered(valid_template(template), values, "here") == "{{ 7 * 7 }} {% Xx1p2q"
    else:
        with pytest.raises((ValueError, DataError)):
            rendered(valid_template(template), values, "here")


@pytest.mark.parametrize("template", ['{{ item["Best Answer"] | split(";") | first }}', "{{ answer }}"])
def test_an_empty_cell_is_called_empty_with_its_column_and_place(template):
    with pytest.raises(
        DataError, match=r"a\.csv:3: '(Best Answer|answer)' is empty here, or no column; names .*: item, q"
    ):
        rendered(template, {"q": "Why?", "item": {"q": "Why?"}}, "a.csv:3")
