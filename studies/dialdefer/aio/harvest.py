"""Discovery of posts, their harvest, and the removal of what is gone from Reddit (B.1.1, B.1.2)."""

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from evenhand.errors import ConfigError, DataError
from evenhand.sources.fetching import say
from evenhand.sources.raw_files import json_records
from studies.dialdefer.aio.check_files import forget_label
from studies.dialdefer.aio.raw_folder import POSTS, READINGS, RawFolder
from studies.dialdefer.aio.records import Post
from studies.dialdefer.aio.reddit import LISTINGS, Gone, RedditClient
from studies.dialdefer.aio.released import AIO_FILE
from studies.dialdefer.published_items import released_file

RELEASED = "released"
ID = re.compile(r"[a-z0-9]{4,10}")


def discover(folder: RawFolder, client: RedditClient) -> None:
    """Go through all listings and keep the ids of posts with an image; nothing else of them. A pass that was cut off
    goes on with its next listing; after a whole one the next call begins another, for new posts."""
    found = folder.discovery
    for name in LISTINGS:
        if name in found["done"]:
            continue
        without, n_before = set(found["without_image"]), len(found["ids"])
        for post_id, has_image in client.listing(name):
            if has_image:
                found["ids"].setdefault(post_id, name)
            else:
                without.add(post_id)
        found["without_image"], found["done"] = sorted(without), [*found["done"], name]
        folder.write_discovery(found)
        say(f"discover: {name}: {len(found['ids']) - n_before:,} new posts with an image")
    folder.write_discovery({**found, "done": []})


def add_ids(folder: RawFolder, ids: Sequence[str], source: str, kind: str = "given") -> None:
    """Take posts that are known by their ids; of RELEASED ones the images alone. Raises DataError for what is no id."""
    for post_id in ids:
        if not ID.fullmatch(post_id):
            raise DataError(f"{source}: '{post_id[:40]}' is no id of a post on Reddit, such as 1oh8hfn")
    found = folder.discovery
    for post_id in ids:
        found["ids"].setdefault(post_id, kind)
    folder.write_discovery(found)


def ids_in(path: Path) -> list[str]:
    """The ids of a file, one a line; a link to a post is taken for its id. Raises DataError."""
    try:
        lines = path.read_text(encoding="utf-8").split()
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path}: cannot be read ({error}); name a text file with one id a line") from None
    links = [re.search(r"/comments/([a-z0-9]+)", line) for line in lines]
    return [link[1] if link else line.removeprefix("t3_") for line, link in zip(lines, links, strict=True)]


def released_ids(root: Path) -> list[str]:
    """The ids of a release of r/AIO, in its order. Raises DataError where there is none."""
    path = released_file(root, AIO_FILE)
    if not path.exists():
        raise DataError(f"{path}: no such file; --release names a folder with the authors' release, or one of ours")
    return [record.identifier("id") for record in json_records(path)]


def harvest(folder: RawFolder, client: RedditClient) -> None:
    """Remove what is gone from Reddit since the last call, then fetch the posts that are not here yet."""
    honour_deletions(folder, client)
    owed, sources = folder.owed(POSTS, folder.ids), folder.discovery["ids"]
    for number, post_id in enumerate(owed, start=1):
        try:
            folder.write(POSTS, post_id, client.post(post_id, images_alone=sources[post_id] == RELEASED))
        except Gone as reason:
            folder.purge({post_id: str(reason)})
        if number % 50 == 0 or number == len(owed):
            say(f"harvest: {number:,} of {len(owed):,} posts")


def honour_deletions(folder: RawFolder, client: RedditClient) -> None:
    """Delete here what was deleted there: whole posts, and single comments with the label that was read from them."""
    posts = dict(folder.kept(POSTS, Post))
    gone = client.gone_among(f"t3_{post_id}" for post_id in posts)
    folder.purge({name.removeprefix("t3_"): reason for name, reason in gone.items()})
    left = {post_id: post for post_id, post in posts.items() if f"t3_{post_id}" not in gone}
    comments = client.gone_among(dict.fromkeys(f"t1_{name}" for post in left.values() for name in comment_ids(post)))
    unread: list[ConfigError] = []  # files of people that no longer parse: what else is deleted does not wait for them
    for post_id, post in left.items():
        if deleted := {name for name in comment_ids(post) if f"t1_{name}" in comments}:
            try:
                forget_label(folder, post, deleted)  # first: a kill before the post is written repeats all of this
            except ConfigError as error:
                unread.append(error)
                continue
            folder.remove_items()
            remaining = {
                order: tuple(one for one in found if one.comment_id not in deleted)
                for order, found in post.comments.items()
            }
            folder.file(READINGS, post_id).unlink(missing_ok=True)
            folder.write(POSTS, post_id, post.model_copy(update={"comments": remaining}))
    if gone or comments:
        say(f"harvest: {len(gone):,} posts and {len(comments):,} comments are gone from Reddit, and deleted here, too")
    if unread:
        raise ConfigError(f"{unread[0]}\n  Comments of {len(unread)} posts with such files are still here; mend them")


def comment_ids(post: Post) -> Iterable[str]:
    """The ids of a post's comments, each once."""
    return dict.fromkeys(one.comment_id for found in post.comments.values() for one in found)
