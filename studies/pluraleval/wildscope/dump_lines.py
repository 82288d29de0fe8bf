"""Pushshift's files, one line at a time: zstd with a window of 2 GiB or plain; memory stays that of the window.

Names: RS_2019-01.zst and RC_2019-01.zst (a month of all of Reddit), or SUBREDDIT_submissions.zst and
SUBREDDIT_comments.zst.
"""

import re
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

from evenhand.errors import DataError
from evenhand.sources.archives import LONGEST

WINDOW = 1 << 31  # bytes; zstd's own limit of 128 MiB refuses these dumps
BLOCK = 1 << 17  # bytes of content at a time
PACKED = 1 << 10  # bytes that are unpacked at a time: 4 of zstd's hold 128 KiB at most, so these hold 32 MiB at most
SUBMISSIONS = re.compile(r"(?:RS_.*|.*_submissions)(?:\.zst|\.jsonl|\.ndjson|\.json)?", re.IGNORECASE)
COMMENTS = re.compile(r"(?:RC_.*|.*_comments)(?:\.zst|\.jsonl|\.ndjson|\.json)?", re.IGNORECASE)


class DumpFiles(NamedTuple):
    """The files of a dump, in the order of their names."""

    submissions: tuple[Path, ...]
    comments: tuple[Path, ...]


def find_dump(folder: Path) -> DumpFiles:
    """The files in a folder and its subfolders. Raises DataError when there are none of one kind."""
    if not folder.is_dir():
        raise DataError(f"{folder}: is no folder; name the one that holds Pushshift's files")
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    found = DumpFiles(
        tuple(path for path in files if SUBMISSIONS.fullmatch(path.name)),
        tuple(path for path in files if COMMENTS.fullmatch(path.name)),
    )
    for kind, paths, example in zip(found._fields, found, ("RS_2019-01.zst", "RC_2019-01.zst"), strict=True):
        if not paths:
            raise DataError(f"{folder}: holds no {kind}; put files such as {example} or NAME_{kind}.zst there")
    return found


def lines_of(path: Path) -> Iterator[bytes]:
    """The lines of a file that are not empty, without their ends.

    Raises DataError when it is cut off or damaged, or unpacks to what no dump holds: kilobytes can hold gigabytes.
    """
    rest, n_lines = b"", 0
    for block in blocks_of(path):
        if len(block) == BLOCK and block.isspace():
            raise DataError(f"{path}:{n_lines + 1}: {BLOCK >> 10} KiB of blanks begin here; it is no dump of Reddit")
        *lines, rest = (rest + block).split(b"\n")
        yield from filter(None, lines)
        n_lines += len(lines)
        if len(rest) > LONGEST:
            raise DataError(f"{path}:{n_lines + 1}: has more than {LONGEST >> 20} MiB; it is no dump of Reddit")
    if rest:
        yield rest


def blocks_of(path: Path) -> Iterator[bytes]:
    """A file's content, at most BLOCK bytes at a time, unpacked where its name ends in .zst. Raises as lines_of."""
    try:
        with path.open("rb") as file:
            if path.suffix != ".zst":
                yield from iter(partial(file.read, BLOCK), b"")
                return
            for piece in unpacked(iter(partial(file.read, PACKED), b""), path):
                yield from (piece[start : start + BLOCK] for start in range(0, len(piece), BLOCK))
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror})") from None


def unpacked(packed: Iterable[bytes], path: Path) -> Iterator[bytes]:
    """The content of zstd frames, one after the other. Raises DataError when the last one has no end."""
    import zstandard

    unpacker = zstandard.ZstdDecompressor(max_window_size=WINDOW)
    frame = unpacker.decompressobj()
    try:
        for block in packed:
            while block:
                if frame.eof:
                    frame = unpacker.decompressobj()
                yield frame.decompress(block)
                block = frame.unused_data if frame.eof else b""
    except zstandard.ZstdError as error:
        raise DataError(f"{path}: is no whole zstd file ({error}); fetch it again") from None
    if not frame.eof:  # zstandard's reader of streams would end here without a word
        raise DataError(f"{path}: is cut off; fetch it again")
