"""`evenhand build wildscope`: Pushshift's dumps of Reddit → threads.jsonl, a card and a manifest.

Four passes over a dump find which posts there are, how many comments each has, and the texts of those sampled. What is
held in memory is a small entry for each post of the wanted subreddits and year, the ids of its comments as long as they
are not too many, and the sampled threads: a dump of any size is streamed.

Files are zstd with a window of 2 GiB, or plain. Names: RS_2019-01.zst and RC_2019-01.zst (a month of all of Reddit), or
SUBREDDIT_submissions.zst and SUBREDDIT_comments.zst. A record's author is read and not kept.
"""

import hashlib
import json
import re
import sys
from array import array
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from eval.reading.vocabulary import patterns_in
from evenhand.data_files import LONGEST, opened
from evenhand.errors import ConfigError, DataError
from evenhand.sources.record_fields import LONE_SURROGATE
from evenhand.terminal import command_parser, say
from studies.built_folder import CARD_FILE, building, described, finished, sources_at, write_rows
from studies.markdown import filled
from studies.pluraleval.records import BENCHMARK, Comment, Thread, thread_set_hash
from studies.pluraleval.sources import THREADS, WILDSCOPE

CONVERTER_VERSION = "v1"  # raised when the same dump would give other threads
COLUMNS = ("posts", "too few comments", "too many comments", "fit", "wanted", "drawn")
WINDOW = 1 << 31  # bytes; zstd's own limit of 128 MiB refuses these dumps
BLOCK = 1 << 17  # bytes of content at a time
PACKED = 1 << 10  # bytes that are unpacked at a time: 4 of zstd's hold 128 KiB at most, so these hold 32 MiB at most
KINDS = {"submissions": "RS", "comments": "RC"}
PATTERNS = patterns_in(Path(__file__).with_name("patterns.yaml"), "reddit")
AGAIN = "record of the same id again"  # dumps overlap

Made = TypeVar("Made")
Record = Mapping[str, Any]
Make = Callable[[Record], Made | None]  # Raises Dropped
Files = Mapping[str, Sequence[Path]]  # submissions and comments → the files of a dump, in the order of their names


@dataclass(frozen=True, slots=True, kw_only=True)
class Stratum:
    """A subreddit, and what Table 2 asks of its threads."""

    community: str
    n_threads: int  # that are drawn
    fewest: int  # comments that count
    most: int


TABLE_2 = ("AmItheAsshole:500:10-50", "AskEconomics:500:8-70", "PoliticalDiscussion:212:8-70")  # as --stratum


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What is drawn from a dump."""

    strata: list[Stratum]
    year: int | None = 2019  # of the post; None takes any
    seed: int = 42

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


def main(argv: Sequence[str]) -> None:
    """Draw threads of scored comments from Pushshift's dumps of Reddit (PluralEval, section 5)."""
    parser = command_parser("build wildscope", main, "Examples are in docs/pluraleval.md.")
    args = parser.parse_args(argv)
    if not re.fullmatch("any|20[0-9]{2}", args.year):
        raise ConfigError(f"--year {args.year}: write a year such as 2019, or any")
    strata = [*map(stratum_in, args.stratum or TABLE_2)]
    year = None if args.year == "any" else int(args.year)
    build(args.out, args.raw, Wanted(strata=strata, year=year, seed=args.seed))
    print((args.out / CARD_FILE).read_text(encoding="utf-8"))


def stratum_in(text: str) -> Stratum:
    """What one --stratum says. Raises ConfigError."""
    match = PATTERNS["stratum"].fullmatch(text)
    if not match or int(match[3]) > int(match[4]):
        raise ConfigError(f"--stratum {text}: write SUBREDDIT:THREADS:FEWEST-MOST, such as AmItheAsshole:500:10-50")
    return Stratum(community=match[1], n_threads=int(match[2]), fewest=int(match[3]), most=int(match[4]))


def build(out: Path, raw: Path, wanted: Wanted) -> dict[str, Any]:
    """Build the folder and return its manifest. What is there and whole is left as it is.

    Raises DataError for whatever is wrong with the dump, or a folder that holds another build or somebody's files.
    """
    name, file = THREADS
    request = {"dataset": WILDSCOPE, "converter": CONVERTER_VERSION, "wanted": asdict(wanted)}
    with building(out, name):
        files = find_dump(raw)
        sources = sources_at([*files["submissions"], *files["comments"]])
        if (manifest := finished(out, name, file, request, sources)) is not None:
            return manifest
        threads, counts = sample_threads(files, wanted)
        if not threads:
            raise DataError(f"{raw}: no thread is as --year and --stratum want it ({counts['strata']}); change them")
        facts = {
            **request,
            "sources": described(sources),
            **counts,
            "n_threads": len(threads),
            "n_comments": sum(len(thread.comments) for thread in threads),
            "thread_set_hash": thread_set_hash(threads),
        }
        return write_rows(out, file, map(asdict, threads), BENCHMARK, facts, card_text)


def card_text(manifest: Mapping[str, Any]) -> str:
    """README.md: what was drawn, what was dropped and why, and what may be done with it."""
    return filled(Path(__file__).with_name("wildscope_card.md"), **manifest, columns=COLUMNS)


def find_dump(folder: Path) -> Files:
    """The files in a folder and its subfolders. Raises DataError when there are none of one kind."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    files = {}
    for kind, short in KINDS.items():
        name = re.compile(rf"(?:{short}_.*|.*_{kind})(?:\.zst|\.jsonl|\.ndjson|\.json)?", re.IGNORECASE)
        files[kind] = [path for path in paths if name.fullmatch(path.name)]
        if not files[kind]:
            raise DataError(f"{folder}: holds no {kind}; put {short}_2019-01.zst or NAME_{kind}.zst there")
    return files


def sample_threads(files: Files, wanted: Wanted) -> tuple[list[Thread], dict[str, Any]]:
    """The threads by subreddit in the order of `wanted`, then by id; and what was dropped, and why.

    Of the threads with fewest to most comments that count, those with the smallest hash of seed and id are drawn: the
    same ones in whatever order the dump comes, and whatever else it holds.
    """
    dropped: dict[str, Counter[str]] = {"submissions": Counter(), "comments": Counter()}
    posts = {post.thread_id: post.community for post in posts_in(files["submissions"], wanted, dropped["submissions"])}
    say(f"{len(posts):,} posts of {len(wanted.strata)} subreddits", sys.stderr)
    counts = counted_comments(files, wanted, posts, dropped["comments"])
    strata, chosen = {}, dict[str, dict[int, DatedComment]]()
    for stratum in wanted.strata:
        ids, strata[stratum.community] = drawn(stratum, posts, counts, wanted.seed)
        chosen |= {thread_id: {} for thread_id in ids}
    say(f"{len(chosen):,} threads drawn; reading their texts", sys.stderr)
    for dated in records(files["comments"], wanted, partial(comment_in, chosen), Counter()):
        chosen[dated.thread_id].setdefault(dated.comment_id, dated)
    threads = []
    for post in posts_in(files["submissions"], wanted, Counter()):
        if post.thread_id in chosen:
            # In the order of time; ids of comments and names are not kept.
            ordered = sorted(chosen[post.thread_id].values(), key=lambda dated: (dated.created, dated.comment_id))
            threads.append(replace(post, comments=tuple(dated.comment for dated in ordered)))
    order = list(strata)
    threads.sort(key=lambda thread: (order.index(thread.community), thread.thread_id))
    return threads, {"strata": strata, "dropped": {kind: dict(reasons) for kind, reasons in dropped.items()}}


def counted_comments(files: Files, wanted: Wanted, posts: Mapping[str, str], dropped: Counter[str]) -> dict[str, int]:
    """How many comments that count each post has; once they are too many, one more than the most."""
    most = {stratum.community: stratum.most for stratum in wanted.strata}
    ids: dict[str, array[int]] = {}  # 8 bytes a comment: a set of Python's would take ten times as much
    for dated in records(files["comments"], wanted, partial(comment_in, posts), dropped):
        of_post = ids.setdefault(dated.thread_id, array("Q"))
        if len(of_post) > most[posts[dated.thread_id]]:
            continue
        if dated.comment_id in of_post:
            dropped[AGAIN] += 1
        else:
            of_post.append(dated.comment_id)
    return {name: len(of_post) for name, of_post in ids.items()}


def drawn(
    stratum: Stratum, posts: Mapping[str, str], counts: Mapping[str, int], seed: int
) -> tuple[list[str], dict[str, int]]:
    """The ids of the threads that are drawn in a subreddit, and how many posts of it there were of each kind."""
    sizes = {name: counts.get(name, 0) for name, community in posts.items() if community == stratum.community}
    fit = [name for name, size in sizes.items() if stratum.fewest <= size <= stratum.most]
    few = sum(size < stratum.fewest for size in sizes.values())
    ranked = sorted(fit, key=lambda name: hashlib.sha256(f"{seed} {name}".encode()).digest())[: stratum.n_threads]
    numbers = (len(sizes), few, len(sizes) - few - len(fit), len(fit), stratum.n_threads, len(ranked))
    return ranked, dict(zip(COLUMNS, numbers, strict=True))


def posts_in(paths: Sequence[Path], wanted: Wanted, dropped: Counter[str]) -> Iterator[Thread]:
    """The posts that count, each once and without comments: of two records of a post the first."""
    seen: set[str] = set()
    for post in records(paths, wanted, partial(post_in, wanted), dropped):
        if post.thread_id in seen:
            dropped[AGAIN] += 1
        else:
            seen.add(post.thread_id)
            yield post


def records(paths: Sequence[Path], wanted: Wanted, make: Make[Made], dropped: Counter[str]) -> Iterator[Made]:
    """What is made of the records of the wanted subreddits; the reasons of those that are Dropped are counted.

    Of other lines only the key `subreddit` is looked at. A record that dumps hold twice comes twice.
    """
    names = b"|".join(re.escape(name.encode()) for name in wanted.communities)
    is_wanted = re.compile(rb'"subreddit"\s*:\s*"(?i:' + names + rb')"').search
    for line in chain.from_iterable(map(lines_of, paths)):
        if not is_wanted(line) and line.startswith(b"{"):
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            record = None
        try:
            if not isinstance(record, dict):
                raise Dropped("line without a JSON object")
            made = make(record) if str(record.get("subreddit")).lower() in wanted.communities else None
        except Dropped as reason:
            dropped[str(reason)] += 1
        else:
            if made is not None:
                yield made


def lines_of(path: Path) -> Iterator[bytes]:
    """The lines of a file that are not empty, without their ends.

    Raises DataError when it is cut off or damaged, or unpacks to what no dump holds: kilobytes can hold gigabytes.
    """
    rest, n_lines, is_packed = b"", 0, path.suffix == ".zst"
    with opened(path) as file:
        blocks = iter(partial(file.read, PACKED if is_packed else BLOCK), b"")
        for block in unpacked(blocks, path) if is_packed else blocks:
            *lines, rest = (rest + block).split(b"\n")
            yield from filter(None, lines)
            n_lines += len(lines)
            if len(rest) > LONGEST:
                raise DataError(f"{path}:{n_lines + 1}: has more than {LONGEST >> 20} MiB; it is not a dump of Reddit")
    if rest:
        yield rest


def unpacked(packed: Iterable[bytes], path: Path) -> Iterator[bytes]:
    """The content of zstd frames, one after the other, BLOCK bytes at a time. Raises DataError when the last one has no
    end.
    """
    import zstandard

    unpacker = zstandard.ZstdDecompressor(max_window_size=WINDOW)
    frame = unpacker.decompressobj()
    try:
        for block in packed:
            while block:
                if frame.eof:
                    frame = unpacker.decompressobj()
                content = frame.decompress(block)
                yield from (content[start : start + BLOCK] for start in range(0, len(content), BLOCK))
                block = frame.unused_data if frame.eof else b""
    except zstandard.ZstdError as error:
        raise DataError(f"{path}: is not a whole zstd file ({error}); fetch it again") from None
    if not frame.eof:  # zstandard's reader of streams would end here without a word
        raise DataError(f"{path}: is cut off; fetch it again")


def post_in(wanted: Wanted, record: Record) -> Thread | None:
    """The post of a record, as a thread without comments; None of another year. Raises Dropped."""
    if wanted.year is not None and datetime.fromtimestamp(created_in(record), UTC).year != wanted.year:
        return None
    thread_id = id_in(record, "t3_", "submission")
    title, text = text_in(record, "title"), text_in(record, "selftext", may_be_empty=True)
    check_human(record, text)
    community = wanted.communities[str(record["subreddit"]).lower()]
    return Thread(thread_id=thread_id, dataset=WILDSCOPE, community=community, title=title, text=text, comments=())


def comment_in(posts: Container[str], record: Record) -> DatedComment | None:
    """The comment of a record; None where it is not under one of some posts. Raises Dropped."""
    thread_id = str(record.get("link_id", "")).removeprefix("t3_")
    if thread_id not in posts:
        return None
    comment_id = id_in(record, "t1_", "comment")
    body = text_in(record, "body")
    check_human(record, body)
    if record.get("stickied") is True:
        raise Dropped("comment pinned by a moderator")
    is_reply = str(record.get("parent_id", "")).startswith("t1_")
    try:
        score = int(record["score"])  # some months write numbers as text
    except (KeyError, TypeError, ValueError, OverflowError):
        raise Dropped("without a score") from None
    comment = Comment(text=body, score=score, is_reply=is_reply)
    return DatedComment(int(comment_id, 36), thread_id, created_in(record), comment)


def id_in(record: Record, prefix: str, kind: str) -> str:
    """Reddit's id of a record. Raises Dropped."""
    name = str(record.get("id", "")).removeprefix(prefix)
    if not PATTERNS["id"].fullmatch(name):
        raise Dropped(f"{kind} without an id")
    return name


def text_in(record: Record, key: str, *, may_be_empty: bool = False) -> str:
    """A text with user names in it masked. Raises Dropped for one that was deleted or removed, or is empty."""
    value = record.get(key)
    text = LONE_SURROGATE.sub("\ufffd", value if isinstance(value, str) else "").replace("\x00", "").strip()
    if gone := PATTERNS["gone"].fullmatch(text):
        raise Dropped(f"{key} {gone['how'].lower()}")
    if not text and not may_be_empty:
        raise Dropped(f"{key} empty")
    return PATTERNS["mention"].sub(r"\1someone", text)


def check_human(record: Record, text: str) -> None:
    """Raises Dropped for what AutoModerator or a bot wrote."""
    author = str(record.get("author") or "")
    if author.lower() == "automoderator":
        raise Dropped("by AutoModerator")
    is_named_bot = PATTERNS["bot_name"].search(author) and not PATTERNS["no_bots"].search(author)
    if is_named_bot or PATTERNS["says_bot"].search(text):
        raise Dropped("by a bot")


def created_in(record: Record) -> float:
    """Seconds since 1970; some months write them as text. Raises Dropped."""
    try:
        created = float(record["created_utc"])
        datetime.fromtimestamp(created, UTC)
    except (KeyError, TypeError, ValueError, OverflowError, OSError):
        raise Dropped("without a time") from None
    return created
