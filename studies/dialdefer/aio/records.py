"""What the stages of the construction hand on. A stage keeps one JSON file a post; the author is in none of them."""

from typing import Literal

from evenhand.config import Closed

POSTER, OTHER = "Speaker B", "Speaker A"  # in the finished set Speaker B is always the original poster
Speaker = Literal["Speaker A", "Speaker B"]
Label = Literal["OR", "NOR"]


class Dropped(Closed):
    """A post that a stage left out, and why, in words for the report."""

    dropped: str


class Comment(Closed):
    """A comment, personal information redacted. The id is kept to ask Reddit whether it is still there."""

    comment_id: str
    text: str


class Post(Closed):
    """A post with what B.1.2 keeps of it, personal information redacted."""

    post_id: str
    title: str
    body: str
    url: str  # the post's by its id, without the title
    score: int
    upvote_ratio: float | None
    images: tuple[str, ...]  # addresses; no image is kept
    comments: dict[str, tuple[Comment, ...]]  # Reddit's order → the top three
    redacted: dict[str, int]  # kind of personal information → how often


class Turn(Closed):
    """What one speaker says until the other does."""

    speaker: Speaker
    text: str


class Transcript(Closed):
    """The conversation on a post's screenshots."""

    turns: tuple[Turn, ...]
    n_bubbles: int  # before neighbours of one speaker were merged
    repaired: bool  # the model's JSON was broken
    redacted: dict[str, int]
    answered_by: str | None


class Reading(Closed):
    """What the text stage found in a post: the verdict, the neutral context, the relationship."""

    label: Label | None
    method: Literal["pattern", "llm", ""]
    comment: int  # which of the best three, from 0; -1 where none gave a label
    doubts: tuple[str, ...]  # why a person must look at the label
    context: str
    held: tuple[str, ...]  # what could not be cleaned out of the context; such a post is held back
    relationship: str  # Speaker A is Speaker B's ...
    redacted: dict[str, int]
    answered_by: str | None
