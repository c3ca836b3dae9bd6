"""The HTTP endpoint: `/metrics`, `/healthz` and `/readyz`. It answers from the state of this
process, in a thread of its own, whatever clients do."""

from __future__ import annotations

import contextlib
import json
import re
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
from headrace.spark.monitoring.clients import Clients
from headrace.spark.monitoring.families import exposition
from headrace.spark.monitoring.report import FAILED, Report

_WAITING_CLIENTS = 32
"""The most connections that the system keeps until the thread accepts them."""
_ORIGIN = re.compile(r"^https?://[^/?]*", re.IGNORECASE)
"""The part before the path in the absolute form of a request."""
_FRESH_S = 1.0
"""Seconds for which one rendering answers every scrape."""
_JSON = "application/json"


class Endpoint:
    """The HTTP server, which listens until `close`, or until the process ends."""

    def __init__(self, address: str, port: int, reports: Callable[[], Sequence[Report]]) -> None:
        """`port` 0: any free one. Raises HeadraceError("spark.metrics_port")."""
        self._reports = reports
        self._rendered: tuple[float, bytes] | None = None
        self._listener = _listener(address, port)
        self._is_closed = False
        self.port = int(self._listener.getsockname()[1])
        host = f"[{address}]" if ":" in address else address
        self.url = f"http://{host}:{self.port}"
        clients = Clients(self._listener, self._response)
        threading.Thread(
            target=clients.serve,
            args=(lambda: self._is_closed,),
            name="headrace-metrics",
            daemon=True,
        ).start()

    def close(self) -> None:
        """Stop listening; never raises."""
        self._is_closed = True
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)  # wakes the thread
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
        now = time.monotonic()
        if self._rendered is None or now - self._rendered[0] >= _FRESH_S:
            self._rendered = now, exposition(self._reports(), time.time())
        return self._rendered[1]

    def _response(self, head: bytes) -> bytes:
        return _Exchange(head, self).response


class _Exchange(BaseHTTPRequestHandler):
    """A request and its response, parsed by the library, from bytes that were received."""

    def __init__(self, head: bytes, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self.client_address, self.requestline = ("", 0), ""
        self.rfile = BytesIO(head)
        self.wfile = self._written = BytesIO()
        self.close_connection = True
        self.handle_one_request()

    @property
    def response(self) -> bytes:
        """The bytes of the response."""
        return self._written.getvalue()

    def do_GET(self) -> None:
        status, kind, body = self._endpoint.answer(_ORIGIN.sub("", self.path).partition("?")[0])
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
