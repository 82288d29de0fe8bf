"""A scripted OpenAI-compatible server on loopback: says what it is told to, and remembers what it was asked."""

import json
from typing import Any

from tests.made.loopback import Loopback, QuietHandler, Reply


def answer(text, **choice):
    """A chat completion with one choice; keywords go into the choice."""
    filled = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop", **choice}
    return as_json({"choices": [filled], "usage": {"prompt_tokens": 7, "completion_tokens": 3 if text else 0}})


def as_json(content):
    """Any JSON body."""
    return Reply(body=json.dumps(content))


def refusal(status, message, **headers):
    """An error as OpenAI's API words it; keywords are headers, `retry_after="1"` being Retry-After."""
    quickly = {} if "retry_after" in headers else {"retry_after_ms": "1"}  # no test waits for a client's pauses
    named = {name.replace("_", "-").title(): value for name, value in {**quickly, **headers}.items()}
    return Reply(status, json.dumps({"error": {"message": message}}), named)


def echo(body, n_before):
    """The script that answers "question 3" with "answer to question 3"."""
    return answer(f"answer to {body['messages'][-1]['content']}")


class FakeServer(Loopback):
    """Answers GET /v1/models by `models`, POST /tokenize by `tokens`, and every other POST by the script.

    script: (request body, how often the same body was asked before) → Reply; called from many threads.
    """

    def __init__(self, script, models=None, tokens=None):
        super().__init__()
        self.script = script
        self.models = models or as_json({"data": [{"id": "judge"}]})
        self.tokens = tokens or {}
        self.asked: list[dict[str, Any]] = []
        self.paths: list[str] = []
        self.keys: list[str | None] = []
        self.most_at_once = self._at_once = 0

    @property
    def base_url(self):
        """Where clients find it."""
        return f"{self.base}/v1"

    def texts(self):
        """The last message of every request, in the order they came."""
        return [body["messages"][-1]["content"] for body in self.asked]

    def reply(self, path, body):
        """Record a request and have the script answer it."""
        if path == "/tokenize":
            text = body.get("prompt") or " ".join(message["content"] for message in body["messages"])
            return as_json({"tokens": self.tokens[text]}) if text in self.tokens else Reply(404)
        with self.lock:
            n_before = self.asked.count(body)
            self.asked.append(body)
            self.paths.append(path)
            self._at_once += 1
            self.most_at_once = max(self.most_at_once, self._at_once)
        try:
            return self.script(body, n_before)
        finally:
            with self.lock:
                self._at_once -= 1

    def handler(self):
        fake = self

        class Handler(QuietHandler):
            def do_GET(self):
                self.send({"/v1/models": fake.models, "/health": Reply()}.get(self.path, Reply(404)))

            def do_POST(self):
                fake.keys.append(self.headers["Authorization"])
                self.send(fake.reply(self.path, json.loads(self.rfile.read(int(self.headers["Content-Length"])))))

        return Handler
