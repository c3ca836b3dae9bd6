"""Watches the oplog: the distance of the query's position from its oldest entry."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from typing import Any

import pymongo
from bson.timestamp import Timestamp
from pymongo.errors import OperationFailure

from headrace.connectors.mongodb.config import MongoConfig
from headrace.connectors.mongodb.connection import Client, connect
from headrace.connectors.mongodb.streaming.progress import StreamProgress
from headrace.connectors.retention_watch import RetentionWatch

_TIMEOUT_SECONDS = 5
_ILLEGAL_OPERATION = 20


@dataclass(frozen=True)
class OplogWindow:
    """The time span of the oplog. `oldest` is the time of the oldest entry in seconds since 1970.
    In seconds: `window` is the span of the oplog, `age` the age of the query's position, and
    `remaining` the time for which the oplog still holds the changes after it, if its span does not
    change."""

    oldest: int
    window: int
    age: int
    remaining: int

    def to_json(self) -> dict[str, Any]:
        """The values by field name."""
        return asdict(self)


def read_window(client: Client, delivered: int) -> OplogWindow | None:
    """Read the oplog's window for a position (seconds since 1970); None if no oplog is visible, as
    on a sharded cluster. Raises the driver's errors."""
    oplog = client.local["oplog.rs"]
    try:
        with pymongo.timeout(_TIMEOUT_SECONDS):
            entries = [
                oplog.find_one({}, {"ts": 1}, sort=[("$natural", way)])
                for way in (pymongo.ASCENDING, pymongo.DESCENDING)
            ]
    except OperationFailure as error:
        if error.code == _ILLEGAL_OPERATION:
            return None  # a mongos does not permit to use the database `local`
        raise
    if None in entries:
        return None
    first, last = (entry["ts"] for entry in entries if entry is not None)
    assert isinstance(first, Timestamp)
    return OplogWindow(
        first.time,
        last.time - first.time,
        max(0, int(time.time()) - delivered),
        delivered - first.time,
    )


def watch_oplog(
    config: MongoConfig, progress: StreamProgress
) -> RetentionWatch[OplogWindow] | None:
    """A watch at the interval headrace.oplog.watch.interval; None if that is 0."""
    clients: list[Client] = []

    def disconnect() -> None:
        while clients:
            clients.pop().close()

    def look() -> OplogWindow | None:
        if not progress.acknowledged:
            return None
        if not clients:
            clients.append(connect(config))
        return read_window(clients[0], progress.acknowledged >> 32)

    def warning(oplog: OplogWindow) -> str | None:
        least = config.headrace_oplog_window_min // 1000
        # A position near the oplog's end is safe, however short the oplog is.
        if oplog.remaining >= least or oplog.age * 2 < oplog.remaining:
            return None
        return (
            f"the oplog may lose the query's place soon: it holds {oplog.window:,} s, and what "
            f"follows the place for {max(0, oplog.remaining):,} s more. Let the query catch up, or "
            "let the oplog hold more: db.adminCommand({replSetResizeOplog: 1, size: MEGABYTES})"
        )

    seconds = config.headrace_oplog_watch_interval / 1000
    return RetentionWatch(look, warning, disconnect, seconds) if seconds else None
