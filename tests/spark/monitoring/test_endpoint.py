"""The endpoint answers well-behaved clients, whatever others do."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
from collections.abc import Iterator
from http.client import HTTPConnection

import pytest

from headrace.errors import HeadraceError
from headrace.spark.monitoring import clients
from headrace.spark.monitoring.endpoint import Endpoint
from headrace.spark.monitoring.report import Report
from tests.spark.monitoring.reports import report

SECRET = "hidden-word"
WITHIN_S = 60


class Answers:
    """Endpoint and what it answers from."""

    def __init__(self) -> None:
        self.reports: list[Report] = [report()]
        self.asked = 0
        self.endpoint = Endpoint("127.0.0.1", 0, self._now)

    def _now(self) -> list[Report]:
        self.asked += 1
        return self.reports

    def get(self, path: str, method: str = "GET") -> tuple[int, str]:
        connection = HTTPConnection("127.0.0.1", self.endpoint.port, timeout=WITHIN_S)
        try:
            connection.request(method, path)
            response = connection.getresponse()
            return response.status, response.read().decode()
        finally:
            connection.close()

    def connect(self, sent: bytes = b"") -> socket.socket:
        client = socket.create_connection(("127.0.0.1", self.endpoint.port), timeout=WITHIN_S)
        client.sendall(sent)
        return client


@pytest.fixture
def answers() -> Iterator[Answers]:
    new_answers = Answers()
    yield new_answers
    new_answers.endpoint.close()


def threads() -> int:
    return sum(thread.name.startswith("headrace-metrics") for thread in threading.enumerate())


def test_metrics_health_and_readiness_are_served(answers: Answers) -> None:
    status, text = answers.get("/metrics")
    assert status == 200
    assert "# TYPE headrace_lag_seconds gauge" in text
    assert answers.get("/healthz")[0] == answers.get("/readyz?verbose")[0] == 200
    status, text = answers.get("/")
    assert (status, json.loads(text)["paths"]) == (404, ["/metrics", "/healthz", "/readyz"])
    assert answers.get("/healthz", "HEAD") == (200, "")
    assert answers.get("HTTP://127.0.0.1:1/healthz?verbose")[0] == 200
    assert answers.get("http://elsewhere/metrics")[0] == 200
    assert answers.get("http://elsewhere")[0] == 404
    assert answers.get("/metrics", "POST")[0] == 501


@pytest.mark.parametrize(
    ("state", "health", "readiness"),
    [("starting", 200, 503), ("snapshotting", 200, 200), ("streaming", 200, 200),
     ("restarting", 200, 503), ("failed", 503, 503), ("stopped", 200, 503)],
)  # fmt: skip
def test_states_have_their_status(
    answers: Answers, state: str, health: int, readiness: int
) -> None:
    answers.reports = [report(state=state)]
    assert answers.get("/healthz")[0] == health
    assert answers.get("/readyz")[0] == readiness


def test_without_a_query_it_is_healthy_and_not_ready(answers: Answers) -> None:
    answers.reports = []
    assert answers.get("/healthz")[0] == 200
    assert answers.get("/readyz")[0] == 503
    assert answers.get("/metrics") == (200, "")


def test_an_error_is_shown_by_its_code_alone(answers: Answers) -> None:
    error = {"code": "postgresql.authentication", "message": SECRET, "remedy": SECRET}
    answers.reports = [report(error=error, warnings=(SECRET,), waits=SECRET)]
    texts = [answers.get(path)[1] for path in ("/healthz", "/readyz", "/metrics")]
    assert all("postgresql.authentication" in text for text in texts)
    assert not any(SECRET in text for text in texts)


def test_one_rendering_answers_scrapes_that_come_together(answers: Answers) -> None:
    for _ in range(200):
        answers.get("/metrics")
    assert answers.asked < 100


def test_clients_that_send_no_whole_request_delay_no_other_one(
    answers: Answers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clients, "_REQUEST_S", 10 * WITHIN_S)
    before = threads()
    idle = [answers.connect(sent) for sent in (b"", b"GET /metrics HTTP/1.1\r\nX-") * 20]
    assert answers.get("/metrics")[0] == answers.get("/healthz")[0] == 200
    assert threads() <= before  # those of other tests may end
    for client in idle:
        client.close()
    assert answers.get("/healthz")[0] == 200


def test_too_many_open_connections_end_the_oldest_idle_one(
    answers: Answers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clients, "_REQUEST_S", 10 * WITHIN_S)
    idle = [answers.connect() for _ in range(clients._MOST)]
    assert answers.get("/healthz")[0] == 200
    assert idle[0].recv(1) == b""
    idle[1].sendall(b"GET /healthz HTTP/1.1\r\n\r\n")
    assert idle[1].recv(12) == b"HTTP/1.0 200"
    for client in idle:
        client.close()


def test_a_request_that_is_never_whole_is_ended_however_often_a_part_comes(
    answers: Answers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clients, "_REQUEST_S", 0.5)
    slow = [answers.connect(b"GET /metrics HTTP/1.1\r\nX-") for _ in range(20)]
    stopped = threading.Event()

    def drip() -> None:
        while not stopped.wait(0.1):
            for client in slow:
                with contextlib.suppress(OSError):  # it was ended
                    client.sendall(b"a")

    dripping = threading.Thread(target=drip)
    dripping.start()
    try:
        for client in slow:
            with contextlib.suppress(ConnectionResetError):  # what was left unread
                assert client.recv(1) == b""
    finally:
        stopped.set()
        dripping.join()
        for client in slow:
            client.close()


def test_clients_that_take_no_response_delay_no_other_one(
    answers: Answers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clients, "_RESPONSE_S", 10 * WITHIN_S)
    tables = {f"s.{'t' * 200}{number}": {"changes": 1, "error": None} for number in range(900)}
    answers.reports = [report(query=f"{number}", tables=tables) for number in range(3)]
    deaf = []
    for _ in range(8):
        client = socket.socket()
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.connect(("127.0.0.1", answers.endpoint.port))
        client.sendall(b"GET /metrics HTTP/1.1\r\n\r\n")
        deaf.append(client)
    assert answers.get("/healthz")[0] == 200
    for client in deaf:
        client.close()


def test_a_client_that_takes_no_response_is_ended(
    answers: Answers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clients, "_RESPONSE_S", 0.5)
    monkeypatch.setattr(answers.endpoint, "_metrics", lambda: b"m" * (64 << 20))
    ended = threading.Event()
    end = clients._Client.end

    def noted(client: clients._Client) -> None:
        end(client)
        ended.set()

    monkeypatch.setattr(clients._Client, "end", noted)
    client = answers.connect(b"GET /metrics HTTP/1.1\r\n\r\n")
    assert ended.wait(WITHIN_S)
    client.close()


@pytest.mark.parametrize(
    "sent",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\0" * 300 + b"\r\n\r\n",
        b"GET\r\n\r\n",
        b"GET /metrics HTTP/9.9\r\n\r\n",
        b"GET /metrics HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
        b"GET " + b"/x" * 7000 + b" HTTP/1.1\r\n\r\n",
        b"GET /../../etc/passwd HTTP/1.1\r\n\r\n",
        b"GET http://elsewhere/metrics HTTP/1.1\r\n\r\n",
        b"G\0T /metrics HTTP/1.1\r\n" + b"A: b\r\n" * 300 + b"\r\n",
        b"GET /metrics HTTP/1.1\r\nA: b\r\n\r\nGET /metrics HTTP/1.1\r\n\r\n",
        b"\r\n\r\n",
    ],
    ids=range(10),
)
def test_broken_requests_end_by_themselves(answers: Answers, sent: bytes) -> None:
    client = answers.connect(sent)
    received = b""
    try:
        while piece := client.recv(4096):
            received += piece
    except ConnectionResetError:
        pass  # what was left unread
    client.close()
    assert b"Traceback" not in received
    assert answers.get("/healthz")[0] == 200


def test_a_huge_request_is_cut(answers: Answers) -> None:
    client = answers.connect(b"GET /metrics HTTP/1.1\r\n")
    with pytest.raises((BrokenPipeError, ConnectionResetError)):
        client.sendall(b"X-Header: " + b"a" * (64 << 20) + b"\r\n")
    client.close()
    assert answers.get("/healthz")[0] == 200


def test_a_port_that_is_taken_is_an_error_that_says_so(answers: Answers) -> None:
    port = answers.endpoint.port
    with pytest.raises(HeadraceError) as raised:
        Endpoint("127.0.0.1", port, list)
    assert raised.value.code == "spark.metrics_port"
    assert f"127.0.0.1, port {port}: Address already in use" in raised.value.message
    for address in ("no.such.host.invalid", "203.0.113.7"):
        with pytest.raises(HeadraceError, match="cannot be served"):
            Endpoint(address, 0, list)


def test_closing_ends_the_thread_and_frees_the_port() -> None:
    before = set(threading.enumerate())
    new_answers = Answers()
    (thread,) = set(threading.enumerate()) - before
    new_answers.endpoint.close()
    thread.join(WITHIN_S)
    assert not thread.is_alive()
    Endpoint("127.0.0.1", new_answers.endpoint.port, list).close()
