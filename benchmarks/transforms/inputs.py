"""Records that transforms and converters are measured on: 10,000 of ten columns, as connectors make
them, and the same in a file for Java.
"""

from __future__ import annotations

import base64
import datetime as dt
import json
import struct
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import bson
import numpy as np

from benchmarks import records
from headrace.connect.images import BINARY, image_of
from headrace.connect.json_records import read_records, write_records
from headrace.connect.kernels.memory import PADDING, address_of
from headrace.connect.records import Records
from headrace.connect.rows import NULL, ROW, TRANSACTION, RowTable
from headrace.connectors.mongodb.events import CollectionFacts, MongoSource
from headrace.connectors.postgresql.source import PostgresSettings, PostgresSource
from headrace.connectors.postgresql.types.resolve import PostgresType
from headrace.connectors.postgresql.types.type_facts import TypeFacts
from headrace.relational.events import ColumnFacts, RelationFacts
from headrace.streaming.facts import EventSettings, shape_of
from headrace.transforms.json_form import read_chain
from tests.connectors.postgresql.replication.pgoutput import (
    Index,
    begin,
    cell,
    commit,
    image,
    insert,
    update,
)
from tests.golden.transforms.cases import SchemaTable

ROWS = 10_000
COMMITTED_US = 846_000_000_000_000  # since 2000
_OUTBOX = {
    "id": (2950, "uuid", -1),
    "aggregatetype": (1043, "varchar", 68),
    "aggregateid": (1043, "varchar", 68),
    "type": (1043, "varchar", 68),
    "payload": (3802, "jsonb", -1),
    "tenant": (25, "text", -1),
    "version": (23, "int4", -1),
    "note": (25, "text", -1),
    "flag": (16, "bool", -1),
    "at": (1184, "timestamptz", -1),
}


def _relational(facts: RelationFacts, changes: Sequence[bytes], *, run: str = "") -> Records:
    """Events of one table in transactions of a hundred changes."""
    parts = []
    for number, change in enumerate(changes):
        if number % 100 == 0:
            parts.append(begin(10_000 + number, number, COMMITTED_US))
        parts.append(change)
        if number % 100 == 99:
            parts.append(commit(10_000 + number - 99, 10_000 + number + 1))
    index = Index(b"".join(parts), [len(facts.columns)])
    rows = index.real_rows()
    assert len(rows) == len(changes)
    settings = PostgresSettings("bench", PostgresSource("shop"), run=run)
    place = np.arange(len(rows))
    table = RowTable(np.ascontiguousarray(rows), index.transactions, (index,))
    return Records(shape_of(facts, settings), table, place, place)


def events(*, run: str = "") -> Records:
    """Inserts; `run`: with context headers."""
    changes = [insert(0, records.row(number), 10_000 + number) for number in range(ROWS)]
    return _relational(records.facts(0), changes, run=run)


def updates() -> Records:
    """Updates of a table with REPLICA IDENTITY FULL, two columns of ten changed."""
    changes = []
    for number in range(ROWS):
        before = records.row(number)
        after = before.replace(b"a longer", b"another ").replace(b"03:04:05.123", b"03:04:06.123")
        changes.append(update(0, after, before, b"O", 10_000 + number))
    return _relational(records.facts(0), changes)


def outbox() -> Records:
    """Inserts into an outbox table."""
    columns = tuple(
        ColumnFacts(name, PostgresType(TypeFacts(oid, kind), modifier), name != "id", None)
        for name, (oid, kind, modifier) in _OUTBOX.items()
    )
    facts = RelationFacts("public", "outbox", "bench.public.outbox", columns, ("id",))

    def row(number: int) -> bytes:
        payload = {"id": number, "total": "19.99", "lines": [{"sku": "a", "n": 2}]}
        values = (
            f"a0eebc99-9c0b-4ef8-bb6d-{number:012x}", ("order", "customer")[number % 2],
            str(number), "created", json.dumps(payload), "acme", "3", "a note on this event", "t",
            "2026-01-02 03:04:05.123456+00",
        )  # fmt: skip
        return image(*(cell(value.encode()) for value in values))

    return _relational(facts, [insert(0, row(number), 10_000 + number) for number in range(ROWS)])


def rows() -> Records:
    """Rows without an envelope, as ExtractNewRecordState makes them."""
    steps = {
        "transforms": "unwrap",
        "transforms.unwrap.type": "ExtractNewRecordState",
        "transforms.unwrap.add.headers": "op,source.table",
    }
    (input_records,) = read_chain(steps)([events()])
    return input_records


def document(number: int, variant: int = 0) -> dict[str, Any]:
    """A document of ten fields; `variant` names the last one."""
    return {
        "_id": bson.ObjectId(struct.pack(">IQ", 1700000000, number)),
        "number": number,
        "total": bson.Int64(10_000_000_000 + number),
        "price": number * 0.25,
        "paid": number % 2 == 0,
        "placed": dt.datetime(2026, 1, 2, 3, 4, 5, tzinfo=dt.UTC),
        "customer": f"Customer {number}",
        "status": "shipped",
        "city": "Montréal",
        f"note{variant}": "none",
    }


def _documents(name: str, json_documents: Sequence[dict[str, Any]]) -> Records:
    """Created documents of a collection, as the connector makes them of BSON."""
    images = []
    for each in json_documents:
        identifier = bson.encode({"_id": each["_id"]})
        images.append(
            image_of([
                (BINARY, identifier[4:5] + identifier[9:-1]), (BINARY, b"\3" + bson.encode(each)),
            ])
        )  # fmt: skip
    memory = np.frombuffer(b"".join(images) + bytes(PADDING), np.uint8)
    lengths = np.array([len(each) for each in images], np.int64)
    table = np.zeros(len(images), ROW)
    table["new"] = address_of(memory) + np.cumsum(lengths) - lengths
    table["size"] = lengths
    table["operation"] = ord("c")
    table["position"] = np.arange(len(images)) + 1
    transactions = np.zeros(1, TRANSACTION)
    transactions["xid"] = transactions["last_commit"] = NULL
    facts = CollectionFacts(f"bench.shop.{name}", "shop", name)
    shape = facts.shape(EventSettings("bench", MongoSource()))
    place = np.arange(len(images))
    return Records(shape, RowTable(table, transactions, (memory,)), place, place)


def documents(variants: int = 1) -> Records:
    """Created documents, `variants` structures of them in turn."""
    return _documents("orders", [document(number, number % variants) for number in range(ROWS)])


def document_texts() -> Records:
    """The same documents as texts of Extended JSON, as events from elsewhere have them."""
    written = write_records([documents()])
    (input_records,) = read_records([written[place] for place in range(ROWS)])
    return input_records


def outbox_documents() -> Records:
    """Documents of an outbox collection."""
    json_documents = [
        {
            "_id": bson.ObjectId(struct.pack(">IQ", 1700000000, number)),
            "aggregatetype": ("order", "customer")[number % 2],
            "aggregateid": str(number),
            "type": "created",
            "payload": {"id": number, "total": 19.99, "lines": [{"sku": "a", "n": 2}]},
            "tenant": "acme",
            "version": 3,
            "note": "a note on this event",
            "flag": True,
            "at": dt.datetime(2026, 1, 2, 3, 4, 5, tzinfo=dt.UTC),
        }
        for number in range(ROWS)
    ]
    return _documents("outbox", json_documents)


def raw_values() -> Records:
    """Values of 250 bytes and no keys."""
    schema = {"type": "bytes", "optional": False}
    (input_records,) = read_records(
        [
            {"topic": "bench.raw", "partition": None, "timestamp": None, "key": None, "headers": [],
             "value": {"schema": schema, "payload": base64.b64encode(b"%250d" % n).decode()}}
            for n in range(ROWS)
        ]
    )  # fmt: skip
    return input_records


def timed_rows() -> Records:
    """Rows whose records have a time of their own."""
    written = write_records([rows()])
    timed = [written[place] | {"timestamp": 1_700_000_000_000 + place} for place in range(ROWS)]
    (input_records,) = read_records(timed)
    return input_records


INPUTS: dict[str, Callable[[], Records]] = {
    "events": events,
    "events with headers": lambda: events(run="a-run"),
    "updates": updates,
    "rows": rows,
    "rows with times": timed_rows,
    "outbox events": outbox,
    "documents": documents,
    "documents of twenty structures": lambda: documents(20),
    "documents as texts": document_texts,
    "outbox documents": outbox_documents,
    "bytes": raw_values,
}
"""By a name."""


def write_for_java(input_records: Records, file: Path) -> None:
    """The records in Kafka Connect's JSON form, a line each, after a line of their schemas."""
    written = write_records([input_records])
    table = SchemaTable()
    lines = [table.packed(written[place]) for place in sorted(written)]
    texts = [json.dumps(line) for line in ({"schemas": table.schemas}, *lines)]
    file.write_text("\n".join(texts) + "\n")
