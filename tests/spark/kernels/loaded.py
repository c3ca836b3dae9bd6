"""`python -m tests.spark.kernels.loaded`: the modules of the kernels that each converter of values
loads for a few rows, as JSON. Each has a process of its own, which has loaded nothing before."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any

from numba.core.dispatcher import Dispatcher

from headrace.connect.records import group_by_shape
from headrace.connect.rows import RowTable, Sequences
from headrace.connectors.postgresql.source import PostgresSettings, PostgresSource
from headrace.connectors.postgresql.types.resolve import PostgresType
from headrace.connectors.postgresql.types.type_facts import TypeFacts
from headrace.connectors.registry import parse_options
from headrace.converters.configured import slice_converter
from headrace.kafka.schema_ids import SchemaIds, SchemaKey
from headrace.relational.events import ColumnFacts, RelationFacts
from headrace.spark.kernels.needed import OF_CONVERTERS, all_kernels, listed
from headrace.streaming.facts import shape_of
from tests.connectors.postgresql.replication.pgoutput import (
    Index,
    begin,
    cell,
    commit,
    image,
    insert,
)

_OPTIONS = {
    "avro": {"value.converter.schema.registry.url": "http://127.0.0.1:9"},
    "bytes": {
        "value.converter.delegate.converter.type": "org.apache.kafka.connect.json.JsonConverter"
    },
    "row": {"value.converter.fields.unknown": "drop"},
}
_TYPES = (("id", 20, "int8"), ("name", 25, "text"), ("raw", 17, "bytea"), ("doc", 3802, "jsonb"))
_CELLS = tuple(map(cell, (b"1", b"a \xc3\xa9", b"\\x00ff", b'{"a": 1}')))


class KnownIds(SchemaIds):
    """The ids of a registry that knows every schema."""

    def of(self, key: SchemaKey, ask: Callable[[], int]) -> int:
        """One is as good as another."""
        return 1


def convert(name: str) -> None:
    """One row of a transaction in the converter's form."""
    options = {
        "connector.class": "postgresql",
        "topic.prefix": "t",
        "database.hostname": "h",
        "database.dbname": "d",
        "database.user": "u",
        "value.converter": name,
    }
    options |= _OPTIONS.get(name, {})
    columns = tuple(
        ColumnFacts(column, PostgresType(TypeFacts(oid, kind), -1), column != "id", None)
        for column, oid, kind in _TYPES
    )
    relation = RelationFacts("public", "t", "t.public.t", columns, ("id",))
    raw = begin(1000, 1) + insert(0, image(*_CELLS), 1001) + commit(1000, 1002)
    index = Index(raw, [len(_TYPES)])
    index.run()
    table = RowTable(index.real_rows(), index.transactions, (index.memory,))
    shape = shape_of(relation, PostgresSettings("t", PostgresSource("d"), run="r"))
    converter = slice_converter(parse_options(options), KnownIds())
    records = group_by_shape(table, {0: shape})
    assert sum(batch.num_rows for batch in converter.convert(records, Sequences(1))) == 1


def loaded() -> list[str]:
    """The modules of the kernels that this process has loaded."""
    modules = set()
    for module, name in listed(all_kernels()):
        kernel: Any = getattr(sys.modules.get(module), name, None)
        if isinstance(kernel, Dispatcher) and kernel.overloads:
            modules.add(module)
    return sorted(modules)


def in_a_process(name: str) -> list[str]:
    """The modules that a process loads which converts by this converter."""
    reading, writing = os.pipe()
    if os.fork() == 0:
        convert(name)
        os.write(writing, json.dumps(loaded()).encode())
        os._exit(0)
    os.close(writing)
    with open(reading) as answer:
        text = answer.read()
    os.wait()
    return list(json.loads(text)) if text else []


if __name__ == "__main__":
    import_module("headrace.connectors.postgresql.connector")
    assert not loaded(), "nothing is loaded yet"
    print(json.dumps({name: in_a_process(name) for name in map(str, OF_CONVERTERS)}))
