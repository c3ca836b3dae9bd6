"""Watches the oplog: how far the query's place is from its oldest entry."""

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
    """Seconds since 1970 of the oldest entry, and spans of time in seconds: what the oplog holds,
    how old the query's place is, and how long the oplog still holds what follows it (`remaining`,
    if it stays as long as it is)."""

    oldest: int
    window: int
    age: int
    remaining: int

    def to_json(self) -> dict[str, Any]:
        """The values by the names of the fields."""
        return asdict(self)


def read_window(client: Client, delivered: int) -> OplogWindow | None:
    """The oplog and a place in it (seconds since 1970); None if no oplog can be seen, on a sharded
    cluster for example. Raises the driver's errors."""
    oplog = client.local["oplog.rs"]
    try:
        with pymongo.timeout(_TIMEOUT_SECONDS):
            entries = [
                oplog.find_one({}, {"ts": 1}, sort=[("$natural", way)])
                for way in (pymongo.ASCENDING, pymongo.DESCENDING)
            ]
    except OperationFailure as error:
        if error.code == _ILLEGAL_OPERATION:
            return None  # no mongos lets anybody use the database `local`
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
    """A watch as often as headrace.oplog.watch.interval says; None: never."""
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
        # A place that is as new as the oplog's end is safe, however short the oplog is.
        if oplog.remaining >= least or oplog.age * 2 < oplog.remaining:
            return None
        return (
            f"the oplog may lose the query's place soon: it holds {oplog.window:,} s, and what "
            f"follows the place for {max(0, oplog.remaining):,} s more. Let the query catch up, or "
            "let the oplog hold more: db.adminCommand({replSetResizeOplog: 1, size: MEGABYTES})"
        )

    seconds = config.headrace_oplog_watch_interval / 1000
    return RetentionWatch(look, warning, disconnect, seconds) if seconds else None
