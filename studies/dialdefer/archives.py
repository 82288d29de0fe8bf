"""Publishers' zip and tar archives, of which one member is read line by line; nothing is unpacked to disk."""

import tarfile
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath

from evenhand.data_files import AGAIN, DAMAGE, limited_lines, line_records
from evenhand.data_files import rows as json_records
from evenhand.errors import DataError, one_line
from evenhand.sources.record_fields import Record, shown


def first_present(folder: Path, *names: str) -> Path:
    """The first of several files that exists. Raises DataError naming them all."""
    for name in names:
        if (folder / name).is_file():
            return folder / name
    raise DataError(f"{folder}: holds no {' or '.join(names)}; fetch it with `evenhand build unified`, or put it there")


def records_in(path: Path, wanted: str, password: bytes | None = None) -> Iterator[Record]:
    """The records of a file, or of the one member of an archive whose name matches `wanted`."""
    if path.suffix in (".zip", ".tgz"):
        return line_records(member_lines(path, wanted, password), f"{path}!{wanted}")
    return json_records(path)


def member_lines(path: Path, wanted: str, password: bytes | None = None) -> Iterator[bytes]:
    """The lines of the one member of a zip, or the one regular member of a tar, whose name matches `wanted`."""
    try:
        if path.suffix == ".zip":
            with zipfile.ZipFile(path) as packed:
                name = only_match(path, packed.namelist(), wanted)
                with packed.open(name, pwd=password) as member:
                    yield from limited_lines(member, f"{path}!{name}")
        else:
            with tarfile.open(path) as archive:
                name = only_match(path, archive.getnames(), wanted)
                file = archive.extractfile(name) if archive.getmember(name).isfile() else None
                if file is None:
                    raise DataError(f"{path}: member {shown(name)} is not a plain file, but a link, say; {AGAIN}")
                yield from limited_lines(file, f"{path}!{name}")
    except DAMAGE as error:
        raise DataError(f"{path}: is not a whole archive ({one_line(error)}); {AGAIN}") from None


def only_match(path: Path, names: Sequence[str], wanted: str) -> str:
    """The one name in an archive that matches."""
    matching = [name for name in names if PurePosixPath(name).match(wanted) and "__MACOSX" not in name]
    if len(matching) != 1:
        inside = ", ".join(map(shown, names[:5])) or "nothing"
        raise DataError(f"{path}: holds {len(matching)} files like {wanted}, expected 1 (inside: {inside}); {AGAIN}")
    return matching[0]
