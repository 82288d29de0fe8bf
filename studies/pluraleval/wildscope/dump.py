"""Pushshift's files, one record at a time: which submissions and comments count, and why the others do not.

Files are zstd with a window of 2 GiB, or plain; memory stays that of the window. Names: RS_2019-01.zst and
RC_2019-01.zst (a month of all of Reddit), or SUBREDDIT_submissions.zst and SUBREDDIT_comments.zst. A record's author is
read and not kept.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from evenhand.errors import DataError
from evenhand.sources.raw_files import LONGEST
from evenhand.sources.record_fields import LONE_SURROGATE
from studies.pluraleval.records import Comment

WINDOW = 1 << 31  # bytes; zstd's own limit of 128 MiB refuses these dumps
BLOCK = 1 << 17  # bytes of content at a time
PACKED = 1 << 10  # bytes that are unpacked at a time: 4 of zstd's hold 128 KiB at most, so these hold 32 MiB at most
SUBMISSIONS = re.compile(r"(?:RS_.*|.*_submissions)(?:\.zst|\.jsonl|\.ndjson|\.json)?", re.IGNORECASE)
COMMENTS = re.compile(r"(?:RC_.*|.*_comments)(?:\.zst|\.jsonl|\.ndjson|\.json)?", re.IGNORECASE)

GONE = {
    "[deleted]": "deleted",
    "[removed]": "removed",
    "[deleted by user]": "deleted",
    "[removed by reddit]": "removed",
}
AUTOMODERATOR = "automoderator"
BOT_NAME = re.compile(r"(?:^|[-_])bot(?:$|[-_\d])|bot\d*$|^bot[-_A-Z]|Bot(?:$|[-_A-Z\d])")
NO_BOTS = re.compile(r"(?:abbot|talbot|cabot|turbot|sabot|nobot|notabot|not-a-bot|not_a_bot)\d*$", re.IGNORECASE)
SAYS_BOT = re.compile(r"\bi(?:['’]m| am) a bot\b|\bthis (?:comment|action) was (?:posted|performed) automatically")
MENTION = re.compile(r"(?<![\w/])(/?u/)[A-Za-z0-9_-]{3,20}")
ID = re.compile(r"[a-z0-9]{1,12}")


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """A post of one of the wanted subreddits."""

    submission_id: str
    community: str
    title: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundComment:
    """A comment, with what tells where it belongs."""

    comment_id: int  # Reddit's, which is a number to base 36
    submission_id: str
    created: float  # seconds since 1970
    comment: Comment


class Dropped(Exception):
    """Why a record does not count, in words for the card; `is_elsewhere` for another subreddit or year."""

    def __init__(self, reason: str, *, is_elsewhere: bool = False) -> None:
        super().__init__(reason)
        self.reason, self.is_elsewhere = reason, is_elsewhere


ELSEWHERE = Dropped("another subreddit", is_elsewhere=True)


def record_in(line: bytes) -> Mapping[str, Any]:
    """The object of a line. Raises Dropped for a line that holds none."""
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        raise Dropped("line without a JSON object") from None
    if not isinstance(found, dict):
        raise Dropped("line without a JSON object")
    return found


def submission_in(record: Mapping[str, Any], communities: Mapping[str, str], year: int | None) -> Submission:
    """The post of a record. communities: subreddit in lower case → as it is spelled. Raises Dropped."""
    community = communities.get(str(record.get("subreddit")).lower())
    if community is None:
        raise ELSEWHERE
    if year is not None and datetime.fromtimestamp(created_in(record), UTC).year != year:
        raise Dropped("another year", is_elsewhere=True)
    found = str(record.get("id", "")).removeprefix("t3_")
    if not ID.fullmatch(found):
        raise Dropped("submission without an id")
    title, text = text_in(record, "title"), text_in(record, "selftext", may_be_empty=True)
    refuse_machines(record, text)
    if not title:
        raise Dropped("submission without a title")
    return Submission(submission_id=found, community=community, title=title, text=text)


def comment_in(record: Mapping[str, Any]) -> FoundComment:
    """The comment of a record whose subreddit is a wanted one. Raises Dropped."""
    comment_id = str(record.get("id", "")).removeprefix("t1_")
    if not ID.fullmatch(comment_id):
        raise Dropped("comment without an id")
    body = text_in(record, "body")
    refuse_machines(record, body)
    if record.get("stickied") is True:
        raise Dropped("comment pinned by a moderator")
    is_reply = str(record.get("parent_id", "")).startswith("t1_")
    comment = Comment(text=body, score=score_in(record), is_reply=is_reply)
    return FoundComment(
        comment_id=int(comment_id, 36),
        submission_id=submission_of(record),
        created=created_in(record),
        comment=comment,
    )


def submission_of(record: Mapping[str, Any]) -> str:
    """The id of the post that a comment is under."""
    return str(record.get("link_id", "")).removeprefix("t3_")


def text_in(record: Mapping[str, Any], key: str, *, may_be_empty: bool = False) -> str:
    """A text with user names in it masked. Raises Dropped for one that was deleted or removed, or is empty."""
    text = record.get(key)
    if not isinstance(text, str):
        text = ""
    text = LONE_SURROGATE.sub("\ufffd", text).replace("\x00", "").strip()
    if reason := GONE.get(re.sub(r"\s+", " ", text.casefold())):
        raise Dropped(f"{key} {reason}")
    if not text and not may_be_empty:
        raise Dropped(f"{key} empty")
    return MENTION.sub(r"\1someone", text)


def refuse_machines(record: Mapping[str, Any], text: str) -> None:
    """Raises Dropped for what AutoModerator or a bot wrote."""
    author = str(record.get("author") or "")
    if author.lower() == AUTOMODERATOR:
        raise Dropped("by AutoModerator")
    if (BOT_NAME.search(author) and not NO_BOTS.search(author)) or SAYS_BOT.search(text.lower()):
        raise Dropped("by a bot")


def created_in(record: Mapping[str, Any]) -> float:
    """Seconds since 1970; some months write them as text. Raises Dropped."""
    try:
        created = float(record["created_utc"])
        datetime.fromtimestamp(created, UTC)
    except (KeyError, TypeError, ValueError, OverflowError, OSError):
        raise Dropped("without a time") from None
    return created


def score_in(record: Mapping[str, Any]) -> int:
    """Upvotes minus downvotes; some months write them as text. Raises Dropped."""
    try:
        return int(record["score"])
    except (KeyError, TypeError, ValueError, OverflowError):
        raise Dropped("without a score") from None
