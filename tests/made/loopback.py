"""What stand-ins of servers share: they serve on a free port of this machine, and say nothing."""

import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass(frozen=True)
class Reply:
    """One HTTP response."""

    status: int = 200
    body: str | bytes = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    more: Iterable[bytes] = ()  # sent behind the body without saying how long it is, until the client has left


class QuietServer(ThreadingHTTPServer):
    """Says nothing of clients that left, and does not wait for scripts that never answer."""

    daemon_threads = True
    block_on_close = False

    def handle_error(self, request, client_address):
        """A client that gave up is part of a test."""


class QuietHandler(BaseHTTPRequestHandler):
    """Keeps connections open, and prints nothing."""

    protocol_version = "HTTP/1.1"
    wbufsize = -1  # one packet per reply: two would wait 40 ms for each other

    def log_message(self, format, *args):
        """Say nothing: pytest's output is for failures."""

    def send(self, reply):
        """Answer the request."""
        payload = reply.body.encode() if isinstance(reply.body, str) else reply.body
        ends = {"Connection": "close"} if reply.more or self.close_connection else {}
        length = {} if reply.more else {"Content-Length": str(len(payload))}
        self.send_response(reply.status)
        for name, value in {"Content-Type": "application/json", **ends, **length, **reply.headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(payload)
        for part in reply.more:
            self.wfile.write(part)
            self.wfile.flush()


class Loopback:
    """Serves while its `with` lasts."""

    port = 0  # any that is free

    def __init__(self):
        self.faults = {}  # part of a path → what is wrong with the next replies there, used up one request at a time
        self.lock = threading.Lock()

    @property
    def base(self):
        """Its address."""
        return f"http://127.0.0.1:{self._http.server_port}"

    def fault(self, path):
        """The next fault for a path; None where there is none."""
        with self.lock:
            return next((faults.pop(0) for part, faults in self.faults.items() if part in path and faults), None)

    def handler(self):
        """What answers a request."""
        raise NotImplementedError

    def __enter__(self):
        self._http = QuietServer(("127.0.0.1", self.port), self.handler())
        threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        return self

    def __exit__(self, *_):
        self._http.shutdown()
        self._http.server_close()
