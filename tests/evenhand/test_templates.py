"""A template fills an item's values in, and reaches nothing else."""

import pytest

from evenhand.errors import DataError
from evenhand.templates import rendered, valid_template


@pytest.mark.parametrize(
    ("template", "is_let_in"),
    [
        ("{{ claim | upper }}{% if yes %}x{% endif %}{% for x in parts %}{{ loop.index }}{{ x }}{% endfor %}", True),
        ("{{ claim.__class__.__mro__ }}", False),
        ("{{ yes.upper }}", False),
        ("{{ ''['__class__'] }}", False),
        ("{% for i in range(1000000000) %}x{% endfor %}", False),
        ("{{ claim.upper() }}", False),
        ("{{ parts }}", False),
        ("{% if yes %}", False),
        ("{% include '/etc/passwd' %}", False),
        ("{{ lipsum.__globals__ }}", False),
        ("{{ yes | attr('__class__') }}", False),
        ("{{ range }}", False),
        ("{{ self }}", False),
    ],
)
def test_a_template_fills_values_in_and_reaches_no_attribute_file_or_global(template, is_let_in):
    values = {"claim": "{{ 7 * 7 }} {% x", "yes": "{{ 7 * 7 }} {% x", "parts": ["p", "q"]}
    if is_let_in:
        assert rendered(valid_template(template), values, "here") == "{{ 7 * 7 }} {% Xx1p2q"
    else:
        with pytest.raises((ValueError, DataError)):
            rendered(valid_template(template), values, "here")
