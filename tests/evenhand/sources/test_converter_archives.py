"""Bad archives of publishers: one error that names file and member; nothing is unpacked, nothing outside is read."""

import re
import zipfile
from pathlib import Path

import pytest

from tests.made.bad_input import refusal
from tests.made.unified_files import ARCHIVES, PLAIN, rows, source, write_tgz, write_zip


@pytest.mark.parametrize(("dataset", "name"), ARCHIVES.items())
def test_an_archive_of_another_kind_is_refused_by_name(dataset, name, tmp_path):
    (tmp_path / name).write_text("{}\n", encoding="utf-8")
    assert re.match(rf"{name}: is no whole (zip|archive) \(.+\); .*fetch it again", refusal(dataset, tmp_path))


def packed(dataset: str, folder: Path) -> Path:
    """An archive with 50 made records in the file that is wanted."""
    path, name = folder / ARCHIVES[dataset], f"dataset/{PLAIN[dataset][0]}"
    (write_tgz if path.suffix == ".tgz" else write_zip)(path, {name: source(dataset, rows(dataset, 50))})
    return path


@pytest.mark.parametrize("dataset", ARCHIVES)
@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.9, 0.99])
def test_a_truncated_archive_is_refused_wherever_it_ends(dataset, share, tmp_path):
    path = packed(dataset, tmp_path)
    whole = path.read_bytes()
    path.write_bytes(whole[: int(share * len(whole))])
    message = refusal(dataset, tmp_path)
    assert message.startswith(f"{path.name}: is no whole ")
    assert message.endswith("fetch it again")


@pytest.mark.parametrize("names", [[], ["other.txt"], ["a_mcq.jsonl", "b/b_mcq.jsonl"]])
def test_an_archive_without_the_one_wanted_member_says_what_is_inside(names, tmp_path):
    with zipfile.ZipFile(tmp_path / ARCHIVES["harp"], "w") as archive:
        for name in names:
            archive.writestr(name, "x")
    n_like = len([name for name in names if name.endswith("jsonl")])
    inside = ", ".join(f"'{name}'" for name in names) or "nothing"
    expected = f"holds {n_like} files like *_mcq.jsonl, expected 1 (inside: {inside})"
    assert expected in refusal("harp", tmp_path)
