"""The lines of one member of a publisher's zip or tar. Nothing is unpacked to disk."""

import lzma
import tarfile
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath
from typing import IO

from evenhand.errors import DataError
from evenhand.sources.record_fields import shown

LONGEST = 1 << 24  # bytes of a line
AGAIN = "the file is damaged or not the publisher's: fetch it again"
# What the standard library raises over damaged bytes, beside its own BadZipFile and TarError.
DAMAGE = (zlib.error, lzma.LZMAError, EOFError, OSError, ValueError)


def zip_member(path: Path, wanted: str, password: bytes | None = None) -> Iterator[bytes]:
    """The lines of the one member of a zip whose name matches `wanted`."""
    try:
        with zipfile.ZipFile(path) as archive:
            name = only_match(path, archive.namelist(), wanted)
            with archive.open(name, pwd=password) as member:
                yield from lines_of(member, f"{path}!{name}")
    except RuntimeError as error:  # encrypted otherwise, or packed by a method that Python lacks
        raise DataError(f"{path}: cannot be unpacked ({reason(error)}); fetch the publisher's own file") from None
    except (zipfile.BadZipFile, *DAMAGE) as error:
        raise DataError(f"{path}: is no whole zip ({reason(error)}); {AGAIN}") from None


def tar_member(path: Path, wanted: str) -> Iterator[bytes]:
    """The lines of the one regular member of a tar (compressed or not) whose name matches `wanted`."""
    try:
        with tarfile.open(path) as archive:
            members = archive.getmembers()
            name = only_match(path, [member.name for member in members], wanted)
            chosen = next(member for member in members if member.name == name)
            # A sparse member of a few bytes may unpack to any number of zeros.
            file = None if chosen.issparse() or not chosen.isfile() else archive.extractfile(chosen)
            if file is None:
                raise DataError(f"{path}: member {shown(name)} is no plain file, but a link, say; {AGAIN}")
            yield from lines_of(file, f"{path}!{name}")
    except (tarfile.TarError, *DAMAGE) as error:
        raise DataError(f"{path}: is no whole archive ({reason(error)}); {AGAIN}") from None


def lines_of(file: IO[bytes], name: str) -> Iterator[bytes]:
    """A member's lines. Raises DataError for one that is too long: kilobytes may unpack to a line of gigabytes."""
    while line := file.readline(LONGEST + 1):
        if len(line) > LONGEST:
            raise DataError(f"{name}: holds a line of more than {LONGEST / 2**20:.0f} MiB; {AGAIN}")
        yield line


def only_match(path: Path, names: Iterable[str], wanted: str) -> str:
    """The one name that matches. A name that leads out of the archive's folder spoils the whole archive."""
    found, names = [], list(names)
    for name in names:
        place = PurePosixPath(name.replace("\\", "/"))
        if place.is_absolute() or ".." in place.parts or ":" in name.partition("/")[0]:
            raise DataError(f"{path}: member {shown(name)} lies outside the archive's folder; do not use this file")
        if place.match(wanted) and "__MACOSX" not in place.parts:
            found.append(name)
    if len(found) != 1:
        inside = ", ".join(map(shown, names[:5])) or "nothing"
        raise DataError(f"{path}: holds {len(found)} files like {wanted}, expected 1 (inside: {inside}); {AGAIN}")
    return found[0]


def reason(error: Exception) -> str:
    """A library's complaint on one line, printable anywhere."""
    return ascii(" ".join(str(error).split())[:120])[1:-1] or type(error).__name__
