"""Keeps the files and the endpoint of this process's queries up to date, in threads of its own."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from headrace.spark.monitoring.files import ReportFile
from headrace.spark.monitoring.observed import ObservedQuery
from headrace.spark.monitoring.report import Report

if TYPE_CHECKING:
    from headrace.spark.monitoring.endpoint import Endpoint

log = logging.getLogger(__name__)

LOOPBACK = "127.0.0.1"
_LOOK_S = 2.0


class Monitor:
    """Updates reports. `queries` returns the observed queries by unique names. A thread polls them
    every two seconds and writes files; the endpoint answers by itself."""

    def __init__(
        self,
        queries: Callable[[], Mapping[str, ObservedQuery]],
        *,
        address: str = LOOPBACK,
        port: int | None = None,
        folder: Path | None = None,
    ) -> None:
        """`port` None: no endpoint. `folder` is the state folder of the only query. Raises
        HeadraceError("spark.metrics_port")."""
        self._queries, self._folder = queries, folder
        self._files: dict[str, ReportFile] = {}
        self._endpoint = None if port is None else _endpoint(address, port, self.reports)
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="headrace-monitor", daemon=True)
        self._thread.start()

    @property
    def url(self) -> str | None:
        """The URL of the endpoint; None without an endpoint."""
        return None if self._endpoint is None else self._endpoint.url

    @property
    def port(self) -> int | None:
        """The port of the endpoint."""
        return None if self._endpoint is None else self._endpoint.port

    def reports(self) -> list[Report]:
        """Return the reports of the queries that read a source of headrace."""
        return [query.report() for query in self._queries().values() if query.is_ours]

    def close(self) -> None:
        """Write the last reports, and stop; never raises."""
        self._ended.set()
        self._thread.join(_LOOK_S)
        if self._endpoint is not None:
            self._endpoint.close()
        queries = self._queries()
        self._remove_others(queries)
        for name, query in queries.items():
            if query.is_ours:
                self._file(name).end(query.report())

    def _run(self) -> None:
        has_failed = False
        while not self._ended.wait(_LOOK_S):
            try:
                self._look()
            except Exception:  # the queries continue without it
                if not has_failed:
                    log.warning("the state of a query cannot be reported", exc_info=True)
                has_failed = True

    def _look(self) -> None:
        queries = self._queries()
        self._remove_others(queries)
        for name, query in queries.items():
            query.look()
            if query.is_ours:
                self._file(name).write(query.report())

    def _remove_others(self, queries: Mapping[str, ObservedQuery]) -> None:
        """Remove the files of queries that are no longer observed."""
        for name in [known for known in list(self._files) if known not in queries]:
            self._files.pop(name).remove()

    def _file(self, name: str) -> ReportFile:
        if name not in self._files:
            self._files[name] = ReportFile(name, self._folder)
        return self._files[name]


def _endpoint(address: str, port: int, reports: Callable[[], list[Report]]) -> Endpoint:
    from headrace.spark.monitoring.endpoint import Endpoint

    return Endpoint(address, port, reports)
