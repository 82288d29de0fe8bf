"""A ConvoKit dump → discussions, each with its comments in order of time. Old field names and new, folder or zip.

The utterances are read one at a time, and of each only its text and a few small fields are kept: `parsed`, most of the
file, is dropped at once. Nothing is unpacked to disk. A wrong field is named with file and line.
"""

import json
import os
import re
import zipfile
from collections import defaultdict
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import Path
from typing import IO, Any

from evenhand.errors import DataError
from evenhand.files import parse_lines
from evenhand.sources.raw_files import AGAIN, DAMAGE, decoded, limited_lines, opened, reason
from evenhand.sources.record_fields import LONE_SURROGATE, Record, is_number, shown

DATASETS = DATASET, CMV = "cga-wiki", "cga-cmv"  # Wikipedia's talk pages, and Reddit's ChangeMyView
FILES = UTTERANCES, CONVERSATIONS, SPEAKERS = "utterances.jsonl", "conversations.json", "speakers.json"
WANTED = f"a folder with {UTTERANCES} and {CONVERSATIONS}, or the zip of one"
LARGEST = 1 << 28  # bytes of a file that is one JSON object; those of the dump have a few million
DEEPEST = 3  # folders within each other that are looked into

ATTACK = "comment_has_personal_attack"
HEADER = "is_section_header"
ESCALATES = "conversation_has_personal_attack"
REMOVED = "has_removed_comment"  # CGA-CMV's field: moderators removed the final comment, as rude or hostile (rule 2)
IS_CMV = "is of CGA-CMV"
GONE = ("[deleted]", "[removed]")  # in place of a Reddit comment's author or text
META_FIELDS = ("page_title", "page_id", "pair_id", ESCALATES, "annotation_year", "split")
POST = re.compile(r"/comments/(\w+)")


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
            raise DataError(f"{self.where(name)}: is not a whole file of a zip ({reason(error)}); {AGAIN}") from None

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
            value = json.loads(content)
        except (ValueError, RecursionError) as error:
            raise DataError(f"{self.where(name)}: is not readable JSON ({reason(error)}); {AGAIN}") from None
        if not isinstance(value, dict):
            raise DataError(f"{self.where(name)}: is a JSON {type(value).__name__}, not an object; {AGAIN}")
        return value


def find_dump(path: Path) -> DumpFiles:
    """The dump at a path: a zip, a folder, or a folder with one dump somewhere in it.

    Raises DataError when there is none, or more than one.
    """
    if not path.exists():
        raise DataError(f"{path}: is not there; give {WANTED}")
    places, dumps = [path], list[DumpFiles]()
    for _ in range(DEEPEST):
        dumps = [dump for place in places for dump in dumps_in(place)]
        if dumps:
            break
        places = [inside for place in places if place.is_dir() for inside in sorted(place.iterdir())]
    if len(dumps) != 1:
        raise DataError(f"{path}: holds {len(dumps)} ConvoKit dumps, expected 1; give {WANTED}")
    return dumps[0]


def dumps_in(place: Path) -> list[DumpFiles]:
    """The dump whose files lie in a folder; of a zip those at its top, and in its top folders."""
    folders: list[Path | zipfile.Path] = [place] if place.is_dir() else []
    if place.suffix == ".zip":
        try:
            root = zipfile.Path(place)
        except (zipfile.BadZipFile, *DAMAGE) as error:
            raise DataError(f"{place}: is not a whole zip ({reason(error)}); {AGAIN}") from None
        folders = [root, *(inside for inside in root.iterdir() if inside.is_dir() and inside.name != "__MACOSX")]
    dumps = []
    for folder in folders:
        there = [name for name in (UTTERANCES, CONVERSATIONS) if (folder / name).is_file()]
        if len(there) == 1:
            raise DataError(f"{folder}: holds {there[0]} alone; a dump has {UTTERANCES} and {CONVERSATIONS}: fetch all")
        if there:
            dumps.append(DumpFiles(place, folder))
    return dumps


@dataclass(frozen=True, slots=True, kw_only=True)
class Comment:
    """One utterance of a discussion, without `parsed` and the like."""

    comment_id: str
    speaker: str | None  # id; None when the dump names nobody
    text: str  # without outer blanks; may be empty
    timestamp: float | None  # seconds; None when the dump says none
    reply_to: str | None
    is_attack: bool  # by majority of the annotators
    is_mended: bool = False  # half a surrogate pair in the text became U+FFFD
    post: str | None = None  # on Reddit, id of the post that it is a comment on, where its permalink tells


@dataclass(frozen=True, slots=True, kw_only=True)
class Discussion:
    """A conversation of the dump as it is there, section headers aside."""

    discussion_id: str
    comments: tuple[Comment, ...]  # in order of time
    meta: Mapping[str, Any] = field(default_factory=dict)  # of META_FIELDS, those that the dump has


@dataclass(frozen=True, slots=True, kw_only=True)
class Dump:
    """What a ConvoKit dump holds."""

    dataset: str  # of DATASETS
    discussions: tuple[Discussion, ...]  # in the order of conversations.json, then of the utterances
    names: Mapping[str, str]  # speaker id → raw name, of those who wrote a comment
    counts: Mapping[str, int]  # what the data card says of the utterances


def read_dump(files: DumpFiles) -> Dump:
    """Everything in a dump. Raises DataError naming file and line of the first damaged record."""
    metas = {key: kept_meta(value, key, files) for key, value in files.objects(CONVERSATIONS).items()}
    names = {key: name_in(value, key, files) for key, value in files.objects(SPEAKERS).items()}
    comments: dict[str, list[Comment]] = defaultdict(list)
    places: dict[str, str] = {}  # utterance id → file and line
    n_headers = n_annotated = 0
    for record in utterance_records(files):
        comment = comment_of(record)
        if (before := places.setdefault(comment.comment_id, record.where)) != record.where:
            raise record.error("id", f"is {shown(comment.comment_id)}, as in {before}; {AGAIN}")
        n_annotated += ATTACK in meta_of(record).values
        if flag(record, HEADER):
            n_headers += 1
            continue
        is_old = "root" in record.values and "conversation_id" not in record.values
        comments[needed_id(record, "root" if is_old else "conversation_id")].append(comment)
        speaker, name = speaker_of(record)
        if speaker is not None and name is not None:
            names[speaker] = name
    dataset = CMV if any(meta.pop(IS_CMV, False) for meta in metas.values()) else DATASET
    if dataset == DATASET and not n_annotated:
        raise DataError(
            f"{files.where(UTTERANCES)}: no utterance has the field '{ATTACK}', and no conversation '{REMOVED}'; is "
            "this Conversations Gone Awry, of Wikipedia or of ChangeMyView?"
        )
    keys = dict.fromkeys([*metas, *comments])
    discussions = [
        Discussion(discussion_id=key, comments=in_time(comments.get(key, [])), meta=metas.get(key, {})) for key in keys
    ]
    everyone = [comment for group in comments.values() for comment in group]
    speakers = dict.fromkeys(comment.speaker for comment in everyone if comment.speaker is not None)
    return Dump(
        dataset=dataset,
        discussions=tuple(map(as_moderated, discussions) if dataset == CMV else discussions),
        names={speaker: names.get(speaker, speaker) for speaker in speakers},
        counts={
            "utterances": len(places),
            "section headers": n_headers,
            "speakers": len(speakers),
            "comments without text": sum(not comment.text for comment in everyone),
            "replies to an utterance that is not there": sum(
                comment.reply_to is not None and comment.reply_to not in places for comment in everyone
            ),
            "comments with half a surrogate pair, now U+FFFD": sum(comment.is_mended for comment in everyone),
            "conversations without meta": len(keys) - len(metas),
        },
    )


def as_moderated(discussion: Discussion) -> Discussion:
    """A discussion of CGA-CMV as one of CGA-WIKI: the final comment, if it was removed, is its attack; the post that it
    is about is its page. A comment whose author or text is gone has no speaker, and a final one no text then.
    """
    comments = [
        replace(comment, speaker=None) if {comment.speaker, comment.text} & {*GONE} else comment
        for comment in discussion.comments
    ]
    if comments and comments[-1].text in GONE:
        comments[-1] = replace(comments[-1], text="")
    if comments and discussion.meta.get(ESCALATES):
        comments[-1] = replace(comments[-1], is_attack=True)
    post = comments[0].post if comments else None
    meta = {**discussion.meta, "page_id": post} if post else discussion.meta
    return replace(discussion, comments=tuple(comments), meta=meta)


def utterance_records(files: DumpFiles) -> Iterator[Record]:
    """The utterances one at a time."""
    where = files.where(UTTERANCES)
    with files.open(UTTERANCES) as file:
        for number, values in parse_lines(decoded(limited_lines(file, where), where), where):
            yield Record(values, f"{where}:{number}", number - 1)


def in_time(comments: Sequence[Comment]) -> tuple[Comment, ...]:
    """Comments by time. Of equal times a reply comes after what it replies to, and else the file's order decides.

    Comments without a time stand last: their place is unknown, and the corpus drops their discussions by that name.
    """
    # Stable, so that equal times keep the file's order.
    by_time = sorted(comments, key=lambda comment: (comment.timestamp is None, comment.timestamp or 0.0))
    ordered: list[Comment] = []
    for _, group in groupby(by_time, key=lambda comment: comment.timestamp):
        rest = list(group)
        while rest:
            waited_for = {comment.comment_id for comment in rest}
            # Replies in a circle wait for each other: then the first in the file goes first.
            ready = next((c for c in rest if c.reply_to == c.comment_id or c.reply_to not in waited_for), rest[0])
            rest.remove(ready)
            ordered.append(ready)
    return tuple(ordered)


def kept_meta(value: object, key: str, files: DumpFiles) -> dict[str, Any]:
    """A conversation's meta, from {"meta": {...}, "vectors": []} or bare; META_FIELDS of it, ESCALATES as a bool."""
    where = f"{files.where(CONVERSATIONS)}: conversation {shown(key)}"
    meta = value.get("meta", value) if isinstance(value, dict) else value
    if not isinstance(meta, dict):
        raise DataError(f"{where}: is {shown(meta)}, expected an object; {AGAIN}")
    record = Record(meta, where, 0)
    kept = dict(record.kept(*META_FIELDS))
    if REMOVED in meta:
        kept |= {IS_CMV: True, ESCALATES: boolean(record, REMOVED)}
    elif kept.get(ESCALATES) is not None:
        kept[ESCALATES] = boolean(record, ESCALATES)
    return kept


def name_in(value: object, key: str, files: DumpFiles) -> str:
    """A speaker's name: what its meta calls `name`, else its id, as in CGA-WIKI."""
    meta = value.get("meta", value) if isinstance(value, dict) else None
    name = meta.get("name") if isinstance(meta, dict) else None
    if name is not None and not isinstance(name, str):
        where = f"{files.where(SPEAKERS)}: speaker {shown(key)}"
        raise DataError(f"{where}: has the name {shown(name)}, expected a text; {AGAIN}")
    return key if name is None else name


def comment_of(record: Record) -> Comment:
    """The comment in a record. Raises DataError for a field of the wrong kind."""
    text = record.get("text")
    if text is not None and not isinstance(text, str):
        raise record.error("text", f"must be a text, found {shown(text)}")
    mended = LONE_SURROGATE.sub("\ufffd", text or "")
    reply_key = "reply-to" if "reply-to" in record.values else "reply_to"
    link = meta_of(record).values.get("permalink")  # "/r/changemyview/comments/POST/title/COMMENT/"
    post = POST.search(link) if isinstance(link, str) else None
    return Comment(
        comment_id=needed_id(record, "id"),
        speaker=speaker_of(record)[0],
        text=mended.strip(),
        timestamp=time_of(record),
        reply_to=optional_id(record, reply_key, record.values.get(reply_key)),
        is_attack=flag(record, ATTACK),
        is_mended=mended != (text or ""),
        post=post and post[1],
    )


def speaker_of(record: Record) -> tuple[str | None, str | None]:
    """The speaker's id and own name, None for what the record does not say.

    A speaker is an id or an object: {"id": ..., "name": ...}, in the oldest dumps a name alone.
    """
    key = "user" if "user" in record.values and "speaker" not in record.values else "speaker"
    value = record.get(key)
    if not isinstance(value, dict):
        return optional_id(record, key, value), None
    speaker = optional_id(record, key, value.get("id", value.get("name")))
    name = value.get("name")
    if name is not None and not isinstance(name, str):
        raise record.error(key, f"has the name {shown(name)}, expected a text")
    return speaker, name


def time_of(record: Record) -> float | None:
    """Seconds. Dumps have numbers, or numbers in quotes."""
    value = record.values.get("timestamp")
    try:
        seconds = (float(value) if value.strip() else None) if isinstance(value, str) else value
    except ValueError:
        seconds = value
    if seconds is not None and not is_number(seconds):
        raise record.error("timestamp", f"must be seconds as a number, found {shown(seconds)}")
    return None if seconds is None else float(seconds)


def flag(record: Record, name: str) -> bool:
    """A yes or no of the annotation: true and false, 1 and 0; no when it is absent or null."""
    meta = meta_of(record)
    return meta.values.get(name) is not None and boolean(meta, name)


def boolean(record: Record, name: str) -> bool:
    """A field that must be true or false, or 1 or 0. The word "False" would count as true."""
    value = record.get(name)
    if value not in (True, False):
        raise record.error(name, f"must be true or false, found {shown(value)}")
    return bool(value)


def meta_of(record: Record) -> Record:
    """An utterance's meta as a record; empty when it has none."""
    if record.values.get("meta") is None:
        return Record({}, record.where, record.index)
    return record.inside("meta")


def needed_id(record: Record, name: str) -> str:
    """An id that must be there."""
    value = optional_id(record, name, record.get(name))
    if value is None:
        raise record.error(name, f"must be an id, found {shown(record.values[name])}")
    return value


def optional_id(record: Record, name: str, value: object) -> str | None:
    """An id as text, None for null and for the empty text. Numbers are ids too: 12 and "12" are one."""
    if value is None or value == "":
        return None
    if isinstance(value, str):
        return record.checked_text(name, value)
    if not isinstance(value, int) or isinstance(value, bool):
        raise record.error(name, f"must be an id, found {shown(value)}")
    return str(value)
