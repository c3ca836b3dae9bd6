"""Rows → Records → JSON: the measurement after docs/decisions/0001.

`python -m benchmarks.records [TABLES]` prints nanoseconds per event for one table and for 500
interleaved ones (or TABLES), best of several passes on one core.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

from headrace.connect.records import group_by_shape
from headrace.connect.rows import RowTable, Sequences
from headrace.connectors.postgresql.source import PostgresSettings, PostgresSource
from headrace.connectors.postgresql.types.resolve import PostgresType
from headrace.connectors.postgresql.types.type_facts import TypeFacts
from headrace.converters.json.converter import JsonConverter
from headrace.converters.json.values import JsonOptions
from headrace.converters.rows import SliceConverter
from headrace.relational.events import ColumnFacts, RelationFacts
from headrace.streaming.facts import shape_of
from tests.connectors.postgresql.replication.pgoutput import (
    Index,
    begin,
    cell,
    commit,
    image,
    insert,
)

EVENTS = 100_000
PASSES = 7
TYPES = {
    "id": (20, "int8", -1),
    "customer": (23, "int4", -1),
    "name": (1043, "varchar", 68),
    "price": (1700, "numeric", (12 << 16 | 2) + 4),
    "at": (1184, "timestamptz", -1),
    "local": (1114, "timestamp", -1),
    "note": (25, "text", -1),
    "flag": (16, "bool", -1),
    "ref": (2950, "uuid", -1),
    "doc": (3802, "jsonb", -1),
}


def facts(table: int) -> RelationFacts:
    """A table of ten columns with a bigint key."""
    columns = tuple(
        ColumnFacts(name, PostgresType(TypeFacts(oid, kind), typmod), name != "id", None)
        for name, (oid, kind, typmod) in TYPES.items()
    )
    return RelationFacts(
        "public", f"orders{table}", f"bench.public.orders{table}", columns, ("id",)
    )


def row(number: int) -> bytes:
    """About 260 bytes of an image."""
    values = (
        str(number),
        str(number * 7 % 1000),
        f'name {number} "q" é漢',
        f"{number % 10000}.{number % 100:02d}",
        "2026-01-02 03:04:05.123456+00",
        "2026-01-02 03:04:05.12",
        f"a longer note text without anything special in it, {number} times",
        "t",
        "b68a35a7-17ad-35b3-af2a-ae46edb4545a",
        '{"a": 1, "b": [1, 2, 3]}',
    )
    return image(*(cell(value.encode()) for value in values))


def stream(tables: int) -> bytes:
    """EVENTS inserts in transactions of 100, tables interleaved row by row."""
    parts = []
    for number in range(EVENTS):
        if number % 100 == 0:
            parts.append(begin(10_000 + number, number))
        parts.append(insert(number % tables, row(number), 10_000 + number))
        if number % 100 == 99:
            parts.append(commit(10_000 + number - 99, 10_000 + number + 1))
    return b"".join(parts)


def best(action: Callable[[], object]) -> float:
    """Nanoseconds per event of the fastest pass; the first, which compiles, does not count."""
    action()
    fastest = float("inf")
    for _ in range(PASSES):
        begun = time.perf_counter()
        action()
        fastest = min(fastest, time.perf_counter() - begun)
    return fastest / EVENTS * 1e9


def measure(tables: int) -> tuple[float, float]:
    """(index, Records and JSON) in nanoseconds per event."""
    raw = stream(tables)
    index = Index(raw, [len(TYPES)] * tables)
    assert len(index.rows) == EVENTS, index.status
    settings = PostgresSettings("bench", PostgresSource("shop"), run="a-run")
    shapes = {n: shape_of(facts(n), settings) for n in range(tables)}
    converter = SliceConverter(*[JsonConverter(JsonOptions()) for _ in range(3)])
    table = RowTable(index.real_rows(), index.transactions, (index.memory,))

    def convert() -> int:
        records = group_by_shape(table, shapes)
        return sum(batch.num_rows for batch in converter.convert(records, Sequences(1)))

    return best(index.run), best(convert)


def main() -> None:
    """Print the table."""
    chosen = [int(argument) for argument in sys.argv[1:]] or [1, 500]
    print("tables  index ns  records+json ns")
    for tables in chosen:
        indexed, converted = measure(tables)
        print(f"{tables:6d}  {indexed:8.0f}  {converted:15.0f}")


if __name__ == "__main__":
    main()
