"""A replica that is kept in the plainest way: what batches need of a lake, and a replay of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pyarrow.parquet as pq
import pytest

from headrace.errors import HeadraceError
from headrace.sinks.iceberg.format import FORMAT
from headrace.sinks.iceberg.table import IcebergTable
from headrace.sinks.replicas.lake import (
    BATCH,
    QUERY,
    ColumnChange,
    DataFile,
    Lake,
    LakeTable,
    TableChange,
    TableName,
    Transaction,
)
from tests.sinks.lake.iceberg.rows import NAME, table_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NO_CHANGE = ColumnChange()


def opened(spark: SparkSession, options: Mapping[str, str]) -> Iterator[Lake]:
    """A catalog for a fixture, which is skipped where its jars are not there."""
    try:
        lake = FORMAT.open(spark, options)
    except HeadraceError as error:
        if error.code == "iceberg.jars_missing":
            pytest.skip(f"the jars cannot be fetched here: {error.message}")
        raise
    yield lake
    lake.close()


class KeptTable:
    """A table, and the rows that it must have, by key."""

    def __init__(self, table: LakeTable) -> None:
        self.table = table
        self.rows: dict[int, dict[str, Any]] = {}
        self.batch = 0

    def apply(
        self,
        rows: Sequence[Mapping[str, Any]] = (),
        deleted: Iterable[int] = (),
        change: ColumnChange = NO_CHANGE,
    ) -> None:
        """One batch: rows that are new or changed, and keys of rows that are gone."""
        deleted = tuple(deleted)
        begun = self.table.begin(change)
        self.batch += 1
        prepared = self.prepare(begun, rows, deleted)
        begun.commit(prepared, {QUERY: "q", BATCH: str(self.batch)})
        for each in rows:
            self.rows[each["id"]] = dict(each)
        for key in deleted:
            self.rows.pop(key, None)

    def prepare(
        self, begun: Transaction, rows: Sequence[Mapping[str, Any]], deleted: Iterable[int]
    ) -> TableChange:
        """The files of a batch."""
        keys = {each["id"] for each in rows} | set(deleted)
        name = f"b{self.batch}-{uuid4()}"
        vectors: list[tuple[DataFile, str, int]] = []
        removed = []
        for place, file in enumerate(begun.files):
            file_positions = positions(begun, file, keys)
            dead = begun.storage.read_vector(file)
            assert len(dead) == file.deleted
            if not set(file_positions) - set(dead):
                continue
            dead.update(file_positions)
            if len(dead) == file.rows:
                removed.append(file)
            else:
                vector = begun.storage.write_vector(file, dead, f"{name}-{place}")
                vectors.append((file, vector, len(dead)))
        added = []
        if rows:
            added = [begun.storage.write_rows(table_of(begun.storage.schema, rows), name)]
        return TableChange(added, vectors, removed)

    def conflict(self, lake: Lake, rows: Sequence[Mapping[str, Any]]) -> HeadraceError:
        """The error of a commit when somebody else compacts the table, as `lake` has it, in
        between."""
        begun = self.table.begin(NO_CHANGE)
        change = self.prepare(begun, rows, [])
        other = lake.table(self.table.name)
        assert other is not None
        compact(other)
        with pytest.raises(HeadraceError) as raised:
            begun.commit(change, {BATCH: str(self.batch + 1)})
        return raised.value

    def expected(self) -> list[dict[str, Any]]:
        """The rows as a reader gives them."""
        rows = [self.rows[key] for key in sorted(self.rows)]
        return table_of(self.table.schema(), rows).to_pylist()


def found(lake: Lake, name: TableName = NAME) -> IcebergTable:
    """The table, loaded again."""
    table = lake.table(name)
    assert isinstance(table, IcebergTable)
    return table


def positions(begun: Transaction, file: DataFile, keys: set[int]) -> list[int]:
    """The positions of rows with these keys in a file, also of deleted ones."""
    number = begun.storage.field_id("id")
    bounds = file.bounds.get(number)
    assert bounds is not None
    with begun.storage.filesystem.open_input_file(file.path) as opened:
        read = pq.read_table(opened)
    (place,) = [
        index
        for index, field in enumerate(read.schema)
        if field.metadata[b"PARQUET:field_id"] == str(number).encode()
    ]
    values = read.column(place).to_pylist()
    assert bounds == (min(values), max(values))
    return [position for position, key in enumerate(values) if key in keys]


def compact(table: LakeTable, properties: Mapping[str, str] | None = None) -> int:
    """Make one file of all files. Gives how many there were."""
    import pyarrow as pa

    begun = table.begin(NO_CHANGE)
    tables = []
    for file in begun.files:
        dead = begun.storage.read_vector(file)
        with begun.storage.filesystem.open_input_file(file.path) as opened:
            read = pq.read_table(opened)
        tables.append(read.take([at for at in range(read.num_rows) if at not in dead]))
    rows = pa.concat_tables(tables)
    added = [begun.storage.write_rows(rows, f"compacted-{uuid4()}")]
    begun.commit(
        TableChange(added, removed=begun.files, is_compaction=True), dict(properties or {})
    )
    return len(begun.files)
