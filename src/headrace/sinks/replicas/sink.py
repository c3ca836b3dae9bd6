"""The sink of replicas: commits the changes that tasks wrote of a micro-batch, table by table."""

from __future__ import annotations

import json
import logging
import shutil
import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from headrace.connectors.registry import event_shapes, table_comments
from headrace.errors import HeadraceError
from headrace.offsets.offset import NO_END
from headrace.sinks.checkpoint import query_of
from headrace.sinks.parts import sweep_parts
from headrace.sinks.replicas import refusals
from headrace.sinks.replicas.captured import CapturedShape, captured_schema, captured_shapes
from headrace.sinks.replicas.changes.part import Part
from headrace.sinks.replicas.changes.schemas import of_json, table_name
from headrace.sinks.replicas.comments import SourceComments
from headrace.sinks.replicas.cuts.cut_log import CutLog
from headrace.sinks.replicas.cuts.taking import CutTaker, NewerRows
from headrace.sinks.replicas.lake import NAME_NOT_TAKEN, Lake, LakeFormat, TableName, TableSchema
from headrace.sinks.replicas.maintaining import note_tables, noted_tables
from headrace.sinks.replicas.options import (
    RESYNC,
    Errors,
    FirstCopy,
    ReplicaOptions,
    Transactions,
)
from headrace.sinks.replicas.outcomes import MicroBatch, Outcome
from headrace.sinks.replicas.replica import FENCES, Replica
from headrace.sinks.replicas.state.committed import CommittedBatches
from headrace.sinks.replicas.state.copying import CopiedTables, TableCopies
from headrace.sinks.replicas.state.failures import using_state
from headrace.sinks.replicas.state.renaming import RENAMED, KnownTables
from headrace.sinks.replicas.state.stopped import StoppedTable, stopped_tables
from headrace.sinks.replicas.state.taking_over import takes_over
from headrace.sinks.replicas.state.waiting import STAGED_TOO_MUCH, WaitingChanges, WaitingRules
from headrace.spark.checkpoint import force_plan_to_disk, last_planned_batch, planned_offset
from headrace.spark.query.source_options import CHECKPOINT, FOLDER, SYNC
from headrace.spark.sinks.batches import BatchSink
from headrace.spark.sinks.definition import EventStream, SinkQuery
from headrace.spark.sinks.figures import publish, withdraw

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from headrace.sinks.replicas.runners import Runner

log = logging.getLogger(__name__)
_NOT_KEPT = (NAME_NOT_TAKEN, RENAMED, refusals.TRUNCATED_IN_PART, refusals.OLDER_TABLE)
"""Codes of errors after which changes of the table are not kept: only a resync repairs it."""
_ROW_KEY_MEMBERS = ("snapshot", "signals")
"""Members of an offset with keys of rows, which do not concern a table's readers."""
_WAITS = "its changes wait for a snapshot to end, or for the log to reach the snapshot's rows"


class ReplicaSink(BatchSink):
    """Commits each table separately. Each table stores its last micro-batch, because micro-batches
    may be repeated, and a kill may happen between the commits of two tables."""

    def __init__(
        self,
        table_format: LakeFormat,
        own_options: Mapping[str, str],
        options: ReplicaOptions,
        query: SinkQuery,
    ) -> None:
        self._format, self._own_options, self._options = table_format, own_options, options
        self._config, self._state, self._checkpoint = query.config, query.state, query.checkpoint
        self._parts, self._stopped = query.state / "parts", query.state / "stopped"
        self._waiting = WaitingChanges(query.state, self._parts)
        self._end, self._run = NO_END, uuid4().hex
        self._cut_log = CutLog(query.state, table_format.name, options)
        self._cuts = CutTaker(self._cut_log, NewerRows(query.state, query.config))
        tables = CopiedTables(self._replica, self._stop, self._ends_query)
        self._copies = TableCopies(query.state / RESYNC, self._stopped, self._waiting, tables)
        self._known, self._committed = KnownTables(query.state), CommittedBatches(query.state)
        self._takes_over = False
        self._lake: Lake | None = None
        self._runner: Runner | None = None
        self._replicas: dict[TableName, Replica] = {}
        self._replicas_lock = threading.Lock()
        self._sources: dict[TableName, dict[str, None]] = {}
        self._comments = SourceComments(lambda: table_comments(query.config))
        self._new_changes = self._changes = 0

    def open(self) -> None:
        """See Sink. Raises HeadraceError("replicas.state_not_writable")."""
        with using_state(self._state):
            self._parts.mkdir(parents=True, exist_ok=True)
            for left in self._parts.iterdir():
                if left.is_dir():
                    shutil.rmtree(left)
                else:
                    left.unlink()

    def read(self, stream: EventStream) -> DataFrame:
        """Return a stream with a row for each part, after the tables were created."""
        from headrace.sinks.replicas.changes.parts_source import OVERRIDES, ReplicaPartsSource
        from headrace.sinks.replicas.runners import SparkRunner

        if self._lake is None:
            self._lake = self._format.open(stream.spark, self._own_options)
        self._runner = SparkRunner(stream.spark.sparkContext)
        self._replicas.clear()
        self._takes_over = takes_over(self._options, self._checkpoint)
        with using_state(self._state):
            self._cuts.open(self._format.reader_options(self._own_options), self._checkpoint)
            self._resume_stopped()
            self._prepare()
        if query := query_of(str(self._checkpoint)):  # a query that is not new
            publish(query, self.figures)
        options = {FOLDER: str(self._state), CHECKPOINT: str(self._checkpoint), SYNC: "true"}
        return stream.read(ReplicaPartsSource, options | OVERRIDES)

    def _prepare(self) -> None:
        """Create the tables that are captured now. A table that is added later is created with its
        first change."""
        query = query_of(str(self._checkpoint))
        planned = last_planned_batch(self._checkpoint)
        self._comments.read()
        topics, captured_schemas = set[str](), list[tuple[CapturedShape, TableSchema]]()
        for captured in captured_shapes(self._config, self._options, event_shapes(self._config)):
            name = captured.replica
            topics.add(captured.shape.topic)
            self._sources.setdefault(name, {})[captured.source] = None
            if not StoppedTable(self._stopped, name).is_stopped:
                with self._raising_or_stopping(name, query):
                    schema = captured_schema(self._config, self._options, captured)
                    captured_schemas.append((captured, schema))
        for captured, schema in captured_schemas:
            with self._raising_or_stopping(captured.replica, query):
                self._known.require_new(captured.replica, schema)
                name, takes = captured.replica, self._takes_over
                replica, committed = self._replica(name), self._committed.of(name)
                if replica.prepare(schema, query, planned, committed, takes_over=takes) and query:
                    log.warning(
                        "The table %s is new to this query: rows that it had before it was "
                        "captured are not in the log. If there were any, copy it: headrace "
                        "resync FILE %s --checkpoint STATE",
                        captured.replica,
                        captured.source,
                    )
        for option in self._options.documents.unused(topics, self._config.topic_prefix):
            log.warning("%s names none of the collections that are captured now", option)

    @contextmanager
    def _raising_or_stopping(self, name: TableName, query: str) -> Iterator[None]:
        """Raise an error of a table if the query is new, or if the error ends every query. Else
        stop only the table, so that the other tables do not wait for it."""
        try:
            yield
        except HeadraceError as error:
            must_raise = not query or error.code in FENCES or self._ends_query(error)
            if must_raise and error.code != RENAMED:
                raise
            self._stop(StoppedTable(self._stopped, name), error, loses=error.code in _NOT_KEPT)

    def _resume_stopped(self) -> None:
        """Apply the kept changes of stopped tables, if the reason of the stop is over."""
        copied = self._copies.names()
        for stopped in stopped_tables(self._stopped):
            if stopped.name in copied:
                continue  # the next micro-batch begins the copy, or ends it
            self._waiting.keep_in(stopped)  # a killed run may have left this undone
            replica = self._replica(stopped.name)
            if stopped.is_lost:
                replica.figures.error = str(stopped.error)
                log.warning("The table %s is still stopped: %s", stopped.name, stopped.error)
                continue
            try:
                for number, position, parts in stopped.kept():
                    query = query_of(str(self._checkpoint))
                    batch = MicroBatch(query, number, position, run=self._run)
                    self._count(replica.apply(batch, parts, stopped.folder))
                    stopped.drop(number)
            except HeadraceError as error:
                if error.retriable:
                    raise
                log.warning("The table %s is still stopped: %s", stopped.name, error)
                replica.figures.error = str(error)
                stopped.stop(error)
            else:
                stopped.resume()
                log.warning("The table %s is replicated again", stopped.name)

    def _table_name(self, topic: str) -> TableName:
        return self._options.placed(table_name(topic, self._config.topic_prefix))

    def _replica(self, name: TableName) -> Replica:
        with self._replicas_lock:  # several new tables may be in one micro-batch
            if name not in self._replicas:
                assert self._lake is not None
                assert self._runner is not None
                note_tables(self._state, {*self._replicas, name, *noted_tables(self._state)})
                self._replicas[name] = Replica(
                    self._lake,
                    name,
                    self._options,
                    self._runner,
                    self._comments,
                    self._cut_log.replaced_before,
                )
            return self._replicas[name]

    def end(self, frame: Any, batch: int) -> None:
        """See BatchSink: one commit for each table that has changes. Raises HeadraceError."""
        with using_state(self._state):
            self._end_batch(frame, batch)

    def _end_batch(self, frame: Any, batch: int) -> None:
        from headrace.sinks.replicas.changes.parts import described, noted_end, of_rows

        # Spark numbers other changes as this micro-batch if its plan is lost.
        force_plan_to_disk(self._checkpoint, batch)
        parts = described(self._state, batch)
        if parts is None:
            parts = of_rows(iter(self.rows_of(frame).to_batches()))
        offset = planned_offset(self._checkpoint, batch) or {}
        shown_until = self._cuts.shown_until(batch, offset)
        tables: dict[TableName, list[Part]] = {}
        for part in parts:
            until = shown_until if part.first < shown_until else ""
            placed = replace(part, shown_until=until)
            tables.setdefault(self._table_name(part.topic), []).append(placed)
        self._end = noted_end(self._state, batch)
        rules = self._rules(batch)
        self._waiting.begin(rules)
        for name in self._waiting.ready():
            tables.setdefault(name, [])
        if not rules.is_staged:
            self._take_over(batch)
        before = planned_offset(self._checkpoint, batch - 1) or {}
        is_read = self._config.snapshot_filter().accepts
        self._copies.request_epoch(before, offset, self._sources, is_read)
        self._copies.begin(offset)
        for name, replica in self._replicas.items():
            if replica.has_other_deletes and name not in self._copies:
                tables.setdefault(name, [])
        query = query_of(str(self._checkpoint))
        publish(query, self.figures)
        if tables:
            self._commit(self._micro_batch(batch), tables)
            replicas = [
                replica_of_batch
                for name, replica_of_batch in self._replicas.items()
                if name in tables
            ]
            self._committed.note(
                {
                    replica_of_batch.name: replica_of_batch.committed(query)
                    for replica_of_batch in replicas
                }
            )
        self._copies.finish(query)
        self._cuts.follow(batch, parts)
        self._take_cut(batch)
        sweep_parts(self._parts, batch)

    def _rules(self, batch: int) -> WaitingRules:
        options = self._options
        is_copying = "snapshot" in (planned_offset(self._checkpoint, batch) or {})
        return WaitingRules(
            is_settled=self._end.is_settled,
            is_inside=self._end.is_inside and options.transactions is Transactions.WHOLE,
            is_staged=is_copying and options.first_copy is FirstCopy.STAGED,
            kept_bytes=options.kept_bytes,
        )

    def _take_cut(self, batch: int) -> None:
        """Record the versions of the tables that have all changes up to the end of a
        micro-batch."""
        if not self._end.is_boundary:
            return
        missing = dict.fromkeys(self._waiting.names(), _WAITS)
        missing |= dict.fromkeys(self._copies.names(), "it is copied again")
        for stopped in stopped_tables(self._stopped):
            missing[stopped.name] = f"its replication has stopped ({stopped.error.code})"
        system = str((planned_offset(self._checkpoint, batch) or {}).get("system", ""))
        self._cuts.take(batch, self._end, system, self._replicas, missing)

    def _take_over(self, batch: int) -> None:
        """Empty the tables that another query wrote: otherwise a table that is empty at the source
        would keep that query's rows, because it gets no changes."""
        if self._takes_over:
            for replica in self._replicas.values():
                replica.take_over(self._micro_batch(batch))
            self._takes_over = False

    def _micro_batch(self, number: int) -> MicroBatch:
        offset = planned_offset(self._checkpoint, number) or {}
        place = {name: value for name, value in offset.items() if name not in _ROW_KEY_MEMBERS}
        query, position = query_of(str(self._checkpoint)), json.dumps(place, separators=(",", ":"))
        return MicroBatch(query, number, position, self._end.is_boundary, self._run)

    def _commit(self, batch: MicroBatch, tables: Mapping[TableName, Sequence[Part]]) -> None:
        """Apply the changes of every table, even if another one fails; then raise the first
        error."""
        with ThreadPoolExecutor(min(self._options.threads, len(tables))) as pool:
            outcomes = [
                pool.submit(self._apply, batch, name, parts) for name, parts in tables.items()
            ]
        for outcome in outcomes:
            if outcome.exception() is None:
                self._count(outcome.result())
        for outcome in outcomes:
            outcome.result()

    def _apply(self, batch: MicroBatch, name: TableName, parts: Sequence[Part]) -> Outcome:
        """Apply a table's changes. An error stops only this table, unless the error ends the query.
        The changes of a stopped table are kept until the table is repaired."""
        stopped = StoppedTable(self._stopped, name)
        failed = next((part for part in parts if part.error), None)
        if failed is not None:
            return self._lose(stopped, failed, sum(part.rows for part in parts))
        was_stopped = stopped.is_stopped
        try:
            self._follow_sources(name, parts)
            if not was_stopped:
                self._require_known(name, parts)
                replica = self._replica(name)
                copy = self._copies.apply_to(name, replica, batch, parts, self._parts)
                return self._waiting.apply(replica, batch, parts, copy)
        except HeadraceError as error:
            if self._ends_query(error):
                raise
            if name in self._copies:
                self._copies.end(stopped, error)
            elif not (was_stopped and stopped.is_lost):
                self._stop(stopped, error, loses=error.code in _NOT_KEPT)
            if batch.number in self._waiting.keep_in(stopped):
                return Outcome(sum(part.rows for part in parts))
        self._keep(stopped, batch, parts)
        return Outcome(sum(part.rows for part in parts))

    def _ends_query(self, error: HeadraceError) -> bool:
        ends_always = error.retriable or error.code in (STAGED_TOO_MUCH, refusals.OTHER_RUN)
        return ends_always or self._options.errors is Errors.FAIL

    def _follow_sources(self, name: TableName, parts: Sequence[Part]) -> None:
        """Note the source tables of a replica. Refuse a TRUNCATE of one of several."""
        for schema in {part.schema for part in parts if part.schema}:
            if source := of_json(schema).source:
                self._sources.setdefault(name, {})[source] = None
        if any(part.truncated for part in parts) and len(self._sources.get(name, ())) > 1:
            raise refusals.truncated_in_part(name)

    def _require_known(self, name: TableName, parts: Sequence[Part]) -> None:
        for schema in {part.schema for part in parts if part.schema}:
            if name in self._copies:
                self._known.add(name, of_json(schema))
            else:
                self._known.require_new(name, of_json(schema))

    def _stop(self, stopped: StoppedTable, error: HeadraceError, *, loses: bool = False) -> None:
        """Stop the replication of this table. `loses`: its changes cannot be kept."""
        source = "|".join(self._sources.get(stopped.name, [str(stopped.name)]))
        remedy = error.remedy.replace(f"FILE {stopped.name} ", f"FILE {source} ")
        error = HeadraceError(error.code, error.message, remedy)
        outcome = "left out" if loses else "kept"
        log.warning(
            "Replication of %s has stopped, and its changes are %s: %s",
            stopped.name,
            outcome,
            error,
        )
        stopped.stop(error, loses=loses)
        self._replica(stopped.name).figures.error = str(error)

    def _lose(self, stopped: StoppedTable, failed: Part, rows: int) -> Outcome:
        """Stop a table if a task could not make changes for it. Raises HeadraceError."""
        known = json.loads(failed.error)
        error = HeadraceError(known["code"], known["message"], known["remedy"])
        if self._options.errors is Errors.FAIL:
            raise error
        self._waiting.forget(stopped.name)
        if not (stopped.is_stopped and stopped.is_lost):
            self._stop(stopped, refusals.left_out(stopped.name, error), loses=True)
        if stopped.name in self._copies:
            self._copies.end(stopped, error)
        return Outcome(rows)

    def _keep(self, stopped: StoppedTable, batch: MicroBatch, parts: Sequence[Part]) -> None:
        if stopped.is_lost:
            return
        size = stopped.size_with(batch.number, parts)
        if size > self._options.kept_bytes:
            raise HeadraceError(
                "replicas.kept_too_much",
                f"Replication of {stopped.name} has stopped ({stopped.error.message}), and the "
                f"changes that are kept for it would take {size} bytes",
                f"{stopped.error.remedy} Or set headrace.sink.kept.max.bytes to more than now "
                f"({self._options.kept_bytes}).",
            )
        stopped.keep(batch.number, batch.position, parts, self._parts)

    def _count(self, outcome: Outcome) -> None:
        self._new_changes += outcome.changes
        self._changes += outcome.changes

    def new_rows(self, _progress: Mapping[str, Any]) -> int:
        """See Sink."""
        new, self._new_changes = self._new_changes, 0
        return new

    @property
    def rows(self) -> int:
        """See Sink."""
        return self._changes

    def figures(self) -> dict[str, dict[str, Any]]:
        """Return the figures of the tables by name, for `headrace.metrics`; for any thread."""
        replicas = dict(self._replicas)
        return {str(name): asdict(replica.figures) for name, replica in replicas.items()}

    def close(self) -> None:
        """See Sink."""
        withdraw(query_of(str(self._checkpoint)))
        if self._lake is not None:
            self._lake.close()
