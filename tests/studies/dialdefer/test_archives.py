"""Publishers' archives: damage is named, nothing is unpacked to disk, no link is followed, no bomb goes off."""

import io
import json
import tarfile
import tracemalloc
import zipfile

import pytest

from evenhand.data_files import LONGEST
from evenhand.errors import DataError
from studies.dialdefer.archives import member_lines

WANTED = "*_wanted.jsonl"


def packed(path, name="a_wanted.jsonl", content=b"x\n", kind=tarfile.REGTYPE):
    """An archive of one member, a zip or a tar by the path's name."""
    if path.suffix == ".zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(name, content)
        return path
    member = tarfile.TarInfo(name)
    member.type, member.linkname, member.size = kind, "secret", len(content)
    with tarfile.open(path, "w:gz") as tar:
        tar.addfile(member, io.BytesIO(content))
    return path


def lines(path):
    return member_lines(path, WANTED)


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE])
def test_a_link_or_device_is_not_followed(kind, tmp_path):
    (tmp_path / "secret").write_text("secret\n")
    with pytest.raises(DataError, match="is not a plain file"):
        list(lines(packed(tmp_path / "a.tgz", content=b"", kind=kind)))


def test_a_link_in_a_zip_is_its_own_text_and_is_not_followed(tmp_path):
    (tmp_path / "secret").write_text("secret\n")
    member = zipfile.ZipInfo("a_wanted.jsonl")
    member.external_attr = 0o120777 << 16  # a symbolic link, as Info-ZIP packs it
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr(member, "secret")
    assert list(lines(tmp_path / "a.zip")) == [b"secret"]


@pytest.mark.parametrize("archive", ["a.zip", "a.tgz"])
def test_a_bomb_of_one_line_is_refused_at_its_longest_length(archive, tmp_path):
    bomb = lines(packed(tmp_path / archive, content=bytes(8 * LONGEST)))  # some kilobytes, packed
    tracemalloc.start()
    try:
        with pytest.raises(DataError, match=r"holds a line of more than 16 MiB"):
            next(bomb)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 5 * LONGEST


@pytest.mark.parametrize("archive", ["a.zip", "a.tgz"])
@pytest.mark.parametrize("share", [0.0, 0.5, 0.9])
def test_a_truncated_archive_is_refused_wherever_it_ends(archive, share, tmp_path):
    rows = "".join(json.dumps({"n": n, "text": f"{n * 7919 % 1000}"}) + "\n" for n in range(900))
    path = packed(tmp_path / archive, content=rows.encode())
    whole = path.read_bytes()
    path.write_bytes(whole[: int(share * len(whole))])
    with pytest.raises(DataError, match=rf"{archive}: is not a whole archive \(.+fetch it again"):
        list(lines(path))
