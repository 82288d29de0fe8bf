"""Reddit through PRAW: discovery of posts, their harvest, and the removal of what is gone there (B.1.1, B.1.2).

PRAW keeps to the rate that Reddit's headers ask for, and repeats twice after 5xx; 429 and what lasts longer is waited
for here. Read-only: an application's credentials from the environment, no user's.
"""

import html
import os
import re
import sys
import time
from collections.abc import Callable, Collection, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from evenhand.errors import ConfigError, DataError
from evenhand.files import write_json
from evenhand.terminal import say
from studies.dialdefer.aio.folder import POSTS, RawFolder
from studies.dialdefer.aio.pii import redact

if TYPE_CHECKING:
    import praw

SUBREDDIT = "AmIOverreacting"
VARIABLES = {name: f"REDDIT_{name.upper()}" for name in ("client_id", "client_secret", "user_agent")}
CATALOGUES = ("hot", "new", "controversial", "rising", "top")
KEYWORDS = ("text", "screenshot", "messages", "image", "conversation")
LISTINGS = (*CATALOGUES, *(f"search {word}" for word in (*KEYWORDS, *"abcdefghijklmnopqrstuvwxyz")))
N_COMMENTS = 3
N_ASKED = 10  # some of the first are moderators' or deleted
MOST_IMAGES = 9
GONE = ("[deleted]", "[removed]", "[deleted by user]", "[ removed by reddit ]", "[removed by reddit]")
PAUSES = (2.0, 8.0, 30.0, 60.0)  # seconds
LONGEST_PAUSE = 900.0  # seconds; Reddit's window is 600
IMAGE_ENDS = (".jpg", ".jpeg", ".png", ".webp")
RELEASED = "released"  # the source of ids whose images alone are needed
ID = re.compile(r"[a-z0-9]{4,10}")

T = TypeVar("T")


class Gone(Exception):
    """Reddit does not show a post any more; the words say why."""


def reddit_client() -> "praw.Reddit":
    """A client with the environment's credentials. Raises ConfigError where they are absent."""
    import praw

    if missing := [name for name in VARIABLES.values() if not os.environ.get(name)]:
        raise ConfigError(
            f"{', '.join(missing)}: not set. Register an application of the kind `script` with Reddit, get its use "
            "approved for research, and export its id, its secret and a user agent that names you"
        )
    secrets = {key: os.environ[name] for key, name in VARIABLES.items()}
    return praw.Reddit(**secrets, check_for_updates=False, username=None)


def discover(folder: RawFolder, reddit: "praw.Reddit") -> None:
    """Go through all listings and keep the ids of posts with an image; nothing else of them. A pass that was cut off
    goes on with its next listing; after a whole one the next call begins another, for new posts."""
    subreddit, discovery = reddit.subreddit(SUBREDDIT), folder.discovery
    for name in LISTINGS:
        if name in discovery["done"]:
            continue
        kind, _, query = name.partition(" ")
        n_before = len(discovery["ids"])
        posts = subreddit.search(query, limit=None) if query else getattr(subreddit, kind)(limit=None)
        while (post := patiently(lambda posts=posts: next(posts, None))) is not None:  # type: ignore[misc]
            if image_addresses(vars(post)):
                discovery["ids"].setdefault(post.id, name)
        discovery["done"].append(name)
        write_json(folder.path / "discovery.json", discovery)
        say(f"discover: {name}: {len(discovery['ids']) - n_before:,} new posts with an image", sys.stderr)
    write_json(folder.path / "discovery.json", {**discovery, "done": []})


def add_ids(folder: RawFolder, ids: Collection[str], source: str, kind: str = "given") -> None:
    """Take posts that are known by their ids; of RELEASED ones the images alone. Raises DataError for what is no id."""
    if wrong := [post_id for post_id in ids if not ID.fullmatch(post_id)]:
        raise DataError(f"{source}: '{wrong[0][:40]}' is not an id of a post on Reddit, such as 1oh8hfn")
    discovery = folder.discovery
    for post_id in ids:
        discovery["ids"].setdefault(post_id, kind)
    write_json(folder.path / "discovery.json", discovery)


def ids_in(path: Path) -> list[str]:
    """The ids of a file, one a line; a link to a post is taken for its id. Raises DataError."""
    try:
        lines = path.read_text(encoding="utf-8").split()
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path}: cannot be read ({error}); name a text file with one id a line") from None
    return [re.sub(r".*/comments/([a-z0-9]+).*", r"\1", line).removeprefix("t3_") for line in lines]


def harvest(folder: RawFolder, reddit: "praw.Reddit") -> None:
    """Remove what is gone from Reddit since the last call, then fetch the posts that are not here yet."""
    honour_deletions(folder, reddit)
    owed, sources = folder.owed(POSTS, folder.ids), folder.discovery["ids"]
    for number, post_id in enumerate(owed, start=1):
        try:
            folder.write(POSTS, post_id, post_record(reddit, post_id, images_alone=sources[post_id] == RELEASED))
        except Gone as reason:
            folder.purge({post_id: str(reason)})
        if number % 50 == 0 or number == len(owed):
            say(f"harvest: {number:,} of {len(owed):,} posts", sys.stderr)


def honour_deletions(folder: RawFolder, reddit: "praw.Reddit") -> None:
    """Delete here what was deleted there: posts, and the texts of posts that lost a comment, which are fetched anew."""
    posts = dict(folder.kept(POSTS))
    gone = gone_among(reddit, "t3", posts)
    folder.purge(gone)
    ids = {name: {comment["id"] for comment in post["comments"]} for name, post in posts.items() if name not in gone}
    deleted = gone_among(reddit, "t1", sorted(set().union(*ids.values())))
    for post_id, theirs in ids.items():
        if theirs & deleted.keys():
            folder.forget(post_id)
    if gone or deleted:
        say(
            f"harvest: {len(gone):,} posts and {len(deleted):,} comments are gone from Reddit, and deleted here, too",
            sys.stderr,
        )


def gone_among(reddit: "praw.Reddit", kind: str, ids: Iterable[str]) -> dict[str, str]:
    """Id → why, of the posts (t3) or comments (t1) that Reddit does not show any more."""
    names, reasons = [f"{kind}_{name}" for name in ids], {}
    for start in range(0, len(names), 100):
        batch = names[start : start + 100]
        there = patiently(lambda batch=batch: list(reddit.info(fullnames=batch)))  # type: ignore[misc]
        facts = {post.fullname: vars(post) for post in there}
        for name in batch:
            if reason := gone_reason(facts[name]) if name in facts else "not on Reddit any more":
                reasons[name.removeprefix(f"{kind}_")] = reason
    return reasons


def post_record(reddit: "praw.Reddit", post_id: str, *, images_alone: bool) -> dict[str, Any]:
    """A post and its best comments, redacted; the same names are masked in all of its texts.

    images_alone: no text is kept, as none is needed to put a dialogue back. Raises Gone.
    """
    facts, comments = patiently(lambda: page(reddit, post_id))
    if reason := gone_reason(facts):
        raise Gone(reason)
    images = image_addresses(facts)
    if not 0 < len(images) <= MOST_IMAGES:
        return {"dropped": f"more than {MOST_IMAGES} images" if images else "no image"}
    if images_alone:
        facts, comments = {**facts, "title": "", "selftext": ""}, []
    names = {str(writer.get("author") or "") for writer in (facts, *comments)}
    kept = [comment for comment in comments if counts(comment)][:N_COMMENTS]
    return {
        "title": redact(str(facts.get("title") or ""), names),
        "body": redact(str(facts.get("selftext") or ""), names),
        "images": images,  # addresses; no image is kept
        "comments": [{"id": comment["id"], "text": redact(comment["body"], names)} for comment in kept],
    }


def page(reddit: "praw.Reddit", post_id: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """(the fields of a post, those of its best comments)."""
    submission = reddit.submission(post_id)
    submission.comment_sort, submission.comment_limit = "confidence", N_ASKED  # Reddit's name of "best"
    submission.add_fetch_param("depth", "1")  # Reddit's limit counts replies, too
    comments = [vars(comment) for comment in submission.comments if hasattr(comment, "body")]
    return vars(submission), comments


def patiently(ask: Callable[[], T]) -> T:
    """The answer, asked for again while a failure may pass. Raises Gone, ConfigError and DataError."""
    from prawcore import exceptions

    for pause in (*PAUSES, None):
        try:
            return ask()
        except exceptions.NotFound:
            raise Gone("not on Reddit any more") from None
        except (exceptions.TooManyRequests, exceptions.ServerError, exceptions.RequestException) as error:
            wish, failure = float(getattr(error, "retry_after", None) or 0), str(error)
        except (exceptions.OAuthException, exceptions.ResponseException) as error:
            raise ConfigError(
                f"Reddit refuses the request ({error}): check {', '.join(VARIABLES.values())}, which must be of an "
                "application that Reddit has approved (https://www.reddit.com/prefs/apps)"
            ) from None
        if pause is None or wish > LONGEST_PAUSE:
            break
        time.sleep(wish or pause)
    raise DataError(f"Reddit does not answer ({failure}); what came is kept, run the same command again later")


def gone_reason(facts: dict[str, Any]) -> str:
    """Why Reddit does not show a post or comment any more; empty where it does."""
    if by := facts.get("removed_by_category"):
        return "deleted by its author" if by == "deleted" else f"removed ({by})"
    texts = [str(facts.get(key) or "").strip().lower() for key in ("title", "selftext", "body")]
    return next((f"text is {text}" for text in texts if text in GONE), "")


def counts(comment: dict[str, Any]) -> bool:
    """Whether a comment is somebody's verdict: not deleted, not a moderator's notice."""
    is_notice = comment.get("stickied") or str(comment.get("author") or "").lower() == "automoderator"
    return not (gone_reason(comment) or is_notice or not comment["body"].strip())


def image_addresses(facts: dict[str, Any]) -> list[str]:
    """The addresses of a post's images in order: of a gallery, of images within the text, or of the link itself."""
    media = facts.get("media_metadata") or {}
    listed = [item.get("media_id") for item in (facts.get("gallery_data") or {}).get("items", [])] or list(media)
    urls = [media[name]["s"]["u"] for name in listed if "u" in (media.get(name) or {}).get("s", {})]
    link = str(facts.get("url_overridden_by_dest") or "")
    if not urls and (facts.get("post_hint") == "image" or link.partition("?")[0].lower().endswith(IMAGE_ENDS)):
        urls = [link]
    return [html.unescape(url) for url in urls]
