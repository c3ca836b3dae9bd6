"""An error that ends a run is known before Spark has ended."""

from __future__ import annotations

import json
import time
from http.client import HTTPConnection
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from headrace.cli import main, sinks
from headrace.cli.pipeline import Pipeline
from headrace.errors import HeadraceError

WITHIN_S = 60


class EndingSession:
    """A session that notes what is known of the query while its JVM ends."""

    def __init__(self, state: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.spark = None
        self.errors: list[dict[str, Any]] = []
        self.health, self.status = 0, 0
        self.report: dict[str, Any] = {}
        self._state, self._capsys = state, capsys

    def close(self) -> None:
        lines = [json.loads(line) for line in self._capsys.readouterr().err.splitlines()]
        self.errors = [line for line in lines if line["level"] == "error"]
        port = next(line["metrics_port"] for line in lines if "metrics_port" in line)
        connection = HTTPConnection("127.0.0.1", port, timeout=WITHIN_S)
        connection.request("GET", "/healthz")
        self.health = connection.getresponse().status
        connection.close()
        file, latest = self._state / "status.json", time.monotonic() + WITHIN_S
        while not file.exists() or json.loads(file.read_text())["state"] != "failed":
            assert time.monotonic() < latest
            time.sleep(0.1)
        self.status = main(["status", str(self._state), "--json", "--fail-on-errors"])
        self.report = json.loads(self._capsys.readouterr().out)


@pytest.mark.spark
def test_a_fatal_error_is_written_and_reported_before_the_jvm_ends_and_written_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file, state = tmp_path / "shop.properties", tmp_path / "state"
    file.write_text(
        "connector.class=postgresql\ntopic.prefix=s\ndatabase.hostname=127.0.0.1\n"
        "database.port=1\ndatabase.user=u\ndatabase.password=p\ndatabase.dbname=d\n"
    )
    session = EndingSession(state, capsys)

    def supervise(*_: object, **__: object) -> SimpleNamespace:
        raise HeadraceError("postgresql.slot_lost", "The slot is lost", "Begin again.")

    monkeypatch.setattr(Pipeline, "validate", lambda *_: None)
    monkeypatch.setattr(sinks, "open_session", lambda *_, **__: session)
    monkeypatch.setattr(sinks, "supervise", supervise)
    words = ["--checkpoint", str(state), "--metrics-port", "0", "--log-format", "json"]
    assert main(["run", str(file), *words]) == 1
    assert [error["code"] for error in session.errors] == ["postgresql.slot_lost"]
    assert (session.health, session.status) == (503, 1)
    assert session.report["state"] == "failed"
    assert session.report["error"]["code"] == "postgresql.slot_lost"
    assert capsys.readouterr().err == ""
    assert json.loads((state / "status.json").read_text())["state"] == "failed"
