"""Reddit through PRAW: which of the released posts are still there, and where their images lie (B.1.2).

PRAW keeps to the rate that Reddit's headers ask for, and repeats after 5xx. Read-only: an application's credentials
from the environment, no user's.
"""

import html
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from evenhand.errors import ConfigError, DataError
from evenhand.files import write_json
from studies.dialdefer.aio.folder import GONE, POSTS, RawFolder

if TYPE_CHECKING:
    import praw

VARIABLES = {name: f"REDDIT_{name.upper()}" for name in ("client_id", "client_secret", "user_agent")}
MARKS_OF_GONE = ("[deleted]", "[removed]", "[deleted by user]", "[ removed by reddit ]", "[removed by reddit]")
IMAGE_ENDS = (".jpg", ".jpeg", ".png", ".webp")


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


def harvest(folder: RawFolder, reddit: "praw.Reddit", ids: Sequence[str]) -> None:
    """Keep the addresses of each post's images and nothing else, and delete here what is gone from Reddit."""
    posts, gone = posts_of(reddit, ids), {}
    for post_id in ids:
        if reason := gone_reason(posts[post_id]) if post_id in posts else "not on Reddit any more":
            gone[post_id] = reason
        else:
            images = image_addresses(posts[post_id])
            folder.write(POSTS, post_id, {"images": images} if images else {"dropped": "no image"})
    write_json(folder.path / GONE, gone)  # before anything is removed: after a kill `opened` goes on
    folder.sweep()


def posts_of(reddit: "praw.Reddit", ids: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Id → the fields of a post, of those that Reddit knows. Raises ConfigError and DataError."""
    from prawcore import exceptions

    try:
        return {post.id: vars(post) for post in reddit.info(fullnames=[f"t3_{post_id}" for post_id in ids])}
    except (exceptions.TooManyRequests, exceptions.ServerError, exceptions.RequestException) as error:
        raise DataError(f"Reddit does not answer ({error}); run the same command again later") from None
    except (exceptions.OAuthException, exceptions.ResponseException) as error:
        raise ConfigError(
            f"Reddit refuses the request ({error}): check {', '.join(VARIABLES.values())}, which must be of an "
            "application that Reddit has approved (https://www.reddit.com/prefs/apps)"
        ) from None


def gone_reason(facts: dict[str, Any]) -> str:
    """Why Reddit does not show a post any more; empty where it does."""
    if by := facts.get("removed_by_category"):
        return "deleted by its author" if by == "deleted" else f"removed ({by})"
    texts = [str(facts.get(key) or "").strip().lower() for key in ("title", "selftext")]
    return next((f"text is {text}" for text in texts if text in MARKS_OF_GONE), "")


def image_addresses(facts: dict[str, Any]) -> list[str]:
    """The addresses of a post's images in order: of a gallery, of images within the text, or of the link itself."""
    media = facts.get("media_metadata") or {}
    listed = [item.get("media_id") for item in (facts.get("gallery_data") or {}).get("items", [])] or list(media)
    urls = [media[name]["s"]["u"] for name in listed if "u" in (media.get(name) or {}).get("s", {})]
    link = str(facts.get("url_overridden_by_dest") or "")
    if not urls and (facts.get("post_hint") == "image" or link.partition("?")[0].lower().endswith(IMAGE_ENDS)):
        urls = [link]
    return [html.unescape(url) for url in urls]
