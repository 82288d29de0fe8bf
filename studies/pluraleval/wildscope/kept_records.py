"""Which submissions and comments of a dump count, and why the others do not. A record's author is read and not kept."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from studies.pluraleval.records import Comment
from studies.pluraleval.reply_reading import HALF_PAIR

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
    text = HALF_PAIR.sub("\ufffd", text).replace("\x00", "").strip()
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
