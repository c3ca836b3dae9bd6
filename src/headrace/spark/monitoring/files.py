"""Files of reports for other processes: one for each running query, in a folder of its user, and
one in the state folder of a command, which survives it."""

from __future__ import annotations

import contextlib
import hashlib
import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headrace.spark.checkpoint import checkpoint_in, finished_batch, query_id
from headrace.spark.monitoring.process import is_running
from headrace.spark.monitoring.report import Report
from headrace.spark.query.status_files import live_files, own_file

STATUS = "status.json"
_KIND = "query"
_CHECKPOINT = "checkpoint"
_AGAIN_S = 10.0
"""Seconds after which an unchanged report is written again, to show that its process lives."""


class ReportFile:
    """The report of one query of this process. Never raises: the query continues without it."""

    def __init__(
        self, name: str, folder: Path | None = None, clock: Callable[[], float] = time.time
    ) -> None:
        """`name` distinguishes the queries of a process. `folder` is the query's state folder."""
        short = hashlib.sha256(name.encode()).hexdigest()[:16]
        self._own = own_file(short, _KIND)
        self._status = None if folder is None else folder / STATUS
        self._clock = clock
        self._written: dict[str, Any] = {}
        self._at = 0.0

    def write(self, report: Report) -> None:
        """Replace the former report, if something has changed or it is due."""
        members = report.to_json()
        now, said = (
            self._clock(),
            {name: member for name, member in members.items() if name != "time"},
        )
        if said == self._written and now - self._at < _AGAIN_S:
            return
        self._written, self._at = said, now
        text = json.dumps(members)
        for path in (self._own, self._status):
            if path is not None:
                _replace(path, text)

    def end(self, report: Report) -> None:
        """Write the last report, because the query is over, or this process is about to end."""
        self._written = {}
        self.write(report)
        self.remove()

    def remove(self) -> None:
        """Remove the file of this process; the one in the state folder stays."""
        if self._own is not None:
            with contextlib.suppress(OSError):
                self._own.unlink(missing_ok=True)


def _replace(path: Path, text: str) -> None:
    # The name keeps the process id of a file of `own_file`, which a starting process looks for.
    fresh = path.with_suffix(".new")
    with contextlib.suppress(OSError):
        fresh.write_text(text)
        fresh.replace(path)


@dataclass(frozen=True)
class Known:
    """The known state of the query of a checkpoint. `report` is the last one (None: it was never
    reported); `batch` is the last finished micro-batch (-1: none), since `committed` (s since
    1970). `is_running`: its process runs, and so does the query."""

    report: Report | None
    is_running: bool
    batch: int = -1
    committed: float | None = None


def running_reports() -> list[Report]:
    """Return the reports of all queries of this user that run on this host and report."""
    return [report for report in _live_reports() if not report.is_over]


def known_of(folder: Path) -> Known | None:
    """Return the state of the query of a state folder, or of a checkpoint of Spark; None for any
    other folder."""
    folder = folder.absolute()
    checkpoint = checkpoint_in(folder)
    state = folder.parent if folder.name == _CHECKPOINT and _has_status(folder.parent) else folder
    query = query_id(checkpoint)
    if not query and not _has_status(state):
        return None
    batch = finished_batch(checkpoint)
    committed = None
    with contextlib.suppress(OSError):
        committed = (checkpoint / "commits" / str(batch)).stat().st_mtime
    for report in _live_reports():
        if report.checkpoint == str(state) or (query and report.query == query):
            return Known(report, not report.is_over, batch, committed)
    last = _read(state / STATUS)
    runs = last is not None and not last.is_over
    if runs and last is not None:
        runs = is_running(last.process, last.time, time.time())
    return Known(last, runs, batch, committed)


def _live_reports() -> Iterator[Report]:
    """Yield the reports whose own processes run: another process may have the id of one that was
    killed."""
    now = time.time()
    for path in live_files("*", _KIND):
        report = _read(path)
        if report is not None and is_running(report.process, report.time, now):
            yield report


def _has_status(folder: Path) -> bool:
    return (folder / STATUS).is_file()


def _read(path: Path) -> Report | None:
    """Return the report of a file; None if the file is missing or not a report."""
    try:
        return Report.from_json(json.loads(path.read_text()))
    except (OSError, ValueError, TypeError, RecursionError):
        return None
