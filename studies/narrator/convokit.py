"""A ConvoKit dump → discussions, each with its comments in order of time. Old field names and new, folder or zip.

The utterances are read one at a time, and of each only its text and a few small fields are kept: `parsed`, most of the
file, is dropped at once. Nothing is unpacked to disk. A wrong field is named with file and line.
"""

import re
import zipfile
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import Annotated, Any

from pydantic import AliasChoices, AliasPath, BaseModel, BeforeValidator, ConfigDict, Field

from evenhand.config import parse_config
from evenhand.data_files import AGAIN, DAMAGE, decoded, limited_lines
from evenhand.errors import DataError, one_line
from evenhand.files import parse_lines
from evenhand.sources.record_fields import LONE_SURROGATE, Record, shown

DATASETS = DATASET, CMV = "cga-wiki", "cga-cmv"  # Wikipedia's talk pages, and Reddit's ChangeMyView
FILES = UTTERANCES, CONVERSATIONS, SPEAKERS = "utterances.jsonl", "conversations.json", "speakers.json"
WANTED = f"a folder with {UTTERANCES} and {CONVERSATIONS}, or the zip of one"

ATTACK = "comment_has_personal_attack"
ESCALATES = "conversation_has_personal_attack"
REMOVED = "has_removed_comment"  # CGA-CMV's field: moderators removed the final comment, as rude or hostile (rule 2)
GONE = ("[deleted]", "[removed]")  # in place of a Reddit comment's author or text
META_FIELDS = ("page_title", "page_id", "pair_id", ESCALATES, "annotation_year", "split", REMOVED)
POST = re.compile(r"/comments/(\w+)")

Folder = Path | zipfile.Path  # of a dump; zipfile.Path is one inside a zip


def mended(value: object) -> object:
    """Half a surrogate pair in a text becomes U+FFFD; the empty text, as null, is none."""
    return (LONE_SURROGATE.sub("\ufffd", value) or None) if isinstance(value, str) else value


Text = Annotated[str, BeforeValidator(mended)]  # of ids numbers too: 12 and "12" are one
TextOrNone = Annotated[str | None, BeforeValidator(mended)]


class Comment(BaseModel):
    """One utterance of a discussion, without `parsed` and the like."""

    model_config = ConfigDict(frozen=True, coerce_numbers_to_str=True, allow_inf_nan=False)

    comment_id: Text = Field(validation_alias="id")
    discussion_id: Text = Field(validation_alias=AliasChoices("conversation_id", "root"))
    speaker: TextOrNone = Field(validation_alias=AliasChoices("speaker", "user"))  # None where nobody is named
    raw_text: TextOrNone = Field(validation_alias="text")
    timestamp: float | None = None  # seconds, also in quotes
    reply_to: TextOrNone = Field(None, validation_alias=AliasChoices("reply-to", "reply_to"))
    # By majority of the annotators; None where the dump does not say.
    is_attack: bool | None = Field(None, validation_alias=AliasPath("meta", ATTACK))
    is_header: bool | None = Field(None, validation_alias=AliasPath("meta", "is_section_header"))
    link: Any = Field(None, validation_alias=AliasPath("meta", "permalink"))  # /r/changemyview/comments/POST/title/

    @property
    def text(self) -> str:
        """What is said, without outer blanks; may be empty."""
        return (self.raw_text or "").strip()


@dataclass(frozen=True, slots=True, kw_only=True)
class Discussion:
    """A conversation of the dump as it is there, section headers aside."""

    discussion_id: str
    comments: tuple[Comment, ...]  # in order of time
    meta: Mapping[str, Any]  # of META_FIELDS, those that the dump has

    @property
    def turns(self) -> list[Comment]:
        """The comments that say something, in order."""
        return [comment for comment in self.comments if comment.text]

    @property
    def attacks(self) -> list[Comment]:
        """The comments that are marked as an attack, empty ones too."""
        return [comment for comment in self.comments if comment.is_attack]


@dataclass(frozen=True, slots=True, kw_only=True)
class Dump:
    """What a ConvoKit dump holds."""

    dataset: str  # of DATASETS
    discussions: tuple[Discussion, ...]  # in the order of conversations.json, then of the utterances
    names: Mapping[str, str]  # speaker id → raw name, of those who wrote a comment
    counts: Mapping[str, int]  # what the data card says of the utterances


def find_dump(path: Path) -> Folder:
    """The dump at a path: a folder or a zip, or the one folder in it. Raises DataError when there is none, or two."""
    try:
        top = zipfile.Path(path) if path.is_file() else path
        folders = [top, *(inside for inside in top.iterdir() if inside.is_dir() and inside.name != "__MACOSX")]
    except DAMAGE as error:
        raise DataError(f"{path}: cannot be read ({one_line(error)}); give {WANTED}") from None
    dumps = [folder for folder in folders if (folder / UTTERANCES).is_file()]
    if len(dumps) != 1:
        raise DataError(f"{path}: holds {len(dumps)} ConvoKit dumps, expected 1; give {WANTED}")
    return dumps[0]


def read_dump(folder: Folder) -> Dump:
    """Everything in a dump. Raises DataError or ConfigError naming file and line of the first damaged record."""
    metas = {key: meta_in(value, folder, key) for key, value in object_in(folder / CONVERSATIONS).items()}
    comments: dict[str, list[Comment]] = defaultdict(list)
    places: dict[str, str] = {}  # utterance id → file and line
    is_annotated = False
    for number, values in parse_lines(text_of(folder / UTTERANCES), str(folder / UTTERANCES)):
        place = f"{folder / UTTERANCES}:{number}"
        comment = parse_config(Comment, values, place)
        if (before := places.setdefault(comment.comment_id, place)) != place:
            raise DataError(f"{place}: has the id {shown(comment.comment_id)}, as {before}; {AGAIN}")
        is_annotated |= comment.is_attack is not None
        if not comment.is_header:
            comments[comment.discussion_id].append(comment)
    is_cmv = any(REMOVED in meta for meta in metas.values())
    if not is_cmv and not is_annotated:
        raise DataError(
            f"{folder / UTTERANCES}: no utterance has the field '{ATTACK}', and no conversation '{REMOVED}'; is "
            "this Conversations Gone Awry, of Wikipedia or of ChangeMyView?"
        )
    everyone = [comment for group in comments.values() for comment in group]
    speakers = dict.fromkeys(comment.speaker for comment in everyone if comment.speaker is not None)
    records = object_in(folder / SPEAKERS) if (folder / SPEAKERS).is_file() else {}
    discussions = [
        Discussion(discussion_id=key, comments=in_time(comments.get(key, [])), meta=metas.get(key, {}))
        for key in dict.fromkeys([*metas, *comments])
    ]
    return Dump(
        dataset=CMV if is_cmv else DATASET,
        discussions=tuple(map(as_moderated, discussions) if is_cmv else discussions),
        names={speaker: name_in(records.get(speaker), speaker) for speaker in speakers},
        counts={
            "utterances": len(places),
            "section headers": len(places) - len(everyone),
            "speakers": len(speakers),
            "comments without text": sum(not comment.text for comment in everyone),
            "conversations without meta": len(discussions) - len(metas),
        },
    )


def text_of(file: Folder) -> Iterator[str]:
    """The lines of a file. Raises DataError when it is damaged or not there, also while it is read."""

    def lines() -> Iterator[bytes]:
        try:
            with file.open("rb") as content:
                yield from limited_lines(content, str(file))
        except DAMAGE as error:
            raise DataError(f"{file}: cannot be read ({one_line(error)}); {AGAIN}") from None

    return decoded(lines(), str(file))


def object_in(file: Folder) -> dict[str, Any]:
    """The one JSON object of a file: id → object."""
    return next((value for _, value in parse_lines(["".join(text_of(file))], str(file))), {})


def meta_in(value: Any, folder: Folder, key: str) -> dict[str, Any]:
    """A conversation's meta, from {"meta": {...}, "vectors": []} or bare; META_FIELDS of it."""
    record = Record({"meta": value}, f"{folder / CONVERSATIONS}: conversation {shown(key)}", 0).inside("meta")
    meta = (record.inside("meta") if "meta" in record.values else record).kept(*META_FIELDS)
    flags = {name: meta[name] for name in (ESCALATES, REMOVED) if meta.get(name) is not None}
    for name, value in flags.items():
        if value not in (True, False):
            raise record.error(name, f"must be true or false, found {shown(value)}")
    return meta | {name: bool(value) for name, value in flags.items()}


def name_in(value: Any, speaker: str) -> str:
    """A speaker's name: what its meta calls `name`, else its id, as in CGA-WIKI."""
    meta = value.get("meta", value) if isinstance(value, dict) else None
    return str(mended(meta["name"])) if isinstance(meta, dict) and isinstance(meta.get("name"), str) else speaker


def as_moderated(discussion: Discussion) -> Discussion:
    """A discussion of CGA-CMV as one of CGA-WIKI: the final comment, if it was removed, is its attack; the post that it
    is about is its page. A comment whose author or text is gone has no speaker, and a final one no text then.
    """
    meta = {name: value for name, value in discussion.meta.items() if name != REMOVED}
    meta[ESCALATES] = bool(discussion.meta.get(REMOVED))
    comments = [
        comment.model_copy(update={"speaker": None}) if {comment.speaker, comment.text} & {*GONE} else comment
        for comment in discussion.comments
    ]
    if comments:
        last = {"is_attack": meta[ESCALATES]} | ({"raw_text": None} if comments[-1].text in GONE else {})
        comments[-1] = comments[-1].model_copy(update=last)
        if post := POST.search(str(comments[0].link)):
            meta["page_id"] = post[1]
    return replace(discussion, comments=tuple(comments), meta=meta)


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
