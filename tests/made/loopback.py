"""What stand-ins of servers share: they serve on a free port of this machine, and say nothing."""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Self


class QuietServer(ThreadingHTTPServer):
    """Says nothing of clients that left, and does not wait for scripts that never answer."""

    daemon_threads = True
    block_on_close = False

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that gave up is part of a test."""


class QuietHandler(BaseHTTPRequestHandler):
    """Keeps connections open, and prints nothing."""

    protocol_version = "HTTP/1.1"
    wbufsize = -1  # one packet per reply: two would wait 40 ms for each other

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing: pytest's output is for failures."""


class Loopback:
    """Serves while its `with` lasts."""

    port = 0  # any that is free

    def handler(self) -> type[QuietHandler]:
        """What answers a request."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        self._http = QuietServer(("127.0.0.1", self.port), self.handler())
        threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._http.shutdown()
        self._http.server_close()
