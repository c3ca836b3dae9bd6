"""A commit in preparation: columns, files and properties become visible at once."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from headrace.sinks.iceberg.jvm import IcebergJvm
from headrace.sinks.iceberg.storage import IcebergStorage
from headrace.sinks.replicas.lake import QUERY, DataFile, Storage, TableChange, TableName

ROWS = "headrace.rows"
"""The table property with the number of live rows after headrace's last commit."""
SNAPSHOT = "headrace.snapshot"
"""The table property with the id and the sequence number of the snapshot of headrace's last commit,
separated by a space."""


def live_rows(files: Iterable[DataFile]) -> int:
    """Return the number of live rows in files."""
    return sum(file.rows - file.deleted for file in files)


class IcebergTransaction:
    """See `headrace.sinks.replicas.lake.Transaction`."""

    def __init__(
        self,
        name: TableName,
        java: IcebergJvm,
        transaction: Any,
        storage: IcebergStorage,
        files: Sequence[DataFile],
        snapshot: int | None,
        spec: Any,
        properties: Mapping[str, str],
        committed: Callable[[int | None, tuple[DataFile, ...]], None],
    ) -> None:
        """`properties` are set in addition to those of the commit (empty: removed); `committed` is
        called with the snapshot that the commit made (None: it made none), and the live files if
        nobody else committed."""
        self.storage: Storage = storage
        self.files = files
        self._name = name
        self._java = java
        self._transaction = transaction
        self._snapshot = snapshot
        self._spec = spec
        self._properties = properties
        self._committed = committed

    def commit(self, change: TableChange, properties: Mapping[str, str]) -> str:
        """See Transaction. A change without files makes no snapshot, only properties."""
        with self._java.failing("commit", self._name, commits=True):
            staged, counted = None, dict[str, str]()
            files = self._after(change)
            if change.added or change.vectors or change.removed:
                if change.is_compaction:
                    self._rewrite(change, properties)
                elif self._removes_all(change):
                    self._overwrite(change, properties)
                else:
                    self._row_delta(change, properties)
                snapshot = self._transaction.table().currentSnapshot()
                staged = snapshot.snapshotId()
                if QUERY in properties:
                    counted[ROWS] = str(live_rows(files))
                    counted[SNAPSHOT] = f"{staged} {snapshot.sequenceNumber()}"
            if merged := dict(self._properties) | dict(properties) | counted:
                update = self._transaction.updateProperties()
                for name, value in merged.items():
                    if value:
                        update.set(name, value)
                    else:
                        update.remove(name)
                update.commit()
            self._transaction.commitTransaction()
        self._committed(staged, files)
        last = self._snapshot if staged is None else staged
        return "" if last is None else str(last)

    def _removes_all(self, change: TableChange) -> bool:
        removed = {file.path for file in change.removed}
        return bool(removed) and not change.vectors and removed == {f.path for f in self.files}

    def _row_delta(self, change: TableChange, properties: Mapping[str, str]) -> None:
        delta = self._transaction.newRowDelta()
        for file in change.added:
            delta.addRows(self._file(file.description))
        for file, vector, _ in change.vectors:
            delta.addDeletes(self._file(vector))
            if file.vector is not None:
                delta.removeDeletes(self._file(file.vector))
        for file in change.removed:
            delta.removeRows(self._file(file.description))
            if file.vector is not None:
                delta.removeDeletes(self._file(file.vector))
        if change.vectors:
            paths = [json.loads(file.description)["file-path"] for file, _, _ in change.vectors]
            delta.validateDataFilesExist(self._java.list_of(paths))
        delta.validateDeletedFiles()
        # A foreign row would be detected only before the next commit: it is a conflict, too.
        delta.conflictDetectionFilter(self._all_rows())
        delta.validateNoConflictingDataFiles().validateNoConflictingDeleteFiles()
        self._finish(delta, properties)

    def _overwrite(self, change: TableChange, properties: Mapping[str, str]) -> None:
        overwrite = self._transaction.newOverwrite()
        overwrite.overwriteByRowFilter(self._all_rows())
        for file in change.added:
            overwrite.addFile(self._file(file.description))
        overwrite.conflictDetectionFilter(self._all_rows())
        overwrite.validateNoConflictingData().validateNoConflictingDeletes()
        self._finish(overwrite, properties)

    def _rewrite(self, change: TableChange, properties: Mapping[str, str]) -> None:
        rewrite = self._transaction.newRewrite()
        for file in change.removed:
            rewrite.deleteFile(self._file(file.description))
            if file.vector is not None:
                rewrite.deleteFile(self._file(file.vector))
        for file, vector, _ in change.vectors:
            rewrite.addFile(self._file(vector))
            if file.vector is not None:
                rewrite.deleteFile(self._file(file.vector))
        for file in change.added:
            rewrite.addFile(self._file(file.description))
        self._finish(rewrite, properties)

    def _finish(self, update: Any, properties: Mapping[str, str]) -> None:
        if self._snapshot is not None:
            update.validateFromSnapshot(self._snapshot)
        for name, value in properties.items():
            update.set(name, value)
        update.commit()

    def _all_rows(self) -> Any:
        return self._java.iceberg.expressions.Expressions.alwaysTrue()

    def _file(self, description: str) -> Any:
        return self._java.file(description, self._spec)

    def _after(self, change: TableChange) -> tuple[DataFile, ...]:
        """The live files after the commit."""
        gone = {file.path for file in change.removed}
        vectors = {file.path: (vector, deleted) for file, vector, deleted in change.vectors}
        remaining = [
            replace(file, vector=vectors[file.path][0], deleted=vectors[file.path][1])
            if file.path in vectors
            else file
            for file in self.files
            if file.path not in gone
        ]
        return (*remaining, *change.added)
