"""A publisher's archive is read by members: nothing is unpacked to disk, no link is followed, no bomb goes off."""

import io
import tarfile
import tracemalloc
import zipfile
from pathlib import Path

import pytest

from evenhand.errors import DataError
from evenhand.sources.raw_files import LONGEST, tar_member, zip_member

WANTED = "*_wanted.jsonl"


def tar_with(path: Path, member: tarfile.TarInfo, content: bytes = b"") -> Path:
    with tarfile.open(path, "w:gz") as archive:
        member.size = len(content)
        archive.addfile(member, io.BytesIO(content))
    return path


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE])
@pytest.mark.parametrize("target", ["secret", "/etc/passwd", "../secret"])
def test_a_link_or_device_is_not_followed(kind: bytes, target: str, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret\n")
    member = tarfile.TarInfo("a_wanted.jsonl")
    member.type, member.linkname = kind, target
    with pytest.raises(DataError, match="is no plain file"):
        list(tar_member(tar_with(tmp_path / "a.tgz", member), WANTED))


def test_a_link_in_a_zip_is_its_own_text_and_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret\n")
    member = zipfile.ZipInfo("a_wanted.jsonl")
    member.external_attr = 0o120777 << 16  # a symbolic link, as Info-ZIP packs it
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr(member, "secret")
    assert list(zip_member(tmp_path / "a.zip", WANTED)) == [b"secret"]


@pytest.mark.parametrize(
    "name", ["../a_wanted.jsonl", "/a_wanted.jsonl", "b/../../a_wanted.jsonl", "C:\\a_wanted.jsonl"]
)
def test_a_member_outside_the_archives_folder_spoils_the_archive(name: str, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr(name, "x\n")
    tar_with(tmp_path / "a.tgz", tarfile.TarInfo(name), b"x\n")
    for lines in (zip_member(tmp_path / "a.zip", WANTED), tar_member(tmp_path / "a.tgz", WANTED)):
        with pytest.raises(DataError, match="lies outside the archive's folder"):
            list(lines)
    assert {file.name for file in tmp_path.iterdir()} == {"a.zip", "a.tgz"}


@pytest.mark.parametrize("kind", ["zip", "tgz"])
def test_a_bomb_of_one_line_is_refused_at_its_longest_length(kind: str, tmp_path: Path) -> None:
    bomb = bytes(8 * LONGEST)  # some kilobytes, packed
    if kind == "zip":
        with zipfile.ZipFile(tmp_path / "a.zip", "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("a_wanted.jsonl", bomb)
        lines = zip_member(tmp_path / "a.zip", WANTED)
    else:
        lines = tar_member(tar_with(tmp_path / "a.tgz", tarfile.TarInfo("a_wanted.jsonl"), bomb), WANTED)
    del bomb
    tracemalloc.start()
    try:
        with pytest.raises(DataError, match=r"holds a line of more than 16 MiB"):
            next(lines)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 5 * LONGEST
