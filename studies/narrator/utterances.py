"""One utterance of a ConvoKit dump, old field names or new → a comment. A wrong field is named with file and line."""

import re
from dataclasses import dataclass

from evenhand.sources.record_fields import LONE_SURROGATE, Record, is_number, shown

ATTACK = "comment_has_personal_attack"
HEADER = "is_section_header"
POST = re.compile(r"/comments/(\w+)")


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


def comment_of(record: Record) -> Comment:
    """The comment in a record. Raises DataError for a field of the wrong kind."""
    text = record.get("text")
    if text is not None and not isinstance(text, str):
        raise record.error("text", f"must be a text, found {shown(text)}")
    mended = LONE_SURROGATE.sub("\ufffd", text or "")
    return Comment(
        comment_id=needed_id(record, "id"),
        speaker=speaker_of(record)[0],
        text=mended.strip(),
        timestamp=time_of(record),
        reply_to=reply_of(record),
        is_attack=flag(record, ATTACK),
        is_mended=mended != (text or ""),
        post=post_of(record),
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


def discussion_of(record: Record) -> str:
    """The id of the conversation that an utterance is of."""
    is_old = "root" in record.values and "conversation_id" not in record.values
    return needed_id(record, "root" if is_old else "conversation_id")


def reply_of(record: Record) -> str | None:
    """The id of the utterance replied to; None for a thread's first."""
    key = "reply-to" if "reply-to" in record.values else "reply_to"
    return optional_id(record, key, record.values.get(key))


def time_of(record: Record) -> float | None:
    """Seconds. Dumps have numbers, or numbers in quotes."""
    value = record.values.get("timestamp")
    if isinstance(value, str):
        try:
            value = float(value) if value.strip() else None
        except ValueError:
            raise record.error("timestamp", f"must be seconds as a number, found {shown(value)}") from None
    if value is None:
        return None
    if not is_number(value):
        raise record.error("timestamp", f"must be seconds as a number, found {shown(value)}")
    return float(value)


def post_of(record: Record) -> str | None:
    """The post in a Reddit comment's permalink, "/r/changemyview/comments/POST/title/COMMENT/"."""
    link = meta_of(record).values.get("permalink")
    found = POST.search(link) if isinstance(link, str) else None
    return found and found[1]


def is_annotated(record: Record) -> bool:
    """Whether a record says if it is an attack."""
    return ATTACK in meta_of(record).values


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
    found = optional_id(record, name, record.get(name))
    if found is None:
        raise record.error(name, f"must be an id, found {shown(record.values[name])}")
    return found


def optional_id(record: Record, name: str, value: object) -> str | None:
    """An id as text, None for null and for the empty text. Numbers are ids too: 12 and "12" are one."""
    if value is None or value == "":
        return None
    if isinstance(value, str):
        return record.checked_text(name, value)
    if not isinstance(value, int) or isinstance(value, bool):
        raise record.error(name, f"must be an id, found {shown(value)}")
    return str(value)
