"""The progress that a change stream reports, for metrics and for the watch over the oplog."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass
class StreamProgress:
    """Progress of all streams of one connector, set by the receiver's thread; others read it.

    `acknowledged` is the clusterTime (seconds << 32 | increment) up to which Spark's checkpoint
    covers all events; 0: not known yet. `disconnects` counts cursors that were lost and replaced,
    `elections` changes of the primary.
    """

    acknowledged: int = 0
    disconnects: int = 0
    elections: int = 0
    empty_polls: int = 0
    event_poll_ms: int = 0
    empty_poll_ms: int = 0
    _election: object = None

    def polled(self, seconds: float, *, is_empty: bool) -> None:
        """Note that the server answered a request for events after so many seconds."""
        if is_empty:
            self.empty_polls += 1
            self.empty_poll_ms = int(seconds * 1000)
        else:
            self.event_poll_ms = int(seconds * 1000)

    def primary_is(self, election: object) -> None:
        """Note the election of the replica set's present primary; None: unknown."""
        if election is None or election == self._election:
            return
        self.elections += self._election is not None
        self._election = election

    def to_json(self) -> dict[str, Any]:
        """The metrics by Debezium's names; times are in milliseconds."""
        return {
            "NumberOfDisconnects": self.disconnects,
            "NumberOfPrimaryElections": self.elections,
            "LastSourceEventPollTime": self.event_poll_ms,
            "LastEmptyPollTime": self.empty_poll_ms,
            "NumberOfEmptyPolls": self.empty_polls,
        }
