"""Reddit's API on loopback: `info` of posts, and their images, with faults on request.

PRAW finds it by a praw.ini, which `environment` writes.
"""

from dataclasses import dataclass
from urllib.parse import parse_qs, urlsplit

from tests.made.fake_server import as_json
from tests.made.loopback import Loopback, QuietHandler, Reply

GONE = {"removed_by_category": "deleted", "selftext": "[deleted]", "title": "[deleted by user]", "author": "[deleted]"}


@dataclass
class MadePost:
    """A post with its images."""

    post_id: str
    images: tuple[bytes, ...]
    gone: bool = False


class MadeReddit(Loopback):
    """Serves posts. A fault is the reply that is sent in place of the right one."""

    def __init__(self, posts):
        super().__init__()
        self.posts = {post.post_id: post for post in posts}

    def environment(self, folder):
        """What a process needs to find it: credentials, and the place of a praw.ini."""
        ini = f"[DEFAULT]\noauth_url={self.base}\nreddit_url={self.base}\nratelimit_seconds=1\n"
        (folder / "praw.ini").write_text(ini)
        names = {"REDDIT_CLIENT_ID": "id", "REDDIT_CLIENT_SECRET": "secret", "REDDIT_USER_AGENT": "made by a test"}
        return {"XDG_CONFIG_HOME": str(folder), **names}

    def facts(self, post):
        """A post as the API tells it."""
        media = {f"m{n}": {"status": "valid", "s": {"u": self.image_url(post, n)}} for n in range(len(post.images))}
        facts = {
            "id": post.post_id,
            "name": f"t3_{post.post_id}",
            "title": "AIO because of these messages?",
            "selftext": "I told my boyfriend that I'm tired of this.",
            "author": "made_up_poster",
            "url": f"{self.base}/gallery/{post.post_id}",
            "media_metadata": media,
            "gallery_data": {"items": [{"media_id": name} for name in media]},
            "removed_by_category": None,
            "permalink": f"/r/AmIOverreacting/comments/{post.post_id}/x/",
        }
        if len(post.images) == 1:  # a link to the image itself
            facts |= {"media_metadata": None, "gallery_data": None, "post_hint": "image"}
            facts["url_overridden_by_dest"] = self.image_url(post, 0)
        return {**facts, **GONE} if post.gone else facts

    def image_url(self, post, number):
        """Where an image lies, escaped as Reddit does."""
        return f"{self.base}/image/{post.post_id}/{number}.png?width=1&amp;s=1"

    def answer(self, path, query):
        """The reply to a GET."""
        parts = path.strip("/").split("/")
        if parts[:2] == ["api", "info"]:
            posts = [self.posts.get(name.removeprefix("t3_")) for name in query["id"].split(",")]
            children = [{"kind": "t3", "data": self.facts(post)} for post in posts if post]
            return as_json({"kind": "Listing", "data": {"children": children, "after": None, "before": None}})
        if parts[0] == "image":
            return Reply(200, self.posts[parts[1]].images[int(parts[2].split(".")[0])], {"Content-Type": "image/png"})
        return Reply(404, "{}")

    def handler(self):
        made = self

        class Handler(QuietHandler):
            def do_GET(self):
                parts = urlsplit(self.path)
                query = {key: values[0] for key, values in parse_qs(parts.query).items()}
                self.send(made.fault(parts.path) or made.answer(parts.path, query))

            def do_POST(self):
                self.rfile.read(int(self.headers["Content-Length"]))
                self.send(as_json({"access_token": "t", "token_type": "bearer", "expires_in": 3600, "scope": "*"}))

        return Handler
