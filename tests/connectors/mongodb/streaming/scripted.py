"""Change streams whose server is a list of batches: what no server of the tests can send."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import bson
from bson.int64 import Int64
from bson.timestamp import Timestamp
from pymongo.errors import PyMongoError

from headrace.connect.images import cells
from headrace.connect.rows import NULL
from headrace.connectors.mongodb.events import CollectionFacts, MongoSource
from headrace.connectors.mongodb.position import MongoPosition, at_token
from headrace.connectors.mongodb.streaming.cursor import ChangeStreamCursor
from headrace.connectors.mongodb.streaming.known_collections import KnownCollections
from headrace.connectors.mongodb.streaming.progress import StreamProgress
from headrace.connectors.mongodb.streaming.reader import ChangeStreamReader, MongoReaderOptions
from headrace.connectors.mongodb.streaming.replies import Reply, read_reply
from headrace.documents.fields import FieldRules, PathRule
from headrace.errors import HeadraceError
from headrace.spool.spool import Spool, memory_at
from headrace.streaming.changes.kernels.row_kernel import TOMBSTONES
from headrace.streaming.changes.key_columns import KeyRendering
from headrace.streaming.facts import EventSettings
from headrace.streaming.receiver import Receiver
from tests.connectors.harness import wait_for

Event = Mapping[str, Any]


def token(seconds: int, increment: int = 1, more: str = "") -> dict[str, str]:
    """A resume token of a clusterTime."""
    return {"_data": f"82{seconds:08X}{increment:08X}2B0229296E04{more}"}


def at(seconds: int, increment: int = 1) -> int:
    """A clusterTime as positions have it."""
    return seconds << 32 | increment


def event(operation: str, seconds: int, increment: int = 1, key: object = 1, **more: Any) -> Event:
    """A change of the collection d.c; `more` are members, of which None is left out."""
    members = {
        "_id": token(seconds, increment, f"{key!r}".encode().hex().upper()),
        "operationType": operation,
        "clusterTime": Timestamp(seconds, increment),
        "ns": {"db": "d", "coll": "c"},
        "documentKey": {"_id": key},
    } | more
    return {name: value for name, value in members.items() if value is not None}


class ScriptedCursor(ChangeStreamCursor):
    """Gives these batches, one per request: events, and the token after them; then empty ones.
    `starts` are the beginnings of the streams that were opened."""

    def __init__(self, batches: Sequence[tuple[Sequence[Event | bytes], Event]]) -> None:
        self.starts: list[Mapping[str, Any]] = []
        self._batches = list(batches)
        self._last: Event = {}

    def open(self, start: Mapping[str, Any], batch_size: int | None = None) -> Reply:
        self.starts.append(start)
        return self.more(0)

    def more(self, seconds: float) -> Reply:
        events, self._last = self._batches.pop(0) if self._batches else ((), self._last)
        return reply(events, self._last)

    def close(self) -> None:
        pass


def reply(events: Sequence[Event | bytes], token: Event, operation_time: int = 0) -> Reply:
    """A reply of the server; events may be bytes, sound or not."""
    raw = [e if isinstance(e, bytes) else bson.encode(e) for e in events]
    body = b"".join(b"\x03%d\0" % number + document for number, document in enumerate(raw))
    batch = (len(body) + 5).to_bytes(4, "little") + body + b"\0"
    rest = bson.encode({"postBatchResumeToken": token, "id": Int64(1), "ns": "d.$cmd.aggregate"})
    inner = b"\x04nextBatch\0" + batch + rest[4:-1]
    cursor = (len(inner) + 5).to_bytes(4, "little") + inner + b"\0"
    time = Timestamp(operation_time >> 32, operation_time & 0xFFFFFFFF)
    outer = b"\x03cursor\0" + cursor + bson.encode({"ok": 1.0, "operationTime": time})[4:-1]
    return read_reply((len(outer) + 5).to_bytes(4, "little") + outer + b"\0")


@dataclass(frozen=True)
class Row:
    """A row of the index: cells are BSON values, a type byte and bytes."""

    operation: str
    collection: str
    place: tuple[int, int]
    ordinal: int
    increment: int
    old: list[bytes | None] | None
    new: list[bytes | None] | None
    extra: list[bytes | None] | None
    session: list[bytes | None] | None
    transaction: int | None
    wall_ms: int | None
    commit_ms: int
    hash: int


@dataclass(frozen=True)
class Read:
    """The result of a stream, and the position after each row at which a range may end."""

    rows: list[Row]
    ends: list[MongoPosition]
    receiver: Receiver
    reader: ChangeStreamReader


def read(
    cursor: ScriptedCursor,
    until: Callable[[Read], bool],
    *,
    start: MongoPosition | None = None,
    captures: Callable[[str, str], bool] = lambda _database, _collection: True,
    borders: str | None = None,
    wall_times: bool = True,
    fields: Sequence[PathRule] = (),
) -> Read:
    """Receives a stream until a condition holds; `fields` are rules for documents of d.c. Raises
    HeadraceError."""
    collections = KnownCollections(
        KeyRendering(EventSettings("p", MongoSource())),
        captures,
        lambda database, name: CollectionFacts(f"p.{database}.{name}", database, name),
        lambda _database, name: FieldRules(fields if name == "c" else ()),
    )
    reader = ChangeStreamReader(
        cursor,
        collections,
        at_token(bson.encode(token(1))) if start is None else start,
        MongoReaderOptions(TOMBSTONES, borders, wall_times),
        _translate,
        StreamProgress(),
    )
    spool = Spool(reader.end_type, 1 << 30)
    receiver = Receiver(reader, spool, orphaned=lambda: False)
    receiver.start()
    stream = _now(spool, receiver, reader, collections)

    def enough() -> bool:
        nonlocal stream
        with spool.lock:
            if receiver.error is not None:
                return True
            stream = _now(spool, receiver, reader, collections)
            return until(stream)  # of the same moment

    try:
        wait_for(enough)
    finally:
        receiver.close()
        spool.clear()
    if receiver.error is not None:
        raise receiver.error
    return stream


def _translate(error: PyMongoError) -> HeadraceError:
    return HeadraceError("mongodb.command_failed", str(error), "Wait.")


def _now(
    spool: Spool, receiver: Receiver, reader: ChangeStreamReader, collections: KnownCollections
) -> Read:
    rows, ends = [], []

    def image(address: int) -> list[bytes | None] | None:
        return cells(memory_at(spool.pieces, address)) if address else None

    for piece in spool.pieces:
        transactions = piece.index.transactions_now()
        for row in piece.index.rows_now():
            transaction = transactions[row["transaction"]]
            operation = int(row["operation"])
            rows.append(
                Row(
                    chr(operation) if operation else "tombstone",
                    collections.facts[int(row["relation"])].name,
                    (int(row["position_high"]), int(row["position"])),
                    int(row["ordinal"]),
                    int(row["place"]),
                    image(int(row["old"])),
                    image(int(row["new"])),
                    image(int(row["extra"])),
                    image(int(transaction["image"])),
                    None if transaction["xid"] == NULL else int(transaction["xid"]),
                    None if transaction["last_commit"] == NULL else int(transaction["last_commit"]),
                    int(transaction["commit_ms"]),
                    int(row["hash"]),
                )
            )
        for end in piece.index.ends_now():
            position = MongoPosition().after(end)
            assert position.unread is not None
            memory = memory_at(spool.pieces, position.unread.token)
            ends.append(
                MongoPosition(
                    position.time,
                    position.number,
                    bytes(memory[: position.unread.token_size]),
                    position.token_number,
                    None,
                    position.transaction_number,
                )
            )
    return Read(rows, ends, receiver, reader)
