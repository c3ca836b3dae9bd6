"""Tables of a lake as readers that know nothing of headrace read them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa
import pytest
from deltalake import DeltaTable, QueryBuilder
from pyiceberg.catalog.sql import SqlCatalog
from pyspark.sql import SparkSession

from headrace.sinks.iceberg.format import FORMAT as ICEBERG
from headrace.sinks.replicas.lake import TableName
from tests.servers.s3 import S3Server
from tests.sinks.lake.jars import require_delta

Row = dict[str, Any]


class ReadLake(ABC):
    """A folder with tables of one format."""

    name: ClassVar[str]
    """The value of `headrace.sink.type`."""
    option: ClassVar[str]
    """The option that names the folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def properties(self) -> dict[str, str]:
        """The properties of a sink of replicas into the lake."""
        return {
            "headrace.sink.type": self.name,
            "headrace.sink.mode": "replica",
            f"headrace.sink.{self.option}": str(self.folder),
        }

    @abstractmethod
    def table(self, namespace: str, name: str, version: int | None = None) -> pa.Table:
        """The rows of a table, or of a snapshot or version of it."""

    @abstractmethod
    def table_properties(self, namespace: str, name: str) -> dict[str, str]:
        """The properties of a table."""

    @abstractmethod
    def version(self, namespace: str, name: str) -> str:
        """The last snapshot or version of a table."""

    @abstractmethod
    def commits(self, namespace: str, name: str) -> int:
        """The number of commits of rows that a table has kept."""

    @abstractmethod
    def files(self, namespace: str, name: str) -> int:
        """The number of data files of a table."""

    @abstractmethod
    def add_column(self, namespace: str, name: str, column: str) -> None:
        """Add a column of texts, as somebody does who knows nothing of headrace."""

    def found(self, namespace: str, name: str) -> list[Row] | None:
        """The rows of a table, whatever became of its columns; None: there is no such."""
        return self.rows(namespace, name) if self.has(namespace, name) else None

    @abstractmethod
    def has(self, namespace: str, name: str) -> bool:
        """Whether there is a table of that name."""

    def rows(self, namespace: str, name: str, version: int | None = None) -> list[Row]:
        """The rows of a table, or of a snapshot or version of it."""
        rows: list[Row] = self.table(namespace, name, version).to_pylist()
        return rows


class IcebergLake(ReadLake):
    """Read by PyIceberg."""

    name, option = "iceberg", "warehouse"

    def options(self) -> dict[str, str]:
        """The options of the sink."""
        return {self.option: str(self.folder)}

    @property
    def catalog(self) -> SqlCatalog:
        uri = f"sqlite:///{self.folder}/catalog.db"
        return SqlCatalog("headrace", uri=uri, warehouse=str(self.folder))

    def has(self, namespace: str, name: str) -> bool:
        return bool(self.catalog.table_exists((namespace, name)))

    def table(self, namespace: str, name: str, version: int | None = None) -> pa.Table:
        return self.catalog.load_table((namespace, name)).scan(snapshot_id=version).to_arrow()

    def table_properties(self, namespace: str, name: str) -> dict[str, str]:
        return dict(self.catalog.load_table((namespace, name)).properties)

    def version(self, namespace: str, name: str) -> str:
        return str(self.catalog.load_table((namespace, name)).metadata.current_snapshot_id)

    def commits(self, namespace: str, name: str) -> int:
        return len(self.catalog.load_table((namespace, name)).metadata.snapshots)

    def files(self, namespace: str, name: str) -> int:
        return len(list(self.catalog.load_table((namespace, name)).scan().plan_files()))

    def add_column(self, namespace: str, name: str, column: str) -> None:
        with self._written(namespace, name) as table:
            kind = table._java.type("string")
            table._table.updateSchema().addColumn(column, kind).commit()

    def drop_column(self, namespace: str, name: str, column: str) -> None:
        """Drop a column, as somebody does who knows nothing of headrace."""
        with self._written(namespace, name) as table:
            table._table.updateSchema().deleteColumn(column).commit()

    @contextmanager
    def _written(self, namespace: str, name: str) -> Iterator[Any]:
        """A table for writers; PyIceberg does not write version 3."""
        session = SparkSession.getActiveSession()
        assert session is not None
        lake = ICEBERG.open(session, self.options())
        yield lake.table(TableName((namespace,), name))
        lake.close()


class IcebergOnS3(IcebergLake):
    """Iceberg in a bucket, with a JDBC catalog in SQLite in a folder."""

    def __init__(self, folder: Path, server: S3Server) -> None:
        super().__init__(folder)
        self.server, self.bucket = server, server.bucket()
        self.warehouse = f"s3://{self.bucket}/lake"

    def options(self) -> dict[str, str]:
        catalog = {f"catalog.{name}": text for name, text in self.server.properties.items()}
        uri = f"jdbc:sqlite:{self.folder}/catalog.db"
        return {"warehouse": self.warehouse, "catalog.uri": uri, **catalog}

    def properties(self) -> dict[str, str]:
        options = {f"headrace.sink.{name}": text for name, text in self.options().items()}
        return super().properties() | options

    @property
    def catalog(self) -> SqlCatalog:
        uri = f"sqlite:///{self.folder}/catalog.db"
        return SqlCatalog(
            "headrace", uri=uri, warehouse=self.warehouse, **self.server.properties,
            **{"s3.region": "us-east-1"},
        )  # fmt: skip

    def vectors(self, namespace: str, name: str) -> int:
        """The number of deletion vectors that a reader of a table has to read."""
        planned = self.catalog.load_table((namespace, name)).scan().plan_files()
        return len({each.file_path for file in planned for each in file.delete_files})


def rows_by_duckdb(path: Path) -> list[Row]:
    """The rows of a Delta table by DuckDB, which reads those with columns whose types were widened,
    as delta-rs does not."""
    import duckdb
    import duckdb_extension_delta

    extension = next(Path(duckdb_extension_delta.__file__).parent.rglob("*.duckdb_extension"))
    with duckdb.connect(config={"allow_unsigned_extensions": "true"}) as connection:
        connection.execute(f"LOAD '{extension}'")
        connection.execute("SET TimeZone = 'UTC'")
        relation = connection.execute(f"SELECT * FROM delta_scan('{path}')")
        return list(relation.to_arrow_table().to_pylist())


class DeltaLake(ReadLake):
    """Read by delta-rs."""

    name, option = "delta", "path"

    def path(self, namespace: str, name: str) -> str:
        return str(self.folder / namespace / name)

    def has(self, namespace: str, name: str) -> bool:
        return bool(DeltaTable.is_deltatable(self.path(namespace, name)))

    def found(self, namespace: str, name: str) -> list[Row] | None:
        path = self.path(namespace, name)
        return rows_by_duckdb(Path(path)) if self.has(namespace, name) else None

    def table(self, namespace: str, name: str, version: int | None = None) -> pa.Table:
        table = DeltaTable(self.path(namespace, name), version=version)
        return pa.table(QueryBuilder().register("t", table).execute("SELECT * FROM t").read_all())

    def table_properties(self, namespace: str, name: str) -> dict[str, str]:
        return dict(DeltaTable(self.path(namespace, name)).metadata().configuration)

    def version(self, namespace: str, name: str) -> str:
        return str(DeltaTable(self.path(namespace, name)).version())

    def commits(self, namespace: str, name: str) -> int:
        history = DeltaTable(self.path(namespace, name)).history()
        return sum("CREATE" not in each["operation"] for each in history)

    def files(self, namespace: str, name: str) -> int:
        return len(DeltaTable(self.path(namespace, name)).file_uris())

    def add_column(self, namespace: str, name: str, column: str) -> None:
        session = SparkSession.getActiveSession()
        assert session is not None
        require_delta(session)
        path = self.path(namespace, name)
        session.sql(f"ALTER TABLE delta.`{path}` ADD COLUMNS ({column} STRING)").collect()


LAKES: dict[str, type[ReadLake]] = {lake.name: lake for lake in (IcebergLake, DeltaLake)}
"""Lakes by the value of `headrace.sink.type`."""
IN_TURN = [IcebergLake.name, pytest.param(DeltaLake.name, marks=pytest.mark.chaos)]
"""Both, for tests that have another one of each path in `make test`."""
