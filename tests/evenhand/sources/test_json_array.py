"""Files that are one JSON array, PlausibleQA's for one: bad elements are named."""

import json

import pytest

from tests.made.bad_input import refused
from tests.made.unified_files import rows


def test_a_bad_value_in_an_array_is_named_with_file_element_and_field(tmp_path):
    records = rows("plausibleqa")
    records[2] |= {"candidate_answers": {"a": 1}}
    message = refused("plausibleqa", json.dumps(records), tmp_path)
    assert message.startswith(
        "test.json: element 3: field 'candidate_answers['a']' must be an object of scores, found 1"
    )


@pytest.mark.parametrize("tail", ["", ",]", "] x"])
def test_an_array_that_ends_badly_is_refused(tail, tmp_path):
    whole = json.dumps(rows("plausibleqa"))
    assert refused("plausibleqa", whole[:-1] + tail, tmp_path).startswith("test.json: is no JSON that can be read")


def test_an_element_that_is_no_object_is_named(tmp_path):
    content = json.dumps([*rows("plausibleqa"), 7])
    assert refused("plausibleqa", content, tmp_path).startswith("test.json: element 5: is no JSON object, but 7")
