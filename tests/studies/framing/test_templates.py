"""A template fills an item's values in, and can do no more."""

from pathlib import Path

import pytest
import yaml

from evenhand.errors import DataError
from studies.framing.templates import rendered, valid_template

REFUSED = yaml.safe_load(Path(__file__).with_name("refused_templates.yaml").read_text(encoding="utf-8"))
REFUSED += ["{{ " + "(" * 1200 + "yes" + ")" * 1200 + " }}", "{{ yes }}" * 3000]
REFUSED += ["{% if yes %}" * 110 + "x" + "{% endif %}" * 110]
VALUES = {"claim": "{{ 7 * 7 }} {% x", "yes": "{{ 7 * 7 }} {% x", "parts": ["p", "q"]}


def test_a_template_fills_values_in_and_reads_none_of_them_as_a_template():
    loops = "{% for x in parts %}{{ loop.index }}{{ x }}{% endfor %}"
    template = valid_template("{{ claim | upper }}{% if yes %}x{% endif %}" + loops)
    assert rendered(template, VALUES, "here") == "{{ 7 * 7 }} {% Xx1p2q"


@pytest.mark.parametrize("template", REFUSED)
def test_a_template_can_do_no_more(template):
    with pytest.raises((ValueError, DataError)):
        rendered(valid_template(template), VALUES, "here")
