"""The state of an open stream, for metrics."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class StreamState:
    """The state of a stream: whether it is connected, how many row changes made no record, how many
    bytes of log were received and not delivered, the limit of these, and the commit time
    (microseconds since 1970) of the oldest change that was not acknowledged to the database; None:
    no such change."""

    connected: bool
    filtered: int
    queued_bytes: int
    largest_queue_bytes: int
    oldest_unacknowledged_us: int | None
