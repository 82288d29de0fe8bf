"""Where a ConvoKit dump's files are: in a folder or its zip, under a top folder or not; nothing is unpacked."""

import json
import os
import zipfile
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, Any

from benchmarks.errors import DataError
from benchmarks.unified.archives import AGAIN, DAMAGE, reason
from benchmarks.unified.raw import opened

UTTERANCES = ("utterances.jsonl", "utterances.json")
CONVERSATIONS = ("conversations.json",)
SPEAKERS = ("speakers.json", "users.json")
OLD_RELEASE = "paired_conversations.json"  # of June 2018: 1,270 conversations in one array, no ConvoKit folder
DATASET = "cga-wiki"
LARGEST = 1 << 28  # bytes of a file that is one JSON object; those of the dump have a few million
WANTED = "a folder with utterances.jsonl and conversations.json, or the zip of one"


@dataclass(frozen=True, slots=True, kw_only=True)
class DumpFiles:
    """The place of a dump: a folder, or a zip and the folder in it."""

    source: Path  # the folder or the zip
    top: str = ""  # in a zip: "" or "name/"
    members: tuple[str, ...] = ()  # names of the files directly there

    @property
    def paths(self) -> tuple[Path, ...]:
        """The files on disk that are read, for checksums."""
        if self.source.is_file():
            return (self.source,)
        names = [self.member(kinds) for kinds in (UTTERANCES, CONVERSATIONS, SPEAKERS)]
        return tuple(self.source / name for name in names if name is not None)

    def member(self, names: tuple[str, ...]) -> str | None:
        """The first of several names that is there."""
        return next((name for name in names if name in self.members), None)

    def where(self, name: str) -> str:
        """A file as an error message names it."""
        return f"{self.source}/{self.top}{name}"

    @contextmanager
    def open(self, name: str) -> Generator[IO[bytes]]:
        """A file for reading. Raises DataError when the file or the zip is damaged, also while it is read."""
        if not self.source.is_file():
            with opened(self.source / name) as file:
                yield file
            return
        try:
            with zipfile.ZipFile(self.source) as archive, archive.open(self.top + name) as member:
                yield member
        except (zipfile.BadZipFile, RuntimeError, *DAMAGE) as error:
            raise DataError(f"{self.where(name)}: is no whole file of a zip ({reason(error)}); {AGAIN}") from None

    def objects(self, names: tuple[str, ...]) -> dict[str, Any]:
        """The one JSON object of a file: id → object. Empty when there is no such file."""
        name = self.member(names)
        if name is None:
            return {}
        with self.open(name) as file:
            if file.seek(0, os.SEEK_END) > LARGEST:
                raise DataError(f"{self.where(name)}: unpacks to more than {LARGEST / 2**20:.0f} MiB; {AGAIN}")
            file.seek(0)
            content = file.read()
        try:
            found = json.loads(content)
        except (ValueError, RecursionError) as error:
            raise DataError(f"{self.where(name)}: is no JSON that can be read ({reason(error)}); {AGAIN}") from None
        if not isinstance(found, dict):
            raise DataError(f"{self.where(name)}: is a JSON {type(found).__name__}, not an object; {AGAIN}")
        return found


def find_dump(path: Path) -> DumpFiles:
    """The dump at a path: a zip, a folder, or a folder with one dump in it (the top folder, the zip, or cga-wiki/).

    Raises DataError when there is none, more than one, or only the release of 2018.
    """
    if path.is_file():
        return in_zip(path)
    if not path.is_dir():
        raise DataError(f"{path}: is not there; give {WANTED}")
    here = in_folder(path)
    if here is not None:
        return here
    inside = sorted(path.iterdir())
    found = [dump for folder in inside if folder.is_dir() for dump in [in_folder(folder)] if dump is not None]
    found += [in_zip(file) for file in inside if file.suffix == ".zip"]
    if not found and (path / DATASET).is_dir():
        return find_dump(path / DATASET)
    if len(found) != 1:
        names = ", ".join(str(dump.source) for dump in found) or ", ".join(entry.name for entry in inside[:5])
        raise DataError(f"{path}: holds {len(found)} ConvoKit dumps, expected 1 ({names or 'nothing'}); give {WANTED}")
    return found[0]


def in_folder(folder: Path) -> DumpFiles | None:
    """The dump whose files lie in a folder, None when there is none."""
    return checked(DumpFiles(source=folder, members=tuple(sorted(file.name for file in folder.iterdir()))))


def in_zip(path: Path) -> DumpFiles:
    """The dump in a zip. Raises DataError when the zip is damaged or holds none or several."""
    try:
        with zipfile.ZipFile(path) as archive:
            names = [name for name in archive.namelist() if "__MACOSX" not in PurePosixPath(name).parts]
    except (zipfile.BadZipFile, *DAMAGE) as error:
        raise DataError(f"{path}: is no whole zip ({reason(error)}); {AGAIN}") from None
    tops = {name[: len(name) - len(PurePosixPath(name).name)] for name in names if not name.endswith("/")}
    dumps = []
    for top in sorted(tops):
        members = tuple(PurePosixPath(name).name for name in names if name == top + PurePosixPath(name).name)
        dump = checked(DumpFiles(source=path, top=top, members=members))
        dumps += [] if dump is None else [dump]
    if len(dumps) != 1:
        raise DataError(f"{path}: holds {len(dumps)} ConvoKit dumps, expected 1; give {WANTED}")
    return dumps[0]


def checked(dump: DumpFiles) -> DumpFiles | None:
    """The dump if its files are there. Raises DataError for half a dump and for the release of 2018."""
    utterances, conversations = dump.member(UTTERANCES), dump.member(CONVERSATIONS)
    if utterances and conversations:
        return dump
    if utterances or conversations:
        lacking = CONVERSATIONS[0] if utterances else UTTERANCES[0]
        raise DataError(f"{dump.source}: holds {utterances or conversations} and no {lacking}; fetch all of the dump")
    if dump.member((OLD_RELEASE,)):
        raise DataError(
            f"{dump.where(OLD_RELEASE)}: is the release of June 2018 with 1,270 conversations; the study uses "
            "ConvoKit's of 4,188: conversations-gone-awry-corpus.zip"
        )
    return None
