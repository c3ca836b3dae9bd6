"""Compares all replicas of a query with their source, one after the other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pyarrow as pa

from headrace.config.properties.connector import ConnectorConfig
from headrace.connectors.registry import event_shapes
from headrace.errors import HeadraceError
from headrace.sinks.checkpoint import query_of
from headrace.sinks.replicas.captured import captured_schema, captured_shapes
from headrace.sinks.replicas.lake import (
    MODE,
    QUERY,
    SOURCE,
    Lake,
    LakeTable,
    TableName,
    TableSchema,
)
from headrace.sinks.replicas.lake import is_own as is_headraces
from headrace.sinks.replicas.maintaining import noted_tables
from headrace.sinks.replicas.modes.mode import Mode
from headrace.sinks.replicas.modes.own_columns import without_own_columns
from headrace.sinks.replicas.options import RESYNC, ReplicaOptions
from headrace.sinks.replicas.source_columns import with_ids
from headrace.sinks.replicas.state.resyncing import Stage, resyncs
from headrace.sinks.replicas.state.stopped import StoppedTable
from headrace.sinks.replicas.verifying.comparison import (
    FILES_GONE,
    ComparedColumns,
    TableComparison,
)
from headrace.sinks.replicas.verifying.progress import ComparisonState, FinishedTables, Found
from headrace.sinks.replicas.verifying.query_progress import QueryProgress
from headrace.sinks.replicas.verifying.source_rows import SourceRows
from headrace.snapshots.incremental.current_rows import CurrentRows
from headrace.spark.sinks.comparison import ComparedTable, ComparisonRequest, Repair
from headrace.spark.sinks.definition import SinkQuery
from headrace.spark.state_folder import locked

_FOLDER, _STOPPED = "verify", "stopped"
_NOT_COMPARED = "replicas.not_compared"
_MAX_TRIES = 3
_ENDS = frozenset({"replicas.query_behind", "replicas.not_copied_yet"})
"""Codes of errors that concern more than one table."""


def compare_replicas(
    lake: Lake,
    options: ReplicaOptions,
    query: SinkQuery,
    current: CurrentRows,
    request: ComparisonRequest,
) -> Iterator[ComparedTable]:
    """Yield the result of each table as soon as it is known. Raises HeadraceError, but not for a
    table that cannot be compared, which is a result, too."""
    yield from _Verification(lake, options, query, current, request).run()


@dataclass(frozen=True)
class _Verification:
    lake: Lake
    options: ReplicaOptions
    query: SinkQuery
    current: CurrentRows
    request: ComparisonRequest

    @property
    def _config(self) -> ConnectorConfig:
        return self.query.config

    @property
    def _folder(self) -> Path:
        return self.query.state / _FOLDER

    def run(self) -> Iterator[ComparedTable]:
        with locked(self._folder):
            yield from self._all()

    def _all(self) -> Iterator[ComparedTable]:
        finished = FinishedTables(self._folder)
        if self.request.restart:
            finished.forget()
        progress = QueryProgress(self.query.checkpoint, self.current, self.request)
        progress.require_tables()
        captured = self._captured()
        known = finished.read()
        chosen = {
            name: schemas
            for name, schemas in captured.items()
            if any(self.request.is_chosen(source) for source in schemas)
        }
        for name, schemas in chosen.items():
            if str(name) in known:
                self.request.report(f"{name}: compared before the interruption")
                yield ComparedTable.from_json(known[str(name)])
                continue
            compared = self._compared(name, schemas, progress)
            finished.add(compared)
            yield compared
        for name in noted_tables(self.query.state):
            if name not in captured and self.request.is_chosen(str(name)):
                yield ComparedTable(str(name), why="its table of the source is not captured now")
        finished.forget()

    def _captured(self) -> dict[TableName, dict[str, TableSchema | HeadraceError]]:
        """Return the replicas, with the source tables whose rows they have, and for each of these
        the columns that it provides, or the error if it provides none."""
        by_replica: dict[TableName, dict[str, TableSchema | HeadraceError]] = {}
        for captured in captured_shapes(self._config, self.options, event_shapes(self._config)):
            schema: TableSchema | HeadraceError
            try:
                schema = captured_schema(self._config, self.options, captured)
            except HeadraceError as error:
                schema = error
            by_replica.setdefault(captured.replica, {})[captured.source] = schema
        return by_replica

    def _compared(
        self,
        name: TableName,
        schemas: Mapping[str, TableSchema | HeadraceError],
        progress: QueryProgress,
    ) -> ComparedTable:
        notes: list[str] = []
        state = ComparisonState(self._folder, name)
        try:
            for attempt in range(1, _MAX_TRIES + 1):
                table = self._table(name)
                columns = self._columns(table, schemas, notes)
                source = SourceRows(self._config, self.options, self.current)
                require = partial(self._require_replicated, name)
                comparison = TableComparison(
                    table, columns, tuple(schemas), source, progress, state, self.request, require
                )
                try:
                    results = comparison.run()
                    break
                except (HeadraceError, FileNotFoundError) as error:
                    is_gone = getattr(error, "code", FILES_GONE) == FILES_GONE
                    if not is_gone or attempt == _MAX_TRIES:
                        raise
                    state.forget()
        except HeadraceError as error:
            if error.retriable or error.code in _ENDS:
                raise
            state.forget()
            return ComparedTable(str(name), tuple(schemas), why=str(error))
        return ComparedTable(
            str(name),
            tuple(schemas),
            results.rows,
            results.chunks,
            results.differing,
            results.unsettled,
            results.position,
            differences=results.differences,
            notes=tuple(dict.fromkeys(notes)),
            repairs=self._repairs(results, columns.key, tuple(schemas)),
        )

    def _require_replicated(self, name: TableName) -> None:
        """Refuse a table that takes no changes now, or is incomplete."""
        stopped = StoppedTable(self.query.state / _STOPPED, name)
        if stopped.is_stopped:
            raise _not_compared(name, f"it has stopped: {stopped.error.message}", stopped.error)
        copies = [copy for copy in resyncs(self.query.state / RESYNC) if copy.name == name]
        if copies and all(copy.stage is Stage.REQUESTED for copy in copies):
            raise _not_compared(
                name,
                "a copy was requested and has not begun; if it does not begin, run headrace resync "
                "again",
            )
        if copies:
            raise _not_compared(name, "it is being copied again")

    def _table(self, name: TableName) -> LakeTable:
        self._require_replicated(name)
        table = self.lake.table(name)
        if table is None:
            raise _not_compared(name, "there is no table of that name")
        table.refresh()
        keeper = table.properties().get(QUERY)
        if keeper not in (None, query_of(str(self.query.checkpoint))):
            raise _not_compared(name, "it belongs to another query")
        return table

    def _columns(
        self,
        table: LakeTable,
        schemas: Mapping[str, TableSchema | HeadraceError],
        notes: list[str],
    ) -> ComparedColumns:
        """Return the columns that the replica and all its source tables have."""
        name, text = table.name, table.properties().get(SOURCE, "")
        mode = Mode(table.properties().get(MODE, Mode.REPLICA))
        if mode is Mode.APPEND:
            raise _not_compared(
                name, "it is a change log, which has no row for each of the source's"
            )
        schema = table.schema()
        source_schemas: list[TableSchema] = []
        for source, source_schema in schemas.items():
            if isinstance(source_schema, HeadraceError):
                raise source_schema
            if source_schema.left_out:
                why = (
                    f"the log of {source} leaves out {source_schema.left_out}, so the replica is "
                    "a part"
                )
                raise _not_compared(name, why)
            schema = with_ids(schema, text, source_schema)
            source_schemas.append(source_schema)
        schema = without_own_columns(schema, mode)
        if not schema.key:
            raise _not_compared(name, "it has no key")
        for source_schema in source_schemas:
            if {*source_schema.key} != {*schema.key}:
                keys = f"{', '.join(source_schema.key) or 'none'}, and that of the replica "
                raise _not_compared(
                    name, f"the key of {source_schema.source} is {keys}{', '.join(schema.key)}"
                )
        types: dict[str, pa.DataType] = {}
        for column in schema.columns:
            lacking = [
                source_schema.source
                for source_schema in source_schemas
                if source_schema.column(column.name) is None
            ]
            if is_headraces(column.name):
                continue
            if column.is_foreign or len(lacking) == len(source_schemas):
                notes.append(f"the column {column.name} is not compared: the source has none")
            elif lacking:
                tables = ", ".join(lacking)
                notes.append(f"the column {column.name} is not compared: {tables} has none")
            else:
                types[column.name] = column.type
        late = {
            column.name for source_schema in source_schemas for column in source_schema.columns
        } - {*schema.names}
        notes += [
            f"the column {column_name} is not in the replica yet" for column_name in sorted(late)
        ]
        return ComparedColumns(tuple(schema.key), types)

    def _repairs(
        self, results: Found, key: Sequence[str], sources: Sequence[str]
    ) -> tuple[Repair, ...]:
        if not results.differing:
            return ()
        conditions: dict[str, str] = {}
        if results.keys is not None and not self._config.transforms:
            for source, keys in results.keys.items():
                if condition := self.current.condition(key, keys):
                    conditions[source] = condition
        if results.keys is not None and {*conditions} == {*results.keys}:
            return tuple(Repair((source,), text) for source, text in conditions.items())
        return (Repair(tuple(sources)),)


def _not_compared(name: TableName, why: str, cause: HeadraceError | None = None) -> HeadraceError:
    remedy = "Compare the table when it is replicated with all of its rows."
    return HeadraceError(
        _NOT_COMPARED, f"{name} is not compared: {why}", cause.remedy if cause else remedy
    )
