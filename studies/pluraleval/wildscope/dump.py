"""Pushshift's files, one record at a time: which posts and comments of Reddit count, and why the others do not.

Files are zstd with a window of 2 GiB, or plain; memory stays that of the window. Names: RS_2019-01.zst and
RC_2019-01.zst (a month of all of Reddit), or SUBREDDIT_submissions.zst and SUBREDDIT_comments.zst. A record's author is
read and not kept.
"""

import json
import re
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from evenhand.errors import DataError
from evenhand.sources.raw_files import LONGEST
from evenhand.sources.record_fields import LONE_SURROGATE
from studies.pluraleval.records import Comment, Thread
from studies.pluraleval.sources import WILDSCOPE

WINDOW = 1 << 31  # bytes; zstd's own limit of 128 MiB refuses these dumps
BLOCK = 1 << 17  # bytes of content at a time
PACKED = 1 << 10  # bytes that are unpacked at a time: 4 of zstd's hold 128 KiB at most, so these hold 32 MiB at most
KINDS = {"submissions": "RS", "comments": "RC"}
GONE = {
    "[deleted]": "deleted",
    "[removed]": "removed",
    "[deleted by user]": "deleted",
    "[removed by reddit]": "removed",
}
BOT_NAME = re.compile(r"(?:^|[-_])bot(?:$|[-_\d])|bot\d*$|^bot[-_A-Z]|Bot(?:$|[-_A-Z\d])")
NO_BOTS = re.compile(r"(?:abbot|talbot|cabot|turbot|sabot|nobot|notabot|not-a-bot|not_a_bot)\d*$", re.IGNORECASE)
SAYS_BOT = re.compile(r"\bi(?:['’]m| am) a bot\b|\bthis (?:comment|action) was (?:posted|performed) automatically")
MENTION = re.compile(r"(?<![\w/])(/?u/)[A-Za-z0-9_-]{3,20}")
ID = re.compile(r"[a-z0-9]{1,12}")
AGAIN = "record of the same id again"  # dumps overlap

Files = Mapping[str, Sequence[Path]]  # submissions and comments → the files of a dump, in the order of their names


@dataclass(frozen=True, slots=True, kw_only=True)
class Stratum:
    """A subreddit, and what Table 2 asks of its threads."""

    community: str
    n_threads: int  # that are drawn
    fewest: int  # comments that count
    most: int


TABLE_2 = (
    Stratum(community="AmItheAsshole", n_threads=500, fewest=10, most=50),
    Stratum(community="AskEconomics", n_threads=500, fewest=8, most=70),
    Stratum(community="PoliticalDiscussion", n_threads=212, fewest=8, most=70),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What is drawn from a dump."""

    strata: Sequence[Stratum] = TABLE_2
    year: int | None = 2019  # of the post; None takes any
    seed: int = 42
    top_level: bool = False  # only comments on the post itself

    @property
    def communities(self) -> dict[str, str]:
        """Subreddit in lower case → as it is spelled."""
        return {stratum.community.lower(): stratum.community for stratum in self.strata}


class DatedComment(NamedTuple):
    """A comment, with what says where it belongs."""

    comment_id: int  # Reddit's, which is a number to base 36
    thread_id: str
    created: float  # seconds since 1970
    comment: Comment


class Dropped(Exception):
    """Why a record does not count, in words for the card."""


def find_dump(folder: Path) -> Files:
    """The files in a folder and its subfolders. Raises DataError when there are none of one kind."""
    if not folder.is_dir():
        raise DataError(f"{folder}: is not a folder; name the one that holds Pushshift's files")
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    files = {}
    for kind, short in KINDS.items():
        name = re.compile(rf"(?:{short}_.*|.*_{kind})(?:\.zst|\.jsonl|\.ndjson|\.json)?", re.IGNORECASE)
        files[kind] = [path for path in paths if name.fullmatch(path.name)]
        if not files[kind]:
            raise DataError(f"{folder}: holds no {kind}; put {short}_2019-01.zst or NAME_{kind}.zst there")
    return files


def posts_in(files: Files, wanted: Wanted, dropped: Counter[str]) -> Iterator[Thread]:
    """The posts that count, each once and without comments: of two records of a post the first."""
    seen: set[str] = set()
    for record in records(files["submissions"], wanted, dropped):
        try:
            if wanted.year is not None and datetime.fromtimestamp(created_in(record), UTC).year != wanted.year:
                continue
            thread = post_in(record, wanted.communities)
        except Dropped as reason:
            dropped[str(reason)] += 1
            continue
        if thread.thread_id in seen:
            dropped[AGAIN] += 1
        else:
            seen.add(thread.thread_id)
            yield thread


def comments_in(files: Files, wanted: Wanted, posts: Container[str], dropped: Counter[str]) -> Iterator[DatedComment]:
    """The comments that count under some posts; one that dumps hold twice comes twice."""
    for record in records(files["comments"], wanted, dropped):
        thread_id = str(record.get("link_id", "")).removeprefix("t3_")
        if thread_id not in posts:
            continue
        try:
            dated = comment_in(record, thread_id)
            if wanted.top_level and dated.comment.is_reply:
                raise Dropped("reply to another comment")
        except Dropped as reason:
            dropped[str(reason)] += 1
        else:
            yield dated


def records(paths: Iterable[Path], wanted: Wanted, dropped: Counter[str]) -> Iterator[Mapping[str, Any]]:
    """The records of the wanted subreddits. Of other lines only the key `subreddit` is looked at."""
    names = b"|".join(re.escape(name.encode()) for name in wanted.communities)
    is_wanted = re.compile(rb'"subreddit"\s*:\s*"(?i:' + names + rb')"').search
    for path in paths:
        for line in lines_of(path):
            if not is_wanted(line) and line.startswith(b"{"):
                continue
            try:
                record = json.loads(line)
            except (ValueError, RecursionError):
                record = None
            if not isinstance(record, dict):
                dropped.update(["line without a JSON object"] if line.strip() else [])
            elif str(record.get("subreddit")).lower() in wanted.communities:
                yield record


def lines_of(path: Path) -> Iterator[bytes]:
    """The lines of a file that are not empty, without their ends.

    Raises DataError when it is cut off or damaged, or unpacks to what no dump holds: kilobytes can hold gigabytes.
    """
    rest, n_lines = b"", 0
    for block in blocks_of(path):
        *lines, rest = (rest + block).split(b"\n")
        yield from filter(None, lines)
        n_lines += len(lines)
        if len(rest) > LONGEST:
            raise DataError(f"{path}:{n_lines + 1}: has more than {LONGEST >> 20} MiB; it is not a dump of Reddit")
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
        raise DataError(f"{path}: is not a whole zstd file ({error}); fetch it again") from None
    if not frame.eof:  # zstandard's reader of streams would end here without a word
        raise DataError(f"{path}: is cut off; fetch it again")


def post_in(record: Mapping[str, Any], communities: Mapping[str, str]) -> Thread:
    """The post of a record, as a thread without comments. Raises Dropped."""
    thread_id = str(record.get("id", "")).removeprefix("t3_")
    if not ID.fullmatch(thread_id):
        raise Dropped("submission without an id")
    title, text = text_in(record, "title"), text_in(record, "selftext", may_be_empty=True)
    refuse_machines(record, text)
    community = communities[str(record["subreddit"]).lower()]
    return Thread(thread_id=thread_id, dataset=WILDSCOPE, community=community, title=title, text=text, comments=())


def comment_in(record: Mapping[str, Any], thread_id: str) -> DatedComment:
    """The comment of a record. Raises Dropped."""
    comment_id = str(record.get("id", "")).removeprefix("t1_")
    if not ID.fullmatch(comment_id):
        raise Dropped("comment without an id")
    body = text_in(record, "body")
    refuse_machines(record, body)
    if record.get("stickied") is True:
        raise Dropped("comment pinned by a moderator")
    is_reply = str(record.get("parent_id", "")).startswith("t1_")
    try:
        score = int(record["score"])  # some months write numbers as text
    except (KeyError, TypeError, ValueError, OverflowError):
        raise Dropped("without a score") from None
    comment = Comment(text=body, score=score, is_reply=is_reply)
    return DatedComment(int(comment_id, 36), thread_id, created_in(record), comment)


def text_in(record: Mapping[str, Any], key: str, *, may_be_empty: bool = False) -> str:
    """A text with user names in it masked. Raises Dropped for one that was deleted or removed, or is empty."""
    value = record.get(key)
    text = LONE_SURROGATE.sub("\ufffd", value if isinstance(value, str) else "").replace("\x00", "").strip()
    if reason := GONE.get(re.sub(r"\s+", " ", text.casefold())):
        raise Dropped(f"{key} {reason}")
    if not text and not may_be_empty:
        raise Dropped(f"{key} empty")
    return MENTION.sub(r"\1someone", text)


def refuse_machines(record: Mapping[str, Any], text: str) -> None:
    """Raises Dropped for what AutoModerator or a bot wrote."""
    author = str(record.get("author") or "")
    if author.lower() == "automoderator":
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
