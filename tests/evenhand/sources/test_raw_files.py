"""Publishers' files: damage is named with its place."""

import pytest

from evenhand.errors import DataError
from evenhand.sources.raw_files import json_records


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ('[{"a": 1}, 7]', "element 2: is not a JSON object, but 7"),
        ('[{"a": 1},]', "is not readable JSON"),
        ("[]", "holds no record"),
        ('{"a": 1}\n\n{"a": 2}\n', ":2: is blank, so the ids behind it would shift"),
        (b'{"a": 1}\n{"a": "\xe9"}\n', r":2: is not UTF-8 (0xe9 at byte 8"),
        ("a,b\n", ":1: begins with b'a,b"),
    ],
)
def test_bad_json_is_named_with_its_place(content, says, tmp_path):
    (tmp_path / "x.json").write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(DataError) as refusal:
        list(json_records(tmp_path / "x.json"))
    assert says in str(refusal.value)
