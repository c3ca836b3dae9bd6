"""PostgreSQL's events that the goldens of CloudEvents are made of."""

from __future__ import annotations

from unittest import mock

import numpy as np

from headrace.connect.records import Records, group_by_shape
from headrace.connect.rows import ORDER, RowTable, Sequences
from headrace.connectors.postgresql.source import PostgresSettings, PostgresSource
from headrace.converters.converter import Converter
from headrace.converters.json.converter import JsonConverter
from headrace.converters.json.values import JsonOptions
from headrace.converters.rows import SliceConverter
from headrace.relational.events import RelationFacts
from headrace.streaming.facts import shape_of
from tests.connectors.postgresql.facts import column
from tests.connectors.postgresql.replication.pgoutput import (
    Index,
    begin,
    cell,
    commit,
    delete,
    image,
    insert,
    update,
)
from tests.converters.plain_values import NOW

WITH_SCHEMAS = JsonConverter(JsonOptions(schemas_enable=True))


def facts() -> RelationFacts:
    """A table with a name that Avro does not take."""
    columns = (
        column("id", "int4", 23, -1, nullable=False),
        column("note", "text", 25, -1, nullable=True),
    )
    return RelationFacts("public", "my-orders", "server.public.my-orders", columns, ("id",))


def events(counted: bool) -> list[Records]:
    """An insert, an update with both images and a delete with its tombstone; `counted`: with a
    transaction block."""
    first, second = image(cell(b"1"), cell(b'a "note" \xc3\xa9')), image(cell(b"1"), cell(None))
    raw = (
        begin(0x100, 5, 1_790_000_000_123_456)
        + insert(0, first, 0x101)
        + update(0, second, first, b"O", 0x102)
        + delete(0, second, b"O", 0x103)
        + commit(0x100, 0x110)
    )
    index = Index(raw, [2])
    orders = np.zeros(len(index.real_rows()), ORDER)
    orders["total"] = orders["collection"] = np.arange(1, len(orders) + 1)
    table = RowTable(index.real_rows(), index.transactions, (index.memory,), orders)
    settings = PostgresSettings("server", PostgresSource("shop"), run="a-run", counted=counted)
    return group_by_shape(table, {0: shape_of(facts(), settings)})


def values(records: list[Records], converter: Converter) -> list[bytes | None]:
    """The values of the events, at a fixed time."""
    slice_converter = SliceConverter(WITH_SCHEMAS, converter, WITH_SCHEMAS)
    converted: list[bytes | None] = []
    with mock.patch("headrace.converters.rows.time.time_ns", return_value=NOW):
        for batch in slice_converter.convert(records, Sequences(1)):
            column = batch.column("value").to_pylist()
            converted += [value.encode() if isinstance(value, str) else value for value in column]
    return converted
