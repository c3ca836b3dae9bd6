"""A `headrace run` whose endpoint is asked."""

from __future__ import annotations

import json
import queue
import subprocess
import threading
import time
from collections.abc import Callable
from http.client import HTTPConnection
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.servers.sources import SECRET

WITHIN_S = 300


class Run:
    """A `headrace run` with a JSON log, and its endpoint."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.log: list[dict[str, Any]] = []
        self._lines: queue.Queue[dict[str, Any] | None] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()
        first = self.await_line(lambda line: "metrics_port" in line)
        self.port = first["metrics_port"]
        assert first["message"] == f"metrics: http://127.0.0.1:{self.port}/metrics"

    def _read(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self._lines.put(json.loads(line))
        self._lines.put(None)

    def await_line(self, condition: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        while (line := self._lines.get(timeout=WITHIN_S)) is not None:
            self.log.append(line)
            if condition(line):
                return line
        pytest.fail(f"the run ended: {self.log}")

    def get(self, path: str) -> tuple[int, str]:
        connection = HTTPConnection("127.0.0.1", self.port, timeout=WITHIN_S)
        try:
            connection.request("GET", path)
            response = connection.getresponse()
            return response.status, response.read().decode()
        finally:
            connection.close()

    def values(self) -> dict[str, float]:
        text = self.get("/metrics")[1]
        assert SECRET not in text
        families = text_string_to_metric_families(text)
        return {sample.name: sample.value for family in families for sample in family.samples}

    def awaited(self, condition: Callable[[], bool]) -> None:
        latest = time.monotonic() + WITHIN_S
        while not condition():
            assert self.process.poll() is None, self._said()
            assert time.monotonic() < latest, f"{self.get('/readyz')} {self._said()}"
            time.sleep(0.1)

    def _said(self) -> list[dict[str, Any]]:
        while not self._lines.empty():
            if (line := self._lines.get()) is not None:
                self.log.append(line)
        return self.log
