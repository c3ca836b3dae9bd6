"""An Iceberg table in the command's process: its state, and its commits."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from headrace.errors import HeadraceError
from headrace.sinks.iceberg.evolution import change_columns
from headrace.sinks.iceberg.jvm import IcebergJvm
from headrace.sinks.iceberg.live_files import live_files
from headrace.sinks.iceberg.s3 import access_of
from headrace.sinks.iceberg.storage import IcebergStorage, file_path
from headrace.sinks.iceberg.transaction import ROWS, SNAPSHOT, IcebergTransaction, live_rows
from headrace.sinks.iceberg.types import table_schema
from headrace.sinks.replicas.lake import (
    COMMENT,
    KEY,
    OURS,
    QUERY,
    ColumnChange,
    DataFile,
    TableName,
    TableSchema,
    Transaction,
)

if TYPE_CHECKING:
    from headrace.sinks.replicas.files.s3 import S3Access

_MAX_NAMED = 3


class IcebergTable:
    """See `headrace.sinks.replicas.lake.LakeTable`.

    The live files are read once, and updated with each commit as long as nobody else commits.
    """

    def __init__(self, name: TableName, java: IcebergJvm, table: Any) -> None:
        """Raises HeadraceError("iceberg.no_table")."""
        self.name = name
        self._java = java
        self._table = table
        self._metadata = ""
        self._properties: dict[str, str] = {}
        self._fields: Sequence[Mapping[str, Any]] = ()
        self._snapshot: int | None = None
        self._files: tuple[DataFile, ...] = ()
        self._files_of: int | None = None
        with java.failing("read it", name):
            self._s3 = self._access()
            self._check()
            self._read()

    def schema(self) -> TableSchema:
        """See LakeTable. Raises HeadraceError("iceberg.column_not_understood")."""
        self._require_read()
        return self._schema_of(self._fields, self._key())

    def properties(self) -> Mapping[str, str]:
        """See LakeTable."""
        self._require_read()
        return {n: value for n, value in self._properties.items() if n.startswith(OURS)}

    def _rolled_back(self, last: Any, last_own: Any) -> list[str]:
        """Return a sentence if another writer has rolled the table back, so that it lacks a later
        snapshot of headrace than `last_own`, the last one before `last` (None: it has none)."""
        known, history = last_own or last, self._table.history()
        for place in reversed(range(history.size())):
            entry = history.get(place)
            number, time_ms = entry.snapshotId(), entry.timestampMillis()
            if (number, time_ms) == (known.snapshotId(), known.timestampMillis()):
                break  # its commit: entries before it are older
            snapshot = self._table.snapshot(number)
            if snapshot is None or snapshot.sequenceNumber() <= known.sequenceNumber():
                continue
            if QUERY in self._java.values_of(snapshot.summary()):
                return [f"Snapshot {number} of headrace was rolled back to {last.snapshotId()}"]
        if last_own is None or (noted := self._last_noted()) is None:
            return []
        number, _ = noted
        if number == last_own.snapshotId():
            return []
        return [
            f"Snapshot {number} of headrace, which has expired, was rolled back to "
            f"{last.snapshotId()}"
        ]

    def _last_noted(self) -> tuple[int, int] | None:
        """The id and the sequence number of headrace's last snapshot, which no rollback changes;
        None: an earlier version of headrace has committed it."""
        self._read()
        number, _, sequence = self._properties.get(SNAPSHOT, "").partition(" ")
        return (int(number), int(sequence)) if sequence else None

    def _expired(self, sequence: int) -> list[str]:
        """A sentence if others committed snapshots that have expired: between headrace's last one
        and that of a sequence number."""
        noted = self._last_noted()
        count = 0 if noted is None else sequence - noted[1]
        if count <= 0:
            return []
        return [
            f"{count} snapshot(s) of other writers that expired unread and may have changed rows"
        ]

    def expire(self, older_than: dt.datetime) -> None:
        """See LakeTable: the snapshot that was the last one at that moment stays, and those after
        it. Files that the last snapshot removed are deleted when it expires itself."""
        oldest_ms = int(older_than.timestamp() * 1000)
        with self._java.failing("expire its snapshots", self.name):
            snapshots = self._java.iceberg.util.SnapshotUtil
            last = snapshots.nullableSnapshotIdAsOfTime(self._table, oldest_ms)
            if last is not None and (snapshot := self._table.snapshot(last)) is not None:
                oldest_ms = min(oldest_ms, snapshot.timestampMillis())
            self._table.expireSnapshots().expireOlderThan(oldest_ms).retainLast(1).commit()
        self.refresh()

    def has_former_versions(self) -> bool:
        """See LakeTable: tags and branches keep snapshots."""
        with self._java.failing("read its snapshots", self.name):
            self._table.refresh()
            snapshots = self._table.snapshots().iterator()
            if not snapshots.hasNext():
                return False
            snapshots.next()
            return bool(snapshots.hasNext())

    def version(self) -> str:
        """The id of the last snapshot; empty without one."""
        self._require_read()
        return "" if self._snapshot is None else str(self._snapshot)

    def refresh(self) -> None:
        """See LakeTable."""
        with self._java.failing("read it", self.name):
            self._table.refresh()
            self._read()

    def begin(self, change: ColumnChange) -> Transaction:
        """See LakeTable."""
        with self._java.failing("begin a commit", self.name):
            transaction = self._table.newTransaction()  # refreshes
            self._read()
            spec = self._table.spec()
        key = self._key()
        schema = self._schema_of(self._fields, key)
        fields, properties = self._fields, dict[str, str]()
        if change.comment is not None:
            properties[COMMENT] = change.comment
        if change.is_of_columns:
            fields = change_columns(self._java, transaction, schema, change, self.name)
            renamed = tuple(change.renamed.get(column, column) for column in key)
            if renamed != key:
                key = renamed
                properties[KEY] = json.dumps(list(renamed))
            schema = self._schema_of(fields, key)
        storage = self._storage(schema, fields)
        self._plan()
        return IcebergTransaction(
            self.name,
            self._java,
            transaction,
            storage,
            self._files,
            self._snapshot,
            spec,
            properties,
            self._follow,
        )

    def foreign_changes(self) -> Sequence[str]:
        """See LakeTable: one sentence per snapshot. Snapshots that have expired are left out, but
        for the rows that they added or deleted."""
        changes: list[str] = []
        last_own = parent = None
        visited = 0
        with self._java.failing("read its snapshots", self.name):
            last = snapshot = self._table.currentSnapshot()
            while snapshot is not None and len(changes) < _MAX_NAMED:
                summary = self._java.values_of(snapshot.summary())
                if QUERY in summary:
                    last_own = snapshot
                    break
                visited += 1
                if (operation := snapshot.operation()) != "replace":
                    by = summary.get("engine-name") or summary.get("app-id") or "an unnamed writer"
                    counts = ", ".join(
                        f"{name} {summary[name]}"
                        for name in ("added-records", "deleted-records")
                        if name in summary
                    )
                    changes.append(
                        f"Snapshot {snapshot.snapshotId()} of {by}: {operation}"
                        + (f" ({counts})" if counts else "")
                    )
                parent = snapshot.parentId()
                snapshot = None if parent is None else self._table.snapshot(parent)
            if snapshot is None and parent is not None and not changes:
                self._read()
                changes += self._rows_changed() or self._expired(last.sequenceNumber() - visited)
            return changes if last is None else self._rolled_back(last, last_own) + changes

    def _rows_changed(self) -> list[str]:
        """A sentence if the live rows are not as many as after headrace's last commit."""
        self._plan()
        rows, known = live_rows(self._files), self._properties.get(ROWS)
        if known is None or int(known) == rows:
            return []
        return [
            f"Snapshots that have expired: the table has {rows:,} rows instead of {int(known):,}"
        ]

    def _follow(self, staged: int | None, files: tuple[DataFile, ...]) -> None:
        """Update the state after a commit on the state of the last `begin`."""
        before, self._metadata = self._snapshot, ""
        with suppress(HeadraceError), self._java.failing("read it", self.name):
            # The commit has succeeded: what cannot be read now is read when it is needed.
            self._table.refresh()
            self._read()
            is_last = staged is not None and self._snapshot == staged
            if is_last and self._table.currentSnapshot().parentId() == before:
                self._files, self._files_of = files, staged

    def _plan(self) -> None:
        if self._files_of == self._snapshot:
            return
        if self._snapshot is None:
            self._files = ()
        else:
            # Files from before a column change have the same ids, so one schema reads all bounds.
            storage = self._storage(self.schema(), self._fields)
            with self._java.failing("read its files", self.name):
                self._files = live_files(self._java, self._table, storage)
        self._files_of = self._snapshot

    def _require_read(self) -> None:
        """Read the state if it could not be read after the last commit. Raises HeadraceError."""
        if not self._metadata:
            self.refresh()

    def _read(self) -> None:
        metadata = self._table.operations().current()
        location = metadata.metadataFileLocation()
        if location == self._metadata:
            return
        self._fields = json.loads(self._java.iceberg.SchemaParser.toJson(metadata.schema()))[
            "fields"
        ]
        self._properties = self._java.values_of(metadata.properties())
        snapshot = metadata.currentSnapshot()
        self._snapshot = None if snapshot is None else snapshot.snapshotId()
        self._metadata = location

    def _check(self) -> None:
        metadata = self._table.operations().current()
        version = metadata.formatVersion()
        file_path(self._table.location(), self._s3)
        if version != 3:
            raise self._unfit(
                f"has the format version {version}, and headrace keeps tables of version 3",
                f"ALTER TABLE {self.name} SET TBLPROPERTIES ('format-version' = '3')",
            )
        if not metadata.spec().isUnpartitioned():
            raise self._unfit(
                "has partitions, which headrace does not write yet",
                f"ALTER TABLE {self.name} DROP PARTITION FIELD …",
            )

    def _unfit(self, reason: str, remedy: str) -> HeadraceError:
        return HeadraceError(
            "iceberg.no_table",
            f"The Iceberg table {self.name} cannot be a replica: it {reason}",
            f"{remedy}, or let headrace keep a table of another name.",
        )

    def _key(self) -> tuple[str, ...]:
        return tuple(json.loads(self._properties.get(KEY, "[]")))

    def _schema_of(self, fields: Sequence[Mapping[str, Any]], key: tuple[str, ...]) -> TableSchema:
        comment = self._properties.get(COMMENT)
        return table_schema({"fields": fields}, key, comment, str(self.name))

    def _storage(self, schema: TableSchema, fields: Sequence[Mapping[str, Any]]) -> IcebergStorage:
        location = str(self._table.location()).rstrip("/")
        folder = self._properties.get("write.data.path", f"{location}/data").rstrip("/")
        return IcebergStorage(str(self.name), schema, self._s3, folder, tuple(fields))

    def _access(self) -> S3Access | None:
        """The access to data files; a REST catalog may add to that of the options."""
        options = self._java.options
        if options.s3 is None or options.kind != "rest":
            return options.s3
        return access_of(self._java.values_of(self._table.io().properties()))
