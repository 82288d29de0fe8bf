"""GitHub, the hub and a folder on the web in one server on loopback, with faults on request; it counts what it sent."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from tests.made.loopback import Loopback, QuietHandler

COMMIT = "a1" * 20
NEWER = "b2" * 20


@dataclass(frozen=True, kw_only=True)
class Fault:
    """How one answer differs from the right one."""

    status: int | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None
    cut: int | None = None  # bytes of the body after which the connection ends


@dataclass(frozen=True, kw_only=True)
class Seen:
    """One request as it came."""

    path: str
    headers: Mapping[str, str]  # by names in lower case


class PublishersServer(Loopback):
    """Files (path → bytes) at every place."""

    def __init__(self, files):
        super().__init__()
        self.files = dict(files)
        self.commit = COMMIT
        self.seen: list[Seen] = []
        self.n_sent = 0  # bytes of files

    def stand_in(self, monkeypatch):
        """Have everything fetched from here, and nothing waited for."""
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
        monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", f"{self.base}/hub")
        monkeypatch.setattr("studies.fetching.GITHUB_API", f"{self.base}/github")
        monkeypatch.setattr("studies.fetching.GITHUB_RAW", f"{self.base}/raw")
        monkeypatch.setattr("time.sleep", lambda _: None)

    def requests(self, end):
        """The requests for a path with this end."""
        return [seen for seen in self.seen if seen.path.endswith(end)]

    def named(self, path):
        """What is at a path: a file, an answer of an API, or nothing."""
        listed = sorted(self.files)
        match path.strip("/").split("/"):
            case ["github", "repos", _, _, "commits", _]:
                return {"sha": self.commit}
            case ["github", "repos", _, _, "git", "trees", _]:
                blobs = [{"path": name, "type": "blob"} for name in listed]
                return {"sha": self.commit, "tree": [{"path": "data", "type": "tree"}, *blobs], "truncated": False}
            case ["hub", "api", "datasets", _, _, *_]:
                return {"id": "a/b", "sha": self.commit, "siblings": [{"rfilename": name} for name in listed]}
            case ["raw", _, _, _, *rest] | ["hub", "datasets", _, _, "resolve", _, *rest] | ["folder", *rest]:
                return self.files.get("/".join(rest))
        return None

    def handler(self):
        server = self

        class Handler(QuietHandler):
            def do_GET(self):
                path = self.path.partition("?")[0]
                server.seen.append(
                    Seen(path=path, headers={name.lower(): value for name, value in self.headers.items()})
                )
                answer(self, server, server.named(path), server.fault(path) or Fault())

        return Handler


def answer(handler, server, content, fault):
    """Send the content, or the part of it that was asked for, as far as the fault lets it."""
    headers = {}
    if isinstance(content, bytes):
        body, status = content, 200
        headers["Content-Type"] = "application/octet-stream"
        headers["ETag"] = f'"{hashlib.sha256(content).hexdigest()[:8]}"'
        wanted = handler.headers.get("Range")
        if wanted:
            start = int(wanted.removeprefix("bytes=").removesuffix("-"))
            part = f"{start}-{len(body) - 1}" if start < len(body) else "*"
            headers["Content-Range"] = f"bytes {part}/{len(body)}"
            body, status = body[start:], 416 if part == "*" else 206
    else:
        body, status = json.dumps(content or {"message": "Not Found"}).encode(), 200 if content else 404
        headers["Content-Type"] = "application/json"
    refused = fault.status is not None and fault.status >= 400
    body = (b"" if refused else body) if fault.body is None else fault.body
    handler.send_response(fault.status or status)
    for name, value in {**headers, "Content-Length": str(len(body)), **fault.headers}.items():
        handler.send_header(name, value)
    handler.end_headers()
    sent = body[: fault.cut]
    with server.lock:
        server.n_sent += len(sent) if isinstance(content, bytes) else 0
    handler.wfile.write(sent)
    handler.wfile.flush()
    handler.close_connection = fault.cut is not None
