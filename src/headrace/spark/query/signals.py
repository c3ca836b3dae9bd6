"""Outcomes of signals, as the source process reports them: `headrace signal --wait`."""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from headrace.config.properties.connector import ConnectorConfig
from headrace.connect.deadline import Deadline
from headrace.errors import HeadraceError
from headrace.signals.notifications import APPLIED, IGNORED
from headrace.spark.query.status_files import live_files, own_file

_KIND = "signals"
_MAX_BYTES = 1 << 20
_LOOK_SECONDS = 0.1
_ENDS = (IGNORED, "COMPLETED", "ABORTED")


@dataclass(frozen=True)
class SignalOutcome:
    """An outcome of a signal. `kind` is APPLIED, IGNORED, or the type of a notification (STARTED,
    COMPLETED, …); `data` is its additional data."""

    signal: str
    kind: str
    data: Mapping[str, str]


class SignalJournal:
    """The journal of this process, a numbered line for each outcome; the older half is removed if
    the file becomes large."""

    def __init__(self, config: ConnectorConfig) -> None:
        self._number = 0
        self._path = own_file(_name(config), _KIND)
        if self._path is not None:
            with contextlib.suppress(OSError):
                self._path.touch()

    def write(self, identity: str, kind: str, data: Mapping[str, str]) -> None:
        """Write an outcome, as an Observer of headrace.signals.notifications; never raises."""
        if self._path is None:
            return
        self._number += 1
        line = json.dumps(
            {"number": self._number, "signal": identity, "kind": kind, "data": dict(data)}
        )
        with contextlib.suppress(OSError):
            if self._path.stat().st_size > _MAX_BYTES:
                self._halve(self._path)
            with self._path.open("a") as journal:
                journal.write(f"{line}\n")

    @staticmethod
    def _halve(path: Path) -> None:
        lines = path.read_text().splitlines(keepends=True)
        newer = path.with_name(f".{path.name}")
        newer.write_text("".join(lines[len(lines) // 2 :]))
        newer.replace(path)

    def remove(self) -> None:
        """Remove the file. Never raises."""
        if self._path is not None:
            with contextlib.suppress(OSError):
                self._path.unlink(missing_ok=True)


def wait_for_outcome(
    config: ConnectorConfig, signal: str, seconds: float
) -> Iterator[SignalOutcome]:
    """Yield the outcomes of a signal, until its work is done; the last outcome is APPLIED if the
    signal does not request an incremental snapshot. A restarted source process reports the later
    ones.

    Raises HeadraceError: "signals.not_heeded" if no query on this host applied it for `seconds`;
    "signals.query_ended" if one did, and for `seconds` none has been running.
    """
    deadline = Deadline(seconds)
    last_numbers: dict[Path, int] = {}
    is_applied = False
    while True:
        running = list(live_files(_name(config), _KIND))
        for path in running:
            for number, outcome in _read(path, signal, last_numbers.get(path, 0)):
                last_numbers[path], is_applied = number, True
                yield outcome
                is_all = outcome.kind == APPLIED and outcome.data.get("goes_on") != "true"
                if is_all or outcome.kind in _ENDS:
                    return
        if is_applied and running:
            deadline = Deadline(seconds)
        if deadline.is_over:
            raise _unfinished(config, signal, seconds, is_applied=is_applied)
        Deadline(_LOOK_SECONDS).pause(_LOOK_SECONDS)


def _unfinished(
    config: ConnectorConfig, signal: str, seconds: float, *, is_applied: bool
) -> HeadraceError:
    if is_applied:
        return HeadraceError(
            "signals.query_ended",
            f"The query of {config.topic_prefix} that took up the signal {signal} has ended, and "
            f"no other one has been running on this host for {seconds:g} s",
            "Start the query with the same checkpoint: it continues with the signal's work.",
        )
    return HeadraceError(
        "signals.not_heeded",
        f"No query of {config.topic_prefix} on this host took up the signal {signal} within "
        f"{seconds:g} s; it was sent, and may be taken up later",
        "Start the query, or look at its log if it runs on another host.",
    )


def _name(config: ConnectorConfig) -> str:
    """Return a file name for a connector's server, however the connector is run."""
    server = f"{config.connector_class}\n{config.topic_prefix}"
    return hashlib.sha256(server.encode()).hexdigest()[:16]


def _read(path: Path, signal: str, after: int) -> Iterator[tuple[int, SignalOutcome]]:
    """Yield a signal's outcomes in a journal after the line `after`, with the line numbers."""
    try:
        lines = path.read_text().splitlines()
    except OSError:
        return  # the process has just ended
    for line in lines:
        try:
            members = json.loads(line)
        except ValueError:
            return  # the line is being written
        if members["number"] > after and members["signal"] == signal:
            yield members["number"], SignalOutcome(signal, members["kind"], members["data"])
