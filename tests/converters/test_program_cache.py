"""State that a worker keeps for the tables it has read: shapes and their programs."""

from __future__ import annotations

import gc
import tracemalloc
from unittest import mock

import pytest

from headrace.connect.rows import RowTable, Sequences
from headrace.connect.sized_cache import SizedCache
from headrace.connectors.postgresql.source import PostgresSettings, PostgresSource
from headrace.connectors.postgresql.types.resolve import PostgresType
from headrace.connectors.postgresql.types.type_facts import TypeFacts
from headrace.converters.json import converter as json_roles
from headrace.converters.json.values import JsonOptions
from headrace.converters.program import Program
from headrace.converters.rows import SliceConverter
from headrace.relational.events import ColumnFacts, RelationFacts
from headrace.spool.extract import pack_inline
from headrace.streaming import facts as streamed
from headrace.streaming.slices import FactsPacker, LogSlice
from tests.connectors.postgresql.replication.pgoutput import (
    Index,
    begin,
    cell,
    commit,
    image,
    insert,
)
from tests.converters.json_converter import json_converter

SETTINGS = PostgresSettings("server", PostgresSource("shop"), run="a-run")
TYPES = ((23, "int4", -1), (25, "text", -1), (1700, "numeric", 655366), (1184, "timestamptz", -1))


def facts(number: int, columns: int, length: int = 8) -> RelationFacts:
    """A table of so many columns, whose names have `length` letters and more."""
    described = []
    for column in range(columns):
        oid, name, typmod = TYPES[column % len(TYPES)]
        described.append(
            ColumnFacts(
                "c" * length + str(column),
                PostgresType(TypeFacts(oid, name), typmod),
                column > 0,
                None,
            )
        )
    table = f"t{number}"
    return RelationFacts(
        "public", table, f"server.public.{table}", tuple(described), (described[0].name,)
    )


def convert(converter: SliceConverter, relations: dict[int, RelationFacts]) -> None:
    """A slice with one row of each relation, as the source process sends it and a task reads it."""
    columns = [len(relation.columns) for relation in relations.values()]
    rows = [
        insert(n, image(cell(b"1"), *[cell(None)] * (count - 1))) for n, count in enumerate(columns)
    ]
    index = Index(begin(10) + b"".join(rows) + commit(10, 20), columns)
    table = RowTable(index.real_rows(), index.transactions, (index.memory,))
    pack = FactsPacker([])  # packs all facts, as a source process that was started again does
    packed = {n: pack(relation) for n, relation in relations.items()}
    rows_and_images = pack_inline(table.rows, table.transactions)
    for records in LogSlice(rows_and_images, 0, len(table), 1, packed, SETTINGS).read():
        for _batch in converter.convert(records, Sequences(1)):
            pass


@pytest.fixture
def cache(monkeypatch: pytest.MonkeyPatch) -> SizedCache:
    """An empty cache of shapes that holds ten tables of 40 columns."""
    small = SizedCache(10 * facts(0, 40).nbytes)
    monkeypatch.setattr(streamed, "_shapes", small)
    return small


def programs() -> int:
    gc.collect()
    return sum(issubclass(type(value), Program) for value in gc.get_objects())


def test_programs_of_tables_that_are_no_longer_read_are_let_go(cache: SizedCache) -> None:
    converter = json_converter(JsonOptions(), JsonOptions(), JsonOptions())
    before = programs()
    for number in range(100):
        convert(converter, {0: facts(number, 40)})
    # A key, a value and two headers each.
    assert programs() - before <= 4 * 10
    assert len(cache) == 10
    assert cache.size <= cache.limit


def test_a_relation_that_comes_again_is_not_compiled_again(cache: SizedCache) -> None:
    converter = json_converter(JsonOptions(), JsonOptions(), JsonOptions())
    with mock.patch.object(json_roles, "compile_json", wraps=json_roles.compile_json) as compiled:
        for _ in range(3):
            # The facts come with every slice, as pickles.
            convert(converter, {n: facts(n, 40) for n in range(8)})
    # A key, a value and two headers each.
    assert compiled.call_count == 4 * 8


@pytest.mark.parametrize(
    ("columns", "length", "schemas"),
    [(1, 1, True), (10, 60, False), (40, 1, False), (400, 60, True)],
)
def test_what_a_shape_and_its_programs_take_is_not_underestimated(
    columns: int, length: int, *, schemas: bool, cache: SizedCache
) -> None:
    cache.limit = 1 << 40
    options = JsonOptions(schemas_enable=schemas)
    converter = json_converter(options, options, options)
    convert(converter, {0: facts(1000, columns, length)})
    relations = {n: facts(n, columns, length) for n in range(5)}
    gc.collect()
    tracemalloc.start()
    try:
        convert(converter, relations)
        gc.collect()
        used_bytes, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    estimate = sum(relation.nbytes for relation in relations.values())
    assert used_bytes <= estimate <= 5 * used_bytes
