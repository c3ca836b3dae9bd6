"""A catalog of Iceberg tables."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from headrace.errors import HeadraceError
from headrace.sinks.iceberg.jdbc import CatalogDatabase
from headrace.sinks.iceberg.jvm import IcebergJvm, is_java
from headrace.sinks.iceberg.options import IcebergOptions
from headrace.sinks.iceberg.storage import file_path
from headrace.sinks.iceberg.table import IcebergTable
from headrace.sinks.iceberg.types import iceberg_schema
from headrace.sinks.replicas.files.local_folders import folder_failed
from headrace.sinks.replicas.lake import (
    COMMENT,
    KEY,
    LakeTable,
    TableName,
    TableSchema,
    require_name,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_NEW_TABLE = {
    "format-version": "3",
    "write.metadata.delete-after-commit.enabled": "true",
    "write.metadata.previous-versions-max": "20",
    "commit.manifest.min-count-to-merge": "10",
    "write.delete.mode": "merge-on-read",
    "write.update.mode": "merge-on-read",
    "write.merge.mode": "merge-on-read",
}
"""Properties of new tables, which options of the sink override. Without the second and third every
commit would leave a metadata file; a file's new vector is searched in all manifests of vectors, so
there are only a few of these."""


class IcebergCatalog:
    """See `headrace.sinks.replicas.lake.Lake`."""

    def __init__(self, spark: SparkSession, options: IcebergOptions) -> None:
        """Raises HeadraceError("iceberg.jars_missing"), ("replicas.not_written"), and as
        `_make_folders` and `IcebergJvm.catalog` do."""
        _make_folders(options)
        self._options = options
        self._java = IcebergJvm(spark, options)
        self._catalog = self._java.catalog()

    def table(self, name: TableName) -> LakeTable | None:
        """See Lake. Raises HeadraceError(NAME_NOT_TAKEN), and HeadraceError for a view, a
        partitioned table and a table of another format version than 3."""
        _require_name(self._options, name)
        identifier = self._identifier(name)
        try:
            with self._java.failing("load it", name):
                return IcebergTable(name, self._java, self._catalog.loadTable(identifier))
        except HeadraceError as error:
            if not is_java(error, "NoSuchTableException", "NoSuchNamespaceException"):
                raise
        is_view = False
        with contextlib.suppress(Exception):  # not every catalog has views
            is_view = self._catalog.viewExists(identifier)
        if is_view:
            raise HeadraceError(
                "iceberg.no_table",
                f"{name} is a view in the catalog {self._options.catalog}",
                "Let headrace keep a table of another name.",
            )
        return None

    def create(
        self, name: TableName, schema: TableSchema, properties: Mapping[str, str]
    ) -> LakeTable:
        """Create an empty table, and its namespace."""
        columns = require_table(self._options, name, schema)
        merged = _NEW_TABLE | dict(self._options.table)
        if schema.comment:
            merged[COMMENT] = schema.comment
        merged |= {KEY: json.dumps(list(schema.key))} | dict(properties)
        with self._java.failing("create it", name):
            if name.namespace:
                self._create_namespace(name)
            table = (
                self._catalog.buildTable(
                    self._identifier(name), self._java.iceberg.SchemaParser.fromJson(columns)
                )
                .withProperties(self._java.map_of(merged))
                .create()
            )
            return IcebergTable(name, self._java, table)

    def announce(self, name: TableName) -> None:
        """See Lake; does nothing, because the catalog has the table."""

    def close(self) -> None:
        """Close the catalog."""
        with contextlib.suppress(Exception):
            self._catalog.close()

    def _create_namespace(self, name: TableName) -> None:
        for depth in range(1, len(name.namespace) + 1):
            namespace = self._java.namespace(name.namespace[:depth])
            if self._catalog.namespaceExists(namespace):
                continue
            try:
                with self._java.failing("create its namespace", name):
                    self._catalog.createNamespace(namespace)
            except HeadraceError:
                # Another process was faster; each catalog has another exception for this.
                if not self._catalog.namespaceExists(namespace):
                    raise

    def _identifier(self, name: TableName) -> object:
        catalog = self._java.iceberg.catalog
        return catalog.TableIdentifier.of(self._java.namespace(name.namespace), name.name)


def _make_folders(options: IcebergOptions) -> None:
    """Create the local folders: the warehouse, and the folder of SQLite's file. Raises
    HeadraceError("replicas.storage_failed")."""
    folders = []
    if options.kind != "rest" and options.s3 is None:
        folders.append(Path(file_path(options.warehouse, None)))
    if options.kind == "jdbc" and (file := CatalogDatabase(options).file) is not None:
        folders.append(file.parent)
    for folder in folders:
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise folder_failed(str(folder), error) from None


def require_table(options: IcebergOptions, name: TableName, schema: TableSchema) -> str:
    """The JSON of a new table's columns. Raises HeadraceError for names and types that Iceberg does
    not support."""
    _require_name(options, name)
    columns = iceberg_schema(schema)
    _check_names(name, schema)
    return columns


def _require_name(options: IcebergOptions, name: TableName) -> None:
    require_name(name, f"in the catalog {options.catalog}")


def _check_names(name: TableName, schema: TableSchema) -> None:
    names = schema.names
    twice = [column for place, column in enumerate(names) if column in names[:place]]
    if twice or "" in names:
        raise HeadraceError(
            "replicas.column_not_taken",
            f"The table {name} would have two columns {twice[0]}"
            if twice
            else f"The table {name} would have a column without a name",
            "Rename a column by a transform, or leave it out by column.exclude.list.",
        )
