"""A Hub on loopback that takes one upload, and remembers what it was given."""

import base64
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from typing import Any
from urllib.parse import urlparse

from tests.made.fake_server import QuietServer

REPO = "somebody/unified"
COMMIT = "0123456789abcdef0123456789abcdef01234567"


class FakeHub:
    """The few addresses of the Hub that an upload asks: makes one repository, takes one commit.

    kind: "datasets" or "models". refusals: path → status that is answered there. files: what is in the repository
    already.
    """

    def __init__(self, kind: str = "datasets") -> None:
        self.kind = kind
        self.address = f"/datasets/{REPO}" if kind == "datasets" else f"/{REPO}"
        self.url = ""
        self.refusals: dict[str, int] = {}
        self.files: list[str] = []
        self.private = True
        self.asked: list[str] = []
        self.created: dict[str, Any] = {}
        self.uploaded: dict[str, bytes] = {}
        self.deleted: list[str] = []

    def reply(self, path: str, body: bytes) -> tuple[int, object]:
        self.asked.append(path)
        if path in self.refusals:
            return self.refusals[path], {"error": "as scripted", "url": f"{self.url}{self.address}"}
        if path == "/api/repos/create":
            self.created = json.loads(body)
            return 200, {"url": f"{self.url}{self.address}", "id": REPO}
        if path == f"/api/{self.kind}/{REPO}":
            return 200, {"id": REPO, "private": self.private, "sha": COMMIT, "siblings": []}
        if path.startswith(f"/api/{self.kind}/{REPO}/tree/main"):
            return 200, [{"type": "file", "path": name, "size": 1, "oid": "0" * 40} for name in self.files]
        if path == "/api/validate-yaml":
            return 200, {"errors": [], "warnings": []}
        if path == f"/api/{self.kind}/{REPO}/preupload/main":
            names = [file["path"] for file in json.loads(body)["files"]]
            return 200, {"files": [{"path": n, "uploadMode": "regular", "shouldIgnore": False} for n in names]}
        if path == f"/api/{self.kind}/{REPO}/commit/main":
            self.take(body)
            return 200, {
                "success": True,
                "commitUrl": f"{self.url}{self.address}/commit/{COMMIT}",
                "commitOid": COMMIT,
                "hookOutput": "",
            }
        return 404, {"error": f"the test's hub has no {path}"}

    def take(self, body: bytes) -> None:
        for line in map(json.loads, body.splitlines()):
            if line["key"] == "file":
                self.uploaded[line["value"]["path"]] = base64.b64decode(line["value"]["content"])
            elif line["key"] in ("deletedFile", "deletedFolder"):
                self.deleted.append(line["value"]["path"])


@contextmanager
def serving(kind: str) -> Iterator[FakeHub]:
    """A Hub that is up for as long as the block lasts."""
    fake = FakeHub(kind)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            length = int(self.headers.get("Content-Length", 0))
            status, content = fake.reply(urlparse(self.path).path, self.rfile.read(length))
            payload = json.dumps(content).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(payload)))
            self.end_headers()
            self.wfile.write(payload)

        do_POST = do_GET

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    server = QuietServer(("127.0.0.1", 0), Handler)
    fake.url = f"http://127.0.0.1:{server.server_port}"
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    try:
        yield fake
    finally:
        server.shutdown()
        server.server_close()


def api(hub: FakeHub) -> Any:
    """A client of it, with a token."""
    from huggingface_hub import HfApi

    return HfApi(endpoint=hub.url, token="hf_made_up")
