"""A ConvoKit dump → discussions, each with its comments in order of time. Old field names and new, folder or zip.

The utterances are read one at a time, and of each only its text and five small fields are kept: `parsed`, which is most
of the file, is dropped at once.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Any

from evenhand.errors import DataError
from evenhand.jsonl import parse_lines
from evenhand.sources.archives import AGAIN, lines_of
from evenhand.sources.raw_files import decoded
from evenhand.sources.record_fields import Record, shown
from studies.narrator.dump_files import CMV, CONVERSATIONS, DATASET, SPEAKERS, UTTERANCES, DumpFiles
from studies.narrator.utterances import (
    ATTACK,
    HEADER,
    Comment,
    boolean,
    comment_of,
    discussion_of,
    flag,
    is_annotated,
    speaker_of,
)

ESCALATES = "conversation_has_personal_attack"
REMOVED = "has_removed_comment"  # CGA-CMV's field: moderators removed the final comment, as rude or hostile (rule 2)
IS_CMV = "is of CGA-CMV"
GONE = ("[deleted]", "[removed]")  # in place of a Reddit comment's author or text
META_FIELDS = ("page_title", "page_id", "pair_id", ESCALATES, "annotation_year", "split")


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
    counts: Mapping[str, int]  # by the names in `counted`


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
        n_annotated += is_annotated(record)
        if flag(record, HEADER):
            n_headers += 1
            continue
        comments[discussion_of(record)].append(comment)
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
    everyone = [comment for found in comments.values() for comment in found]
    found = [
        Discussion(discussion_id=key, comments=in_time(comments.get(key, [])), meta=metas.get(key, {})) for key in keys
    ]
    return Dump(
        dataset=dataset,
        discussions=tuple(map(as_moderated, found) if dataset == CMV else found),
        names={speaker: names.get(speaker, speaker) for c in everyone if (speaker := c.speaker) is not None},
        counts=counted(places, n_headers, everyone) | {"conversations without meta": len(keys) - len(metas)},
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


def counted(ids: Mapping[str, str], n_headers: int, comments: Sequence[Comment]) -> dict[str, int]:
    """What the data card says of a dump's utterances."""
    return {
        "utterances": len(ids),
        "section headers": n_headers,
        "speakers": len({comment.speaker for comment in comments if comment.speaker is not None}),
        "comments without text": sum(not comment.text for comment in comments),
        "replies to an utterance that is not there": sum(
            comment.reply_to is not None and comment.reply_to not in ids for comment in comments
        ),
        "comments with half a surrogate pair, now U+FFFD": sum(comment.is_mended for comment in comments),
    }


def utterance_records(files: DumpFiles) -> Iterator[Record]:
    """The utterances one at a time."""
    where = files.where(UTTERANCES)
    with files.open(UTTERANCES) as file:
        for number, values in parse_lines(decoded(lines_of(file, where), where), where):
            yield Record(values, f"{where}:{number}", number - 1)


def in_time(comments: Sequence[Comment]) -> tuple[Comment, ...]:
    """Comments by time. Of equal times a reply comes after what it replies to, and else the file's order decides.

    Comments without a time stand last: their place is unknown, and the corpus drops their discussions by that name.
    """
    # Stable, so that equal times keep the file's order.
    ordered = sorted(comments, key=lambda comment: (comment.timestamp is None, comment.timestamp or 0.0))
    found: list[Comment] = []
    for _, group in groupby(ordered, key=lambda comment: comment.timestamp):
        rest = list(group)
        while rest:
            waited_for = {comment.comment_id for comment in rest}
            # Replies in a circle wait for each other: then the first in the file goes first.
            ready = next((c for c in rest if c.reply_to == c.comment_id or c.reply_to not in waited_for), rest[0])
            rest.remove(ready)
            found.append(ready)
    return tuple(found)


def kept_meta(value: object, key: str, files: DumpFiles) -> dict[str, Any]:
    """A conversation's meta, from {"meta": {...}, "vectors": []} or bare; META_FIELDS of it, ESCALATES as a bool."""
    where = f"{files.where(CONVERSATIONS)}: conversation {shown(key)}"
    meta = value.get("meta", value) if isinstance(value, dict) else value
    if not isinstance(meta, dict):
        raise DataError(f"{where}: is {shown(meta)}, expected an object; {AGAIN}")
    record = Record(meta, where, 0)
    found = dict(record.kept(*META_FIELDS))
    if REMOVED in meta:
        found |= {IS_CMV: True, ESCALATES: boolean(record, REMOVED)}
    elif found.get(ESCALATES) is not None:
        found[ESCALATES] = boolean(record, ESCALATES)
    return found


def name_in(value: object, key: str, files: DumpFiles) -> str:
    """A speaker's name: what its meta calls `name`, else its id, as in CGA-WIKI."""
    meta = value.get("meta", value) if isinstance(value, dict) else None
    name = meta.get("name") if isinstance(meta, dict) else None
    if name is None:
        return key
    if not isinstance(name, str):
        raise DataError(
            f"{files.where(SPEAKERS)}: speaker {shown(key)}: has the name {shown(name)}, expected a text; {AGAIN}"
        )
    return name
