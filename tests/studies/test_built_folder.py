"""Built folders: what of them is refused."""

import json

import pytest

from evenhand.errors import DataError
from studies.built_folder import FORMAT, MANIFEST_FILE, read_manifest, write_rows


@pytest.mark.parametrize("wanted", [{"build": "made"}, {"build": "other", "file": "rows.jsonl"}])
def test_a_manifest_of_another_format_version_is_refused(wanted, tmp_path):
    manifest = write_rows(tmp_path, "rows.jsonl", [{"id": 1}], "made", {})
    assert read_manifest(tmp_path, **wanted) == manifest
    for version in (FORMAT - 1, FORMAT + 1, None):
        (tmp_path / MANIFEST_FILE).write_text(json.dumps({**manifest, "format": version}))
        with pytest.raises(DataError, match="is not of this version of"):
            read_manifest(tmp_path, **wanted)
