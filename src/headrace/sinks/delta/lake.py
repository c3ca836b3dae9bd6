"""A folder of Delta tables."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING

from headrace.errors import HeadraceError
from headrace.sinks.delta.kernel import Kernel
from headrace.sinks.delta.locations import table_folder
from headrace.sinks.delta.schemas import schema_json
from headrace.sinks.delta.table import DeltaTable
from headrace.sinks.replicas.lake import COMMENT, KEY, LakeTable, TableName, TableSchema

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from headrace.sinks.delta.session_catalog import SessionCatalog


class DeltaLake:
    """See Lake. `properties` are the properties of new tables."""

    def __init__(self, spark: SparkSession, folder: str, properties: Mapping[str, str]) -> None:
        """Raises HeadraceError("delta.no_kernel")."""
        from pyarrow.fs import LocalFileSystem

        self._filesystem = LocalFileSystem()
        self._folder = folder
        self._properties = properties
        self._kernel = Kernel(spark)
        self.catalog: SessionCatalog | None = None
        """The catalog in which tables are registered; None without one."""

    def table(self, name: TableName) -> LakeTable | None:
        """See Lake. Raises HeadraceError("delta.not_a_table"), ("delta.not_a_replica"), and as
        `Kernel.load`."""
        from pyarrow.fs import FileSelector

        root = table_folder(self._folder, name)
        entries = self._filesystem.get_file_info(FileSelector(root, allow_not_found=True))
        if not entries:
            return None
        log = FileSelector(f"{root}/_delta_log", allow_not_found=True)
        if not any(
            file.base_name.endswith(".json") for file in self._filesystem.get_file_info(log)
        ):
            if all(file.base_name == "_delta_log" for file in entries):
                return None  # a creation that was interrupted
            raise HeadraceError(
                "delta.not_a_table",
                f"The folder of the table {name}, {root}, is not empty and not a Delta table",
                "Empty it, or choose another headrace.sink.path.",
            )
        table = DeltaTable(name, root, self._kernel, self._filesystem)
        table.refresh()
        return table

    def create(
        self, name: TableName, schema: TableSchema, properties: Mapping[str, str]
    ) -> LakeTable:
        """See Lake. Raises as `Kernel.create`, too."""
        root = table_folder(self._folder, name)
        table_properties = {**self._properties, KEY: json.dumps(schema.key), **properties}
        if schema.comment:
            table_properties[COMMENT] = schema.comment
        self._kernel.create(root, schema_json(schema.columns), table_properties)
        table = DeltaTable(name, root, self._kernel, self._filesystem)
        table.refresh()
        return table

    def announce(self, name: TableName) -> None:
        """See Lake. Raises as `SessionCatalog.enter`."""
        if self.catalog is not None:
            self.catalog.enter(name, table_folder(self._folder, name))

    def close(self) -> None:
        """See Lake."""
        self._kernel.close()
