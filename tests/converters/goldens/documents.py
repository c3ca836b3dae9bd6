"""MongoDB's events that goldens are made of: those that Debezium's connector recorded, read from
their JSON, and events of ours whose cells are BSON.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import bson
import numpy as np
from bson.int64 import Int64

from headrace.connect.evaluation.values import connect_values
from headrace.connect.images import BINARY, image_of
from headrace.connect.images import NULL as NULL_CELL
from headrace.connect.json_records import read_records
from headrace.connect.kernels.memory import PADDING, address_of
from headrace.connect.records import Constant, Records, Struct, group_by_shape
from headrace.connect.rows import NULL, ORDER, ROW, TRANSACTION, RowTable, Sequences
from headrace.connect.trees import fields
from headrace.connectors.mongodb.events import NO_INCREMENT, CollectionFacts, MongoSource
from headrace.converters.converter import Converter
from headrace.converters.json.converter import JsonConverter
from headrace.converters.json.values import JsonOptions
from headrace.converters.rows import SliceConverter
from headrace.streaming.facts import EventSettings, shape_of
from tests.converters.plain_values import NOW
from tests.documents.plain_bson import encode_value
from tests.golden.transforms.inputs.documents import VALUES

RECORDINGS = Path(__file__).parents[2] / "golden" / "mongodb" / "recordings"
RECORDED = (
    "basics_schemas",
    "mode_update_full_pre_image_schemas",
    "transactions_metadata_schemas",
    "heartbeats_schemas",
    "format_2_5_schemas",
)
"""Recordings with schemas: snapshots, changes with images before and after them, transactions and
their borders, heartbeats, events of 2.5."""
SESSION = {"id": bson.Binary(b"s" * 16, 4), "uid": b"u" * 32}
WITH_SCHEMAS = JsonConverter(JsonOptions(schemas_enable=True, replace_null_with_default=False))


class Written(NamedTuple):
    """A record: its topic, and what a converter wrote of key and value."""

    topic: str
    key: bytes | None
    value: bytes | None


def recorded_lines() -> list[dict[str, Any]]:
    """The recorded events: topic, and key and value as `{"schema": …, "payload": …}` or null."""
    return [
        json.loads(line)
        for name in RECORDED
        for line in (RECORDINGS / f"{name}.jsonl").read_text().splitlines()
    ]


def recorded_events() -> list[Records]:
    """The recorded events as Records with the constants that a connector's shapes have."""
    record_groups = read_records(
        [
            {
                "topic": line["topic"],
                "partition": None,
                "timestamp": None,
                "key": line["key"],
                "value": line["value"],
                "headers": [],
            }
            for line in recorded_lines()
        ]
    )
    return [_with_constants(records) for records in record_groups]


def _with_constants(records: Records) -> Records:
    """Fields of `source` that are the same in all events of a topic are constants, and tombstones
    are records of another shape."""
    value = records.shape.value
    members = fields(value)
    source = members.get("source")
    if not isinstance(value, Struct) or not isinstance(source, Struct):
        return records
    inner = fields(source)
    for name in ("version", "connector", "name", "db", "collection"):
        (constant,) = set(connect_values(records, inner[name])) - {None}
        inner[name] = Constant(inner[name].schema, constant)
    members["source"] = replace(source, members=tuple(inner.values()))
    changed = replace(value, members=tuple(members.values()), presence=None)
    return records.with_shape(replace(records.shape, value=changed))


class _Change(NamedTuple):
    """A change of a collection: BSON values of documents, and what an update says of itself."""

    operation: str
    document: Mapping[str, Any] | None = None
    before: Mapping[str, Any] | None = None
    update: tuple[object, ...] | None = None
    transaction: int = 0


_ALL = {"_id": 1, **{name: value for name, value in VALUES.items() if name != "undefined"}}
_CHANGES = (
    _Change("r", {"_id": 7, "read": True}),
    _Change("c", _ALL),
    _Change("c", {"_id": {"a": 1, "b": "x"}, "n": Int64(5)}, transaction=1),
    _Change(
        "u", {"_id": 1, "n": 2}, {"_id": 1, "n": Int64(1), "gone": None, "list": [1, 2, 3]},
        ({"n": 2, "at": VALUES["date"]}, ["gone", "a.b"], [{"field": "list", "newSize": 1}]),
        transaction=1,
    ),
    _Change("u", None, None, ({"name": 'Łódź "€"'}, None, None)),
    _Change("d", None, {"_id": 1, "n": 2}),
    _Change("tombstone", None, {"_id": 1, "n": 2}),
)  # fmt: skip


class _Memory:
    """Images one after the other, and where each begins."""

    def __init__(self) -> None:
        self._raw = bytearray()

    def add(self, values: Sequence[bytes | None]) -> int:
        """The place of an image with these cells."""
        place = len(self._raw)
        self._raw += image_of([(NULL_CELL, b"") if v is None else (BINARY, v) for v in values])
        return place

    def finished(self) -> np.ndarray:
        return np.frombuffer(bytes(self._raw) + bytes(PADDING), np.uint8)


def _document(value: Mapping[str, Any] | None, identifier: object) -> list[bytes | None]:
    return [encode_value(identifier), None if value is None else encode_value(value)]


def bson_events(*, counted: bool) -> list[Records]:
    """Changes of a collection as the connector's tasks have them; `counted`: with a transaction
    block."""
    memory = _Memory()
    rows = np.zeros(len(_CHANGES), ROW)
    places: dict[str, list[int]] = {"old": [], "new": [], "extra": []}
    for change in _CHANGES:
        identifier = (change.document or change.before or {"_id": 1})["_id"]
        has_new = change.operation in "cru"
        new = memory.add(_document(change.document, identifier)) if has_new else -1
        old = -1 if change.before is None else memory.add(_document(change.before, identifier))
        extra = -1
        if change.update is not None:
            extra = memory.add([None if v is None else encode_value(v) for v in change.update])
        for name, place in (("old", old), ("new", new), ("extra", extra)):
            places[name].append(place)
    session = memory.add([encode_value(SESSION)])
    raw = memory.finished()
    for name, row_places in places.items():
        rows[name] = [0 if place < 0 else address_of(raw) + place for place in row_places]
    rows["operation"] = [0 if c.operation == "tombstone" else ord(c.operation) for c in _CHANGES]
    rows["place"] = [NO_INCREMENT, *range(1, len(_CHANGES))]
    rows["marker"] = [1, *[0] * (len(_CHANGES) - 1)]
    rows["position"] = np.arange(1, len(_CHANGES) + 1)
    rows["transaction"] = [change.transaction for change in _CHANGES]
    transactions = np.zeros(2, TRANSACTION)
    for unit, factor in (("ms", 1), ("us", 1000), ("ns", 1_000_000)):
        transactions[f"commit_{unit}"] = 1_790_000_000_123 * factor
    transactions["xid"] = [NULL, 3]
    transactions["last_commit"] = [NULL, 1_790_000_000_100]
    transactions["image"] = [0, address_of(raw) + session]
    orders = np.zeros(len(rows), ORDER)
    orders["total"] = orders["collection"] = np.arange(1, len(rows) + 1)
    table = RowTable(rows, transactions, (raw,), orders)
    facts = CollectionFacts("shop.inventory.my-items", "inventory", "my-items")
    settings = EventSettings("shop", MongoSource(), run="a-run", counted=counted)
    return group_by_shape(table, {0: shape_of(facts, settings)})


EVENTS = {
    "recorded": recorded_events,
    "BSON": lambda: bson_events(counted=False),
    "BSON, counted": lambda: bson_events(counted=True),
}
"""Events by name."""


def written(records: list[Records], key: Converter, value: Converter) -> list[Written]:
    """Converters' output for the records, at a fixed time."""
    converter = SliceConverter(key, value, WITH_SCHEMAS)

    def raw(text: str | bytes | None) -> bytes | None:
        return text.encode() if isinstance(text, str) else text

    with mock.patch("headrace.converters.rows.time.time_ns", return_value=NOW):
        return [
            Written(row["topic"], raw(row["key"]), raw(row["value"]))
            for batch in converter.convert(records, Sequences(1))
            for row in batch.to_pylist()
        ]
