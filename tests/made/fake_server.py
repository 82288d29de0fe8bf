"""A scripted OpenAI-compatible server on loopback: says what it is told to, and remembers what it was asked."""

import json
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from tests.made.loopback import QuietHandler, QuietServer


@dataclass(frozen=True)
class Reply:
    """One HTTP response."""

    status: int = 200
    body: str | bytes = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    more: Iterable[bytes] = ()  # sent behind the body without saying how long it is, until the client has left


def answer(text: str | None, **choice: Any) -> Reply:
    """A chat completion with one choice; keywords go into the choice."""
    filled = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop", **choice}
    return as_json({"choices": [filled], "usage": {"prompt_tokens": 7, "completion_tokens": 3 if text else 0}})


def as_json(content: object, status: int = 200) -> Reply:
    """Any JSON body."""
    return Reply(status, json.dumps(content))


def refusal(status: int, message: str, code: str | None = None, **headers: str) -> Reply:
    """An error as OpenAI's API words it; keywords are headers, `retry_after="1"` being Retry-After."""
    quickly = {} if "retry_after" in headers else {"retry_after_ms": "1"}  # no test waits for a client's pauses
    named = {name.replace("_", "-").title(): value for name, value in {**quickly, **headers}.items()}
    return Reply(status, json.dumps({"error": {"message": message, "code": code}}), named)


Script = Callable[[dict[str, Any], int], Reply]


class FakeServer:
    """Answers GET /v1/models by `models`, POST /tokenize by `tokens`, and every other POST by the script.

    script: (request body, how often the same body was asked before) → Reply; called from many threads.
    """

    def __init__(
        self, script: Script, models: Reply | None = None, tokens: Mapping[str, list[int]] | None = None
    ) -> None:
        self.script = script
        self.models = models or as_json({"data": [{"id": "judge"}]})
        self.tokens = tokens or {}
        self.asked: list[dict[str, Any]] = []
        self.paths: list[str] = []
        self.keys: list[str | None] = []
        self.most_at_once = 0
        self.port = 0  # any that is free
        self._at_once = 0
        self._lock = threading.Lock()
        self._is_dead = False
        self._runs = threading.Event()
        self._runs.set()

    @property
    def base_url(self) -> str:
        """Where clients find it."""
        return f"http://127.0.0.1:{self.port}/v1"

    def freeze(self) -> None:
        """Take connections and requests, and say nothing any more, as a process that was stopped."""
        self._runs.clear()

    def thaw(self) -> None:
        """Go on."""
        self._runs.set()

    def kill(self) -> None:
        """Break off every connection and take none."""
        self._is_dead = True
        self._http.shutdown()
        self._http.server_close()

    def start(self) -> None:
        """Serve, at the port of the first time."""
        self._is_dead = False
        self._http = QuietServer(("127.0.0.1", self.port), self._handler)
        self.port = self._http.server_port
        threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()

    def texts(self) -> list[str]:
        """The last message of every request, in the order they came."""
        return [body["messages"][-1]["content"] for body in self.asked]

    def reply(self, path: str, body: dict[str, Any]) -> Reply:
        """Record a request and have the script answer it."""
        if path == "/tokenize":
            return as_json({"tokens": self.tokens[body["prompt"]]}) if self.tokens else Reply(404)
        with self._lock:
            n_before = self.asked.count(body)
            self.asked.append(body)
            self.paths.append(path)
            self._at_once += 1
            self.most_at_once = max(self.most_at_once, self._at_once)
        try:
            return self.script(body, n_before)
        finally:
            with self._lock:
                self._at_once -= 1

    def __enter__(self) -> Self:
        fake = self

        class Handler(QuietHandler):
            def handle_one_request(self) -> None:
                super().handle_one_request()
                self.close_connection |= fake._is_dead

            def do_GET(self) -> None:
                fake._runs.wait()
                self.send({"/v1/models": fake.models, "/health": Reply()}.get(self.path, Reply(404)))

            def do_POST(self) -> None:
                fake.keys.append(self.headers["Authorization"])
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                fake._runs.wait()
                self.send(fake.reply(self.path, body))

            def send(self, reply: Reply) -> None:
                if fake._is_dead:
                    self.connection.close()
                    return
                payload = reply.body.encode() if isinstance(reply.body, str) else reply.body
                self.send_response(reply.status)
                length = {"Connection": "close"} if reply.more else {"Content-Length": str(len(payload))}
                for name, value in {"Content-Type": "application/json", **length, **reply.headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(payload)
                for part in reply.more:
                    self.wfile.write(part)
                    self.wfile.flush()

        self._handler = Handler
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.thaw()
        if not self._is_dead:
            self.kill()
