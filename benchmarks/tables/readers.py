"""Independent readers of the tables: PyIceberg, and delta-rs, which reads by DataFusion.

`python -m benchmarks.tables.readers READER FOLDER TABLE` reads all columns of all rows of the table
three times, and prints the least CPU time. READER is `pyiceberg`, `duckdb` (of an Iceberg table) or
`delta-rs`.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.tables.workload import Sums, comparable
from headrace.sinks.replicas.lake import TableName
from tests.sinks.lake.iceberg.rows import by_duckdb

if TYPE_CHECKING:
    from pyiceberg.catalog.sql import SqlCatalog
    from pyiceberg.table import Table

_PASSES = 3
READERS = {"iceberg": ("pyiceberg", "duckdb"), "delta": ("delta-rs",)}
"""The readers of each format."""


def catalog(folder: Path, name: str = "headrace") -> SqlCatalog:
    """The catalogue in a folder."""
    from pyiceberg.catalog.sql import SqlCatalog

    return SqlCatalog(name, uri=f"sqlite:///{folder}/catalog.db", warehouse=str(folder))


def iceberg_table(folder: Path, name: str) -> Table:
    """A table of the catalogue in a folder."""
    return catalog(folder).load_table(f"public.{name}")


def rows_of(table_format: str, folder: Path, name: str) -> pa.Table:
    """All rows of a table. `folder` is that of the lake."""
    if table_format == "iceberg":
        return iceberg_table(folder, name).scan().to_arrow()
    from deltalake import DeltaTable, QueryBuilder

    table = DeltaTable(str(folder / "public" / name))
    return pa.table(QueryBuilder().register("t", table).execute("SELECT * FROM t").read_all())


def count(table_format: str, folder: Path, name: str) -> int:
    """The number of rows of a table, by its metadata."""
    if table_format == "iceberg":
        return iceberg_table(folder, name).scan().count()
    from deltalake import DeltaTable

    return DeltaTable(str(folder / "public" / name)).count()


def sums(table_format: str, folder: Path, name: str) -> Sums:
    """As `workload.sums`, of a table of the lake."""
    rows = rows_of(table_format, folder, name)
    return comparable(
        (
            rows.num_rows,
            *(pc.sum(rows[column]).as_py() for column in ("id", "customer", "price")),
            *(
                pc.sum(pc.utf8_length(rows[column].cast(pa.string()))).as_py()
                for column in ("note", "ref")
            ),
        )
    )


def _read(reader: str, folder: Path, name: str) -> None:
    if reader == "duckdb":
        by_duckdb(folder, "SELECT bit_xor(hash(t)) FROM {table} t", TableName(("public",), name))
    else:
        rows_of("iceberg" if reader == "pyiceberg" else "delta", folder, name)


def main() -> None:
    """Read and print."""
    reader, folder, name = sys.argv[1:4]
    took = []
    for _ in range(_PASSES):
        begun = time.process_time()
        _read(reader, Path(folder), name)
        took.append(time.process_time() - begun)
    print(min(took))


if __name__ == "__main__":
    main()
