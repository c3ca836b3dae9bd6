"""A door in front of a schema registry that can be shut, and counts who comes."""

from __future__ import annotations

import base64
import threading
import urllib.error
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Self

USER, WORD = "user", "secret"


def basic(user: str, word: str) -> str:
    """The header of a login."""
    return f"Basic {base64.b64encode(f'{user}:{word}'.encode()).decode()}"


class Door(ThreadingHTTPServer):
    """Asks for USER and WORD, or for another `authorization`, and is out of order for the first
    `failures` requests. `requests` are those that came."""

    def __init__(self, target: str) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.target, self.failures, self.requests = target, 0, 0
        self.authorization = basic(USER, WORD)
        """The header that it asks for."""
        self._thread = threading.Thread(target=self.serve_forever)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    @property
    def url_with_credentials(self) -> str:
        return self.url.replace("//", f"//{USER}:{WORD}@")

    def shut(self) -> None:
        """Out of order from now on."""
        self.failures = 1 << 30

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()
        self._thread.join()
        self.server_close()


class _Handler(BaseHTTPRequestHandler):
    server: Door

    def do_POST(self) -> None:
        self.server.requests += 1
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.server.requests <= self.server.failures:
            self._answer(503)
        elif self.headers["Authorization"] != self.server.authorization:
            self._answer(401)
        else:
            kind = {"Content-Type": self.headers["Content-Type"]}
            request = urllib.request.Request(self.server.target + self.path, body, kind)
            try:
                with urllib.request.urlopen(request, timeout=60) as answer:
                    self._answer(answer.status, answer.read())
            except urllib.error.HTTPError as error:
                self._answer(error.code, error.read())

    def _answer(self, status: int, body: bytes = b"") -> None:
        self.send_response(status)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        pass
