"""What became of signals, told by the source process that heeded them: `headrace signal --wait`."""

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
from headrace.signals.notifications import HEEDED, IGNORED
from headrace.spark.query.told import told_path, told_paths

_KIND = "signals"
_MOST_BYTES = 1 << 20
_LOOK_SECONDS = 0.1
_ENDS = (IGNORED, "COMPLETED", "ABORTED")


@dataclass(frozen=True)
class Outcome:
    """`kind` is HEEDED, IGNORED, or the type of a notification (STARTED, COMPLETED, …); `data` is
    what was said with it."""

    signal: str
    kind: str
    data: Mapping[str, str]


class SignalJournal:
    """The journal of this process, a line for each outcome; the oldest ones go."""

    def __init__(self, config: ConnectorConfig) -> None:
        self._path = told_path(_name(config), _KIND)
        if self._path is not None:
            with contextlib.suppress(OSError):
                self._path.touch()

    def write(self, identity: str, kind: str, data: Mapping[str, str]) -> None:
        """An Observer of headrace.signals.notifications; never raises."""
        if self._path is None:
            return
        line = json.dumps({"signal": identity, "kind": kind, "data": dict(data)})
        with contextlib.suppress(OSError):
            if self._path.stat().st_size > _MOST_BYTES:
                self._path.unlink()
            with self._path.open("a") as journal:
                journal.write(f"{line}\n")

    def remove(self) -> None:
        """Never raises."""
        if self._path is not None:
            with contextlib.suppress(OSError):
                self._path.unlink(missing_ok=True)


def wait_for_outcome(config: ConnectorConfig, signal: str, seconds: float) -> Iterator[Outcome]:
    """What becomes of a signal, until it is done with; the last outcome is HEEDED for one that asks
    for no incremental snapshot. Raises HeadraceError("signals.not_heeded") when no query on this
    host heeded it for `seconds`."""
    deadline = Deadline(seconds)
    told = 0
    while True:
        outcomes = [one for path in told_paths(_name(config), _KIND) for one in _read(path)]
        outcomes = [one for one in outcomes if one.signal == signal]
        for outcome in outcomes[told:]:
            yield outcome
            is_all = outcome.kind == HEEDED and outcome.data.get("goes_on") != "true"
            if is_all or outcome.kind in _ENDS:
                return
        told = max(told, len(outcomes))
        if not told and deadline.is_over:
            raise HeadraceError(
                "signals.not_heeded",
                f"No query of {config.topic_prefix} on this host heeded the signal {signal} within "
                f"{seconds:g} s; it was sent, and may be heeded later",
                "Start the query, or look at its log if it runs on another host.",
            )
        Deadline(_LOOK_SECONDS).pause(_LOOK_SECONDS)


def _name(config: ConnectorConfig) -> str:
    """Of a connector's server, however it is run."""
    server = f"{config.connector_class}\n{config.topic_prefix}"
    return hashlib.sha256(server.encode()).hexdigest()[:16]


def _read(path: Path) -> Iterator[Outcome]:
    try:
        lines = path.read_text().splitlines()
    except OSError:
        return  # it ended right now
    for line in lines:
        try:
            yield Outcome(**json.loads(line))
        except ValueError:
            return  # is being written
