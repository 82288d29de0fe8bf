"""Reddit through PRAW: listings, a post with its comments, and whether things are still there.

PRAW keeps to the rate that Reddit's headers ask for, and repeats twice after 5xx; 429 and what lasts longer is waited
for here. Read-only: an application's credentials from the environment, no user's.
"""

import html
import os
import time
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

from evenhand.errors import ConfigError, DataError
from studies.dialdefer.aio.pii import redact
from studies.dialdefer.aio.records import Comment, Dropped, Post

if TYPE_CHECKING:
    import praw

SUBREDDIT = "AmIOverreacting"
VARIABLES = ("REDDIT_CLIENT_ID", "REDDIT_CLIENT_SECRET", "REDDIT_USER_AGENT")
CATALOGUES = ("hot", "new", "controversial", "rising", "top")
KEYWORDS = ("text", "screenshot", "messages", "image", "conversation")
LISTINGS = (*CATALOGUES, *(f"search {word}" for word in (*KEYWORDS, *"abcdefghijklmnopqrstuvwxyz")))
ORDERS = {"best": "confidence", "top": "top", "controversial": "controversial", "qa": "qa"}  # B.1.2 → Reddit's name
N_COMMENTS = 3  # of each order
N_ASKED = 10  # some of the first are moderators' or deleted
MOST_IMAGES = 9
GONE = ("[deleted]", "[removed]", "[deleted by user]", "[ removed by reddit ]", "[removed by reddit]")
PAUSES = (2.0, 8.0, 30.0, 60.0)  # seconds
LONGEST_PAUSE = 900.0  # seconds; Reddit's window is 600
IMAGE_ENDS = (".jpg", ".jpeg", ".png", ".webp")

T = TypeVar("T")


class Gone(Exception):
    """Reddit does not show a post any more; the words say why."""


class RedditClient:
    """Asks Reddit, and waits when it must."""

    def __init__(self, reddit: "praw.Reddit") -> None:
        self.reddit = reddit

    def listing(self, name: str) -> Iterator[tuple[str, bool]]:
        """(post id, whether it has an image) of a listing, as far as Reddit shows it: about 1,000 posts."""
        subreddit = self.reddit.subreddit(SUBREDDIT)
        kind, _, query = name.partition(" ")
        found = subreddit.search(query, limit=None) if query else getattr(subreddit, kind)(limit=None)
        while (submission := self.patiently(lambda: next(found, None))) is not None:
            yield submission.id, bool(image_addresses(vars(submission)))

    def post(self, post_id: str, *, images_alone: bool) -> Post | Dropped:
        """A post and its top comments in each order, redacted; the same names are masked in all of its texts.

        images_alone: no text is kept, as none is needed to put a dialogue back. Raises Gone.
        """
        orders = {"best": ORDERS["best"]} if images_alone else ORDERS
        pages = {order: self.page(post_id, name) for order, name in orders.items()}
        facts = pages["best"][0]
        if reason := gone_reason(facts):
            raise Gone(reason)
        images = image_addresses(facts)
        if not images:
            return Dropped(dropped="no image")
        if len(images) > MOST_IMAGES:
            return Dropped(dropped=f"more than {MOST_IMAGES} images")
        if images_alone:
            facts, pages = {**facts, "title": "", "selftext": ""}, {}
        names = {str(facts.get("author") or "")} | {name for _, _, authors in pages.values() for name in authors}
        counts: dict[str, int] = {}

        def clean(text: str) -> str:
            result = redact(text, names)
            for kind, n in result.counts.items():
                counts[kind] = counts.get(kind, 0) + n
            return result.text

        return Post(
            post_id=post_id,
            title=clean(str(facts.get("title") or "")),
            body=clean(str(facts.get("selftext") or "")),
            url=f"https://www.reddit.com/comments/{post_id}",
            score=int(facts.get("score") or 0),
            upvote_ratio=facts.get("upvote_ratio"),
            images=images,
            comments={
                order: tuple(Comment(comment_id=one, text=clean(text)) for one, text in page)
                for order, (_, page, _) in pages.items()
            },
            redacted=counts,
        )

    def page(self, post_id: str, order: str) -> tuple[dict[str, Any], list[tuple[str, str]], set[str]]:
        """(the post's fields, (id, text) of its first comments in one order, who wrote any that came). Raises Gone."""

        def ask() -> tuple[dict[str, Any], list[tuple[str, str]], set[str]]:
            submission = self.reddit.submission(post_id)
            submission.comment_sort, submission.comment_limit = order, N_ASKED
            submission.add_fetch_param("depth", "1")  # Reddit's limit counts replies, too
            found = [vars(comment) for comment in submission.comments if hasattr(comment, "body")]
            comments = [(comment["id"], comment["body"]) for comment in found if counts(comment)]
            return vars(submission), comments[:N_COMMENTS], {str(comment.get("author") or "") for comment in found}

        return self.patiently(ask)

    def gone_among(self, fullnames: Iterable[str]) -> dict[str, str]:
        """Fullname (t3_ of a post, t1_ of a comment) → why, of those that Reddit does not show any more."""
        found = {}
        for batch in in_hundreds(fullnames):
            there = self.patiently(lambda batch=batch: list(self.reddit.info(fullnames=batch)))  # type: ignore[misc]
            facts = {one.fullname: vars(one) for one in there}
            for name in batch:
                if reason := gone_reason(facts[name]) if name in facts else "not on Reddit any more":
                    found[name] = reason
        return found

    def patiently(self, ask: Callable[[], T]) -> T:
        """The answer, asked for again while a failure may pass. Raises Gone, ConfigError and DataError."""
        from prawcore import exceptions

        for pause in (*PAUSES, None):
            try:
                return ask()
            except exceptions.NotFound:
                raise Gone("not on Reddit any more") from None
            except (exceptions.TooManyRequests, exceptions.ServerError, exceptions.RequestException) as error:
                wish = getattr(error, "retry_after", None) or 0
                failure = str(error)
            except (exceptions.OAuthException, exceptions.ResponseException) as error:
                raise ConfigError(
                    f"Reddit refuses the request ({error}): check {', '.join(VARIABLES)}, which are of an application "
                    "that Reddit has approved (https://www.reddit.com/prefs/apps)"
                ) from None
            if pause is None or float(wish) > LONGEST_PAUSE:
                break
            time.sleep(max(pause if not wish else 0.0, float(wish)))
        raise DataError(f"Reddit does not answer ({failure}); what came is kept, run the same command again later")


def reddit_client() -> RedditClient:
    """A client with the environment's credentials. Raises ConfigError where they or PRAW are absent."""
    try:
        import praw
    except ImportError:
        raise ConfigError(
            "asking Reddit needs PRAW, which is not installed: pip install --no-deps -r requirements/aio.lock"
        ) from None
    if missing := [name for name in VARIABLES if not os.environ.get(name)]:
        raise ConfigError(
            f"{', '.join(missing)}: not set. Register an application of the kind `script` with Reddit, get its use "
            "approved for research, and export its id, its secret and a user agent that names you"
        )
    client_id, client_secret, user_agent = (os.environ[name] for name in VARIABLES)
    return RedditClient(
        praw.Reddit(
            client_id=client_id,
            client_secret=client_secret,
            user_agent=user_agent,
            check_for_updates=False,
            username=None,
        )
    )


def in_hundreds(names: Iterable[str]) -> Iterator[list[str]]:
    """Lists of at most 100, which is what Reddit takes at once."""
    batch: list[str] = []
    for name in names:
        batch.append(name)
        if len(batch) == 100:
            yield batch
            batch = []
    if batch:
        yield batch


def gone_reason(facts: dict[str, Any]) -> str:
    """Why Reddit does not show a post or comment any more; empty where it does."""
    if by := facts.get("removed_by_category"):
        return "deleted by its author" if by == "deleted" else f"removed ({by})"
    texts = [str(facts.get(key) or "").strip().lower() for key in ("title", "selftext", "body")]
    return next((f"text is {text}" for text in texts if text in GONE), "")


def counts(comment: dict[str, Any]) -> bool:
    """Whether a comment is somebody's verdict: not deleted, not a moderator's notice."""
    return not (
        gone_reason(comment)
        or comment.get("stickied")
        or str(comment.get("author") or "").lower() == "automoderator"
        or not comment["body"].strip()
    )


def image_addresses(facts: dict[str, Any]) -> tuple[str, ...]:
    """The addresses of a post's images in order: of a gallery, of images within the text, or of the link itself."""
    media = facts.get("media_metadata") or {}
    listed = [item.get("media_id") for item in (facts.get("gallery_data") or {}).get("items", [])] or list(media)
    found = [media[name]["s"]["u"] for name in listed if "u" in (media.get(name) or {}).get("s", {})]
    link = str(facts.get("url_overridden_by_dest") or "")
    if not found and (facts.get("post_hint") == "image" or link.partition("?")[0].lower().endswith(IMAGE_ENDS)):
        found = [link]
    return tuple(html.unescape(address) for address in found)
