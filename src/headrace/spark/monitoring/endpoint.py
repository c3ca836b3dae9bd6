"""The HTTP endpoint: `/metrics`, `/healthz` and `/readyz`. It answers from the state of this
process, with a bounded number of threads, whatever clients do."""

from __future__ import annotations

import contextlib
import json
import logging
import socket
import threading
import time
from collections.abc import Callable, Sequence
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from io import BytesIO
from typing import Any

from prometheus_client import CONTENT_TYPE_PLAIN_0_0_4

from headrace.errors import HeadraceError
from headrace.spark.monitoring.families import exposition
from headrace.spark.monitoring.report import FAILED, Report

log = logging.getLogger(__name__)

_THREADS = 4
_WAITING_CLIENTS = 32
"""The most connections that the system keeps until a thread is free."""
_REQUEST_S, _RESPONSE_S = 5.0, 10.0
"""Seconds that a client may take for its request, and for receiving the response."""
_MOST_BYTES = 16 << 10
"""The most bytes of a request, which has no body."""
_FRESH_S = 1.0
"""Seconds for which one rendering answers every scrape."""
_RETRY_S = 0.5
_JSON = "application/json"


class Endpoint:
    """The HTTP server, which listens until `close`, or until the process ends."""

    def __init__(self, address: str, port: int, reports: Callable[[], Sequence[Report]]) -> None:
        """`port` 0: any free one. Raises HeadraceError("spark.metrics_port")."""
        self._reports = reports
        self._lock = threading.Lock()
        self._rendered: tuple[float, bytes] | None = None
        self._listener = _listener(address, port)
        self._is_closed = False
        self.port = int(self._listener.getsockname()[1])
        host = f"[{address}]" if ":" in address else address
        self.url = f"http://{host}:{self.port}"
        for number in range(_THREADS):
            threading.Thread(
                target=self._serve, name=f"headrace-metrics-{number}", daemon=True
            ).start()

    def close(self) -> None:
        """Stop listening; never raises."""
        self._is_closed = True
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)  # wakes the threads
        with contextlib.suppress(OSError):
            self._listener.close()

    def answer(self, path: str) -> tuple[HTTPStatus, str, bytes]:
        """Return status, content type and body of a path."""
        if path == "/metrics":
            return HTTPStatus.OK, CONTENT_TYPE_PLAIN_0_0_4, self._metrics()
        if path == "/healthz":
            return _health(self._reports())
        if path == "/readyz":
            return _readiness(self._reports())
        return _json(HTTPStatus.NOT_FOUND, {"paths": ["/metrics", "/healthz", "/readyz"]})

    def _metrics(self) -> bytes:
        with self._lock:
            now = time.monotonic()
            if self._rendered is None or now - self._rendered[0] >= _FRESH_S:
                self._rendered = now, exposition(self._reports(), time.time())
            return self._rendered[1]

    def _serve(self) -> None:
        while not self._is_closed:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                if not self._is_closed:
                    time.sleep(_RETRY_S)  # too many open files, for example
                continue
            with connection:
                try:
                    _Exchange(connection, self)
                except OSError:
                    pass  # the client is gone
                except Exception:  # another request may succeed
                    log.warning("a request for metrics failed", exc_info=True)


class _Exchange(BaseHTTPRequestHandler):
    """A request and its response, parsed by the library, from bytes that were received in time."""

    def __init__(self, connection: socket.socket, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self.client_address, self.requestline = ("", 0), ""
        head = _head(connection)
        if head is None:
            return
        self.rfile = BytesIO(head)
        self.wfile = response = BytesIO()
        self.close_connection = True
        self.handle_one_request()
        connection.settimeout(_RESPONSE_S)
        connection.sendall(response.getvalue())

    def do_GET(self) -> None:
        status, kind, body = self._endpoint.answer(self.path.partition("?")[0])
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        self.send_header("Connection", "close")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    do_HEAD = do_GET

    def version_string(self) -> str:
        """Return the header `Server`."""
        return "headrace"

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Do nothing: requests are not logged."""


def _head(connection: socket.socket) -> bytes | None:
    """Return a client's request up to the empty line; None if the client ends, or takes too long. A
    request that is too large is truncated, and refused for that."""
    deadline = time.monotonic() + _REQUEST_S
    head = b""
    while b"\r\n\r\n" not in head and b"\n\n" not in head:
        left = deadline - time.monotonic()
        if left <= 0:
            return None
        connection.settimeout(left)
        more = connection.recv(4096)
        if not more:
            return None
        head += more
        if len(head) > _MOST_BYTES:
            return b"GET /too-large HTTP/1.0\r\n" + b"x: y\r\n" * 200 + b"\r\n"
    return head


def _listener(address: str, port: int) -> socket.socket:
    try:
        addresses = socket.getaddrinfo(
            address, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
        family, _, _, _, target = addresses[0]
        return socket.create_server(target[:2], family=family, backlog=_WAITING_CLIENTS)
    except (OSError, OverflowError) as error:
        reason = _reason(error)
        raise HeadraceError(
            "spark.metrics_port",
            f"Metrics cannot be served at {address}, port {port}: {reason}",
            "Name another port, or 0 for any free one, and an address of this host "
            "(--metrics-port, --metrics-address).",
        ) from None


def _reason(error: Exception) -> str:
    """Return the error's reason without the address, which Python adds."""
    return (getattr(error, "strerror", None) or str(error)).partition(" (")[0]


def _health(reports: Sequence[Report]) -> tuple[HTTPStatus, str, bytes]:
    """Return the response of `/healthz`: OK if no query has failed."""
    is_well = all(report.state != FAILED for report in reports)
    status = HTTPStatus.OK if is_well else HTTPStatus.SERVICE_UNAVAILABLE
    return _json(status, {"status": "ok" if is_well else "failed", "queries": _queries(reports)})


def _readiness(reports: Sequence[Report]) -> tuple[HTTPStatus, str, bytes]:
    """Return the response of `/readyz`: OK if every query that has not been stopped works."""
    running = [report for report in reports if report.state != "stopped"]
    is_ready = bool(running) and all(report.is_ready for report in running)
    status = HTTPStatus.OK if is_ready else HTTPStatus.SERVICE_UNAVAILABLE
    members = {"status": "ready" if is_ready else "not ready", "queries": _queries(reports)}
    return _json(status, members)


def _queries(reports: Sequence[Report]) -> list[dict[str, Any]]:
    """Return the queries without messages, which may contain names from a database."""
    return [
        {"query": report.name or report.query, "state": report.state}
        | ({} if report.error is None else {"error": report.error["code"]})
        for report in reports
    ]


def _json(status: HTTPStatus, members: dict[str, Any]) -> tuple[HTTPStatus, str, bytes]:
    return status, _JSON, json.dumps(members).encode() + b"\n"
