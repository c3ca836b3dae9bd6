"""A Delta table that is kept as a replica, and its commits."""

from __future__ import annotations

import datetime as dt
import json
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from headrace.errors import HeadraceError
from headrace.sinks.delta.kernel import Kernel, Metadata
from headrace.sinks.delta.locations import file_path
from headrace.sinks.delta.log import foreign_changes, last_commit
from headrace.sinks.delta.schemas import (
    Field,
    changed_fields,
    fields_json,
    physical_schema,
    table_schema,
)
from headrace.sinks.delta.statistics import loosened, read_statistics
from headrace.sinks.delta.storage import DeltaStorage
from headrace.sinks.replicas.lake import (
    BATCH,
    BOUNDARY,
    COMMENT,
    CONFLICT,
    KEY,
    OURS,
    PLACE,
    POSITION,
    QUERY,
    RUN,
    TIME,
    UPKEEP,
    ColumnChange,
    DataFile,
    Storage,
    TableChange,
    TableName,
    TableSchema,
    Transaction,
)

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.fs

_OF_BATCHES = (QUERY, RUN, BATCH, POSITION, TIME, BOUNDARY, UPKEEP, PLACE)
"""The properties that change with each batch, which are in a metadata domain. As table properties
they would change the table's metadata, after which Spark refuses transactions that began before: an
OPTIMIZE that takes longer than a batch would never succeed. They would also write all columns into
the log again."""
_MODE, _LAST_ID = "delta.columnMapping.mode", "delta.columnMapping.maxColumnId"
_VECTORS, _WIDENING = "delta.enableDeletionVectors", "delta.enableTypeWidening"
_INDEXED = "delta.dataSkippingNumIndexedCols"


class DeltaTable:
    """See LakeTable."""

    def __init__(
        self, name: TableName, root: str, kernel: Kernel, filesystem: pyarrow.fs.FileSystem
    ) -> None:
        self.name = name
        self.root = root
        self._kernel = kernel
        self._filesystem = filesystem
        self._metadata: Metadata | None = None
        self._files: dict[str, DataFile] = {}
        self._files_version = -1
        """The version whose live files are known."""

    def schema(self) -> TableSchema:
        """See LakeTable. Raises HeadraceError("delta.column_not_understood")."""
        known = self._known()
        return _table_schema(known.fields, known.configuration)

    def properties(self) -> Mapping[str, str]:
        """See LakeTable."""
        known = self._known()
        ours = {name: v for name, v in known.configuration.items() if name.startswith(OURS)}
        return {**ours, **known.domain}

    def version(self) -> str:
        """See LakeTable."""
        return str(self._known().version)

    def refresh(self) -> None:
        """See LakeTable. Raises HeadraceError("delta.not_a_replica"), and as `Kernel.load`."""
        if self._metadata is not None and not self._is_changed(self._metadata.version):
            return
        self._metadata = None
        loaded = self._kernel.load(self.root)
        self._require_replica(loaded)
        self._metadata = loaded

    def begin(self, change: ColumnChange) -> Transaction:
        """See LakeTable."""
        self.refresh()
        known = self._known()
        if self._files_version != known.version:
            self._files = self._live_files(known)
            self._files_version = known.version
        return DeltaTransaction(self, known, change, self._files)

    def expire(self, older_than: dt.datetime) -> None:
        """See LakeTable; does nothing: Spark's VACUUM deletes files that were removed long ago, and
        Kernel writes checkpoints with the commits."""

    def has_former_versions(self) -> bool:
        """See LakeTable: only VACUUM deletes their files."""
        return True

    def foreign_changes(self) -> Sequence[str]:
        """See LakeTable."""
        return foreign_changes(self._filesystem, self.root, self._known().version)

    def commit(
        self, known: Metadata, actions: Sequence[Mapping[str, Any]], files: dict[str, DataFile],
        **options: Any,
    ) -> None:  # fmt: skip
        """Commit actions on a version; `files` are the live files after it. For transactions."""
        try:
            committed = self._kernel.commit(self.root, known.snapshot, actions, **options)
        except HeadraceError as error:
            self._metadata = None
            if error.code != CONFLICT:
                raise
            raise self._conflict(known, error) from None
        self._metadata, self._files, self._files_version = committed, files, known.version + 1

    def storage(self, fields: Sequence[Field], configuration: Mapping[str, str]) -> DeltaStorage:
        """The storage of the table with these columns."""
        schema = _table_schema(fields, configuration)
        indexed = int(configuration.get(_INDEXED, "32"))
        return DeltaStorage(self.root, schema, tuple(fields), indexed, self._filesystem)

    def _known(self) -> Metadata:
        if self._metadata is None:
            self.refresh()
        assert self._metadata is not None
        return self._metadata

    def _is_changed(self, version: int) -> bool:
        """Whether there is a newer version, or this version is gone: the table was created
        again."""
        paths = [f"{self.root}/_delta_log/{number:020}.json" for number in (version, version + 1)]
        ours, newer = self._filesystem.get_file_info(paths)
        return bool(newer.is_file) or not ours.is_file

    def _live_files(self, known: Metadata) -> dict[str, DataFile]:
        schema = physical_schema(known.fields)
        files = {}
        for added in self._kernel.live_files(self.root, known.snapshot):
            file = self._data_file(added, schema)
            files[file.path] = file
        return files

    def _data_file(self, added: dict[str, Any], schema: pa.Schema) -> DataFile:
        path = file_path(self.root, added["path"])
        vector = added.pop("deletionVector", None)
        rows, bounds = read_statistics(added.get("stats"), schema)
        if rows is None:
            import pyarrow.parquet as pq

            rows = pq.read_metadata(path, filesystem=self._filesystem).num_rows
        return DataFile(
            path,
            rows,
            added["size"],
            json.dumps(added),
            bounds,
            None if vector is None else json.dumps(vector),
            0 if vector is None else vector["cardinality"],
        )

    def _require_replica(self, loaded: Metadata) -> None:
        configuration = loaded.configuration
        if loaded.partition_columns:
            why = f"it is partitioned by {', '.join(loaded.partition_columns)}"
        elif configuration.get(_MODE) not in ("name", "id"):
            why = f"its property {_MODE} is not name"
        elif configuration.get(_VECTORS) != "true":
            why = f"its property {_VECTORS} is not true"
        elif KEY not in configuration:
            why = f"it has no property {KEY}, so headrace did not create it"
        else:
            return
        raise HeadraceError(
            "delta.not_a_replica",
            f"The Delta table {self.name} in {self.root} cannot be kept as a replica: {why}",
            "Move the table away or choose another headrace.sink.path: headrace creates its own.",
        )

    def _conflict(self, known: Metadata, error: HeadraceError) -> HeadraceError:
        """The error of a conflict, with a description of the other commit."""
        who = last_commit(self._filesystem, self.root, known.version + 1)
        return HeadraceError(
            error.code,
            f"The Delta table {self.name} was changed after version {known.version}: {who}",
            error.remedy,
            retriable=True,
        )


class DeltaTransaction:
    """See Transaction."""

    def __init__(
        self,
        table: DeltaTable,
        known: Metadata,
        change: ColumnChange,
        files: Mapping[str, DataFile],
    ) -> None:
        """Raises HeadraceError("replicas.column_not_taken")."""
        self._table = table
        self._known = known
        self._by_path = files
        self.files: Sequence[DataFile] = tuple(files.values())
        self._schema: str | None = None
        self._own: dict[str, str] = {}
        fields: Sequence[Field] = known.fields
        if change.comment is not None:
            self._own[COMMENT] = change.comment
        if change.is_of_columns:
            last_id = int(known.configuration.get(_LAST_ID, "0"))
            fields, widened = changed_fields(fields, change, last_id)
            self._schema = fields_json(fields)
            if widened:
                self._own[_WIDENING] = "true"
            key = json.loads(known.configuration[KEY])
            renamed = [change.renamed.get(name, name) for name in key]
            if renamed != key:
                self._own[KEY] = json.dumps(renamed)
        self.storage: Storage = table.storage(fields, {**known.configuration, **self._own})

    def commit(self, change: TableChange, properties: Mapping[str, str]) -> str:
        """See Transaction."""
        now = time.time_ns() // 1_000_000
        changes_rows = not change.is_compaction
        files = dict(self._by_path)
        actions: list[dict[str, Any]] = []
        for file in change.removed:
            actions.append(_remove(file, now, changes_rows))
            del files[file.path]
        for file, vector, deleted in change.vectors:
            actions.append(_remove(file, now, changes_rows))
            description = json.loads(file.description)
            description["stats"] = loosened(description.get("stats", ""))
            after = DataFile(
                file.path, file.rows, file.size, json.dumps(description), file.bounds, vector,
                deleted,
            )  # fmt: skip
            actions.append(_add(after, changes_rows))
            files[file.path] = after
        for file in change.added:
            actions.append(_add(file, changes_rows))
            files[file.path] = file
        batch = {name: value for name, value in properties.items() if name in _OF_BATCHES}
        others = {
            name: value
            for name, value in {**self._own, **properties}.items()
            if name not in _OF_BATCHES and self._known.configuration.get(name, "") != value
        }
        self._table.commit(
            self._known,
            actions,
            files,
            schema=self._schema,
            properties={name: value for name, value in others.items() if value},
            removed=[name for name, value in others.items() if not value],
            domain={**self._known.domain, **batch} if batch else {},
            application=self._application(properties),
        )
        return str(self._known.version + 1)

    def _application(self, properties: Mapping[str, str]) -> tuple[str, int] | None:
        """The application transaction of a batch; None for a commit within the same batch."""
        query, batch = properties.get(QUERY), properties.get(BATCH)
        before = self._known.domain
        if query is None or batch is None:
            return None
        if (before.get(QUERY), before.get(BATCH)) == (query, batch):
            return None
        return f"headrace/{query}", int(batch)


def _table_schema(fields: Sequence[Field], configuration: Mapping[str, str]) -> TableSchema:
    key = json.loads(configuration.get(KEY, "[]"))
    return table_schema(fields, key, configuration.get(COMMENT))


def _add(file: DataFile, changes_rows: bool) -> dict[str, Any]:
    action = {**json.loads(file.description), "dataChange": changes_rows}
    if file.vector is not None:
        action["deletionVector"] = json.loads(file.vector)
    return {"add": action}


def _remove(file: DataFile, now: int, changes_rows: bool) -> dict[str, Any]:
    description = json.loads(file.description)
    action = {
        "path": description["path"],
        "deletionTimestamp": now,
        "dataChange": changes_rows,
        "extendedFileMetadata": True,
        "partitionValues": {},
        "size": file.size,
    }
    if file.vector is not None:
        action["deletionVector"] = json.loads(file.vector)
    return {"remove": action}
