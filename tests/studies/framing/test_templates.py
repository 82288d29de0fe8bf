"""A template fills an item's values in, and can do no more."""

import pytest

from evenhand.errors import DataError
from studies.framing.templates import rendered, valid_template


@pytest.mark.parametrize(
    ("template", "is_let_in"),
    [
        ("{{ claim | upper }}{% if yes %}x{% endif %}{% for x in parts %}{{ loop.index }}{{ x }}{% endfor %}", True),
        ("{{ claim.__class__.__mro__ }}", False),
        ("{{ yes.upper }}", False),
        ("{{ ''['__class__'] }}", False),
        ("{{ 'x' * 1000000000 }}", False),
        ("{{ 10 ** 10 ** 10 }}", False),
        ("{% for i in range(1000000000) %}x{% endfor %}", False),
        ("{% for a in parts %}{% for b in parts %}x{% endfor %}{% endfor %}", False),
        ("{% set x = yes ~ yes %}{{ x }}", False),
        ("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", False),
        ("{% include '/etc/passwd' %}", False),
        ("{{ lipsum.__globals__ }}", False),
        ("{{ yes | attr('__class__') }}", False),
        ("{{ parts | join('xxxxxxxxxxxxxxxxxxxxx') }}", False),
        ("{{ yes | upper | lower | upper | lower }}", False),
        ("{{ (yes ~ yes) | lower ~ (yes ~ yes) | lower }}", False),
        ("{{ parts | join(', ') | join(', ') }}", False),
        ("{{ [1] | tojson(300000000) }}", False),
        ("{{ 5 | round(999999999) }}", False),
        ("{{ '%300000000d' is divisibleby(1) }}", False),
        ("{{ range }}", False),
        ("{% for c in yes %}{{ c }}{% endfor %}", False),
        ("{{ " + "(" * 1200 + "yes" + ")" * 1200 + " }}", False),
        ("{% if yes %}" * 110 + "x" + "{% endif %}" * 110, False),
        ("{{ yes }}" * 3000, False),
    ],
)
def test_a_template_fills_values_in_and_can_do_no_more(template, is_let_in):
    values = {"claim": "{{ 7 * 7 }} {% x", "yes": "{{ 7 * 7 }} {% x", "parts": ["p", "q"]}
    if is_let_in:
        assert rendered(valid_template(template), values, "here") == "{{ 7 * 7 }} {% Xx1p2q"
    else:
        with pytest.raises((ValueError, DataError)):
            rendered(valid_template(template), values, "here")
