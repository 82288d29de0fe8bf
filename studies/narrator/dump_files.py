"""Where a ConvoKit dump's files are: in a folder or its zip, under a top folder or not; nothing is unpacked."""

import json
import os
import zipfile
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from evenhand.errors import DataError
from evenhand.sources.archives import AGAIN, DAMAGE, reason
from evenhand.sources.raw_files import opened

FILES = UTTERANCES, CONVERSATIONS, SPEAKERS = "utterances.jsonl", "conversations.json", "speakers.json"
DATASETS = DATASET, CMV = "cga-wiki", "cga-cmv"  # Wikipedia's talk pages, and Reddit's ChangeMyView
LARGEST = 1 << 28  # bytes of a file that is one JSON object; those of the dump have a few million
WANTED = f"a folder with {UTTERANCES} and {CONVERSATIONS}, or the zip of one"
DEEPEST = 3  # folders within each other that are looked into


@dataclass(frozen=True, slots=True)
class DumpFiles:
    """The place of a dump: a folder, or a zip and the folder in it."""

    source: Path  # the folder or the zip
    folder: Path | zipfile.Path

    @property
    def paths(self) -> tuple[Path, ...]:
        """The files on disk that are read, for checksums."""
        if self.source.is_file():
            return (self.source,)
        return tuple(self.source / name for name in FILES if (self.source / name).is_file())

    def where(self, name: str) -> str:
        """A file as an error message names it."""
        return str(self.folder / name)

    @contextmanager
    def open(self, name: str) -> Generator[IO[bytes]]:
        """A file for reading. Raises DataError when the file or the zip is damaged, also while it is read."""
        if isinstance(self.folder, Path):
            with opened(self.folder / name) as file:
                yield file
            return
        try:
            with (self.folder / name).open("rb") as member:
                yield member
        except (zipfile.BadZipFile, RuntimeError, *DAMAGE) as error:
            raise DataError(f"{self.where(name)}: is no whole file of a zip ({reason(error)}); {AGAIN}") from None

    def objects(self, name: str) -> dict[str, Any]:
        """The one JSON object of a file: id → object. Empty when there is no such file."""
        if not (self.folder / name).is_file():
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
    """The dump at a path: a zip, a folder, or a folder with one dump somewhere in it.

    Raises DataError when there is none, or more than one.
    """
    if not path.exists():
        raise DataError(f"{path}: is not there; give {WANTED}")
    places, found = [path], list[DumpFiles]()
    for _ in range(DEEPEST):
        found = [dump for place in places for dump in dumps_in(place)]
        if found:
            break
        places = [inside for place in places if place.is_dir() for inside in sorted(place.iterdir())]
    if len(found) != 1:
        raise DataError(f"{path}: holds {len(found)} ConvoKit dumps, expected 1; give {WANTED}")
    return found[0]


def dumps_in(place: Path) -> list[DumpFiles]:
    """The dump whose files lie in a folder; of a zip those at its top, and in its top folders."""
    folders: list[Path | zipfile.Path] = [place] if place.is_dir() else []
    if place.suffix == ".zip":
        try:
            root = zipfile.Path(place)
        except (zipfile.BadZipFile, *DAMAGE) as error:
            raise DataError(f"{place}: is no whole zip ({reason(error)}); {AGAIN}") from None
        folders = [root, *(inside for inside in root.iterdir() if inside.is_dir() and inside.name != "__MACOSX")]
    return [DumpFiles(place, folder) for folder in folders if is_dump(folder)]


def is_dump(folder: Path | zipfile.Path) -> bool:
    """Whether a dump's files lie in a folder. Raises DataError for half a dump."""
    there = [name for name in (UTTERANCES, CONVERSATIONS) if (folder / name).is_file()]
    if len(there) == 1:
        lacking = CONVERSATIONS if there == [UTTERANCES] else UTTERANCES
        raise DataError(f"{folder}: holds {there[0]} and no {lacking}; fetch all of the dump")
    return bool(there)
