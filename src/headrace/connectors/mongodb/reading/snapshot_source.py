"""Initial and blocking snapshots of MongoDB.

No state is held: each chunk is read as of then, after the snapshot's position. Changes meanwhile
come again from the log, as with Debezium. So a snapshot is never lost, and continues with the next
chunk after a restart.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace

from pymongo.client_session import ClientSession
from pymongo.errors import OperationFailure, PyMongoError

from headrace.connectors.mongodb.connection import Client
from headrace.connectors.mongodb.events import NO_INCREMENT
from headrace.connectors.mongodb.position import MongoPosition
from headrace.connectors.mongodb.reading.bounds import bound_text, bound_value
from headrace.connectors.mongodb.reading.collections import (
    Collection,
    captured_collections,
    own_ids,
    size_of,
)
from headrace.connectors.mongodb.reading.filters import overrides, refused, signal_filter
from headrace.connectors.mongodb.reading.id_ranges import (
    IdRange,
    is_filled,
    largest_id,
    read_time,
)
from headrace.connectors.mongodb.reading.samples import sampled_bounds
from headrace.connectors.mongodb.reading.snapshot_reader import MongoSnapshotReader
from headrace.connectors.mongodb.starting.run import Run
from headrace.errors import HeadraceError
from headrace.snapshots.chunks import Chunk, ChunkKind, KeyBound
from headrace.snapshots.notifications import ChunkAnnouncements
from headrace.snapshots.slices import ChunkQuery
from headrace.snapshots.snapshot import Snapshot
from headrace.snapshots.snapshot_source import HeldSnapshot, SnapshotSource
from headrace.snapshots.tables import Leaf, SnapshotTable

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Moment(HeldSnapshot):
    """The time when a snapshot began, in microseconds since 1970."""

    time_us: int

    @staticmethod
    def now() -> Moment:
        """Return the current time."""
        return Moment(time.time_ns() // 1000)

    @property
    def taken_us(self) -> int:
        """See HeldSnapshot."""
        return self.time_us

    @property
    def visible(self) -> str:
        """See HeldSnapshot: empty, because later reads see more."""
        return ""


class MongoSnapshotSource(SnapshotSource[MongoPosition, Moment]):
    """See SnapshotSource."""

    page_bytes = 1024

    def __init__(self, run: Run) -> None:
        self._run, self._config = run, run.config
        self._overrides = overrides(run.config)
        restarts = str(run.config.snapshot_resume) == "restart"
        self._moment = None if restarts else Moment.now()
        self._client: Client | None = None
        self._bounds: dict[str, list[str]] = {}
        self._ids: dict[str, dict[str, str]] = {}

    # -- the snapshot ---------------------------------------------------------------------------

    @property
    def held(self) -> Moment | None:
        """The moment of the snapshot, which cannot be lost; another process continues with it,
        unless snapshot.resume restarts the snapshot."""
        return self._moment

    def adopt(self, held_snapshot: Moment) -> None:
        """See SnapshotSource."""
        self._moment = held_snapshot

    def hold(self, covers: str | None) -> Moment:  # noqa: ARG002
        """See SnapshotSource: returns the current time."""
        self._moment = moment = Moment.now()
        return moment

    def reader(self) -> MongoSnapshotReader:
        """See SnapshotSource."""
        return MongoSnapshotReader(self._config)

    @property
    def continued_at(self) -> int:
        """The end of the oplog: each chunk is read as of then."""
        return self.position()

    def position(self) -> int:
        """The end of the oplog."""
        try:
            return self._run.log_end(self._connected())
        except PyMongoError as error:
            raise self._run.translate(error) from None

    def shown(self, position: MongoPosition) -> int:  # noqa: ARG002
        """`source.ord` for documents that have no place in the log."""
        return NO_INCREMENT

    def _connected(self) -> Client:
        if self._client is None:
            self._client = self._run.client()
        return self._client

    def close(self) -> None:
        """Close the client; never raises."""
        if self._client is not None:
            self._client.close()
            self._client = None

    # -- collections ----------------------------------------------------------------------------

    def tables(self, conditions: Mapping[str, str | None] | None = None) -> list[SnapshotTable]:
        """See SnapshotSource: sorted by the collections' names in their database. A collection that
        a signal requests and that cannot be read is left out."""
        try:
            client = self._connected()
            with client.start_session() as session:
                read_time(client, session)
                return self._tables(client, session, conditions)
        except PyMongoError as error:
            raise self._run.translate(error) from None

    def _tables(
        self,
        client: Client,
        session: ClientSession,
        conditions: Mapping[str, str | None] | None,
    ) -> list[SnapshotTable]:
        chosen = self._config.snapshot_filter()
        tables: list[SnapshotTable] = []
        for collection in captured_collections(client, self._run):
            if conditions is None and not chosen.accepts(collection.name):
                continue
            if conditions is not None and collection.name not in conditions:
                continue
            condition = None if conditions is None else conditions[collection.name]
            try:
                filled = self._is_filled(client, session, collection, condition)
            except HeadraceError as problem:
                if conditions is None or problem.retriable:
                    raise
                log.warning("%s is not read: %s", collection.name, problem)
                continue
            if filled:
                tables.append(_table(client, collection, condition, opens=not tables))
        return tables

    def _is_filled(
        self, client: Client, session: ClientSession, collection: Collection, condition: str | None
    ) -> bool:
        """Whether a document is to be read, after the filter of the signal, or of the
        configuration. Raises HeadraceError."""
        name = collection.name
        try:
            raw = self._condition(name, condition)
        except ValueError as problem:
            raise HeadraceError(
                "mongodb.filter", f"The filter of {name}: {problem}", "Send the signal again."
            ) from None
        documents = IdRange(
            collection.database, collection.short_name, condition=raw, is_whole=True
        )
        try:
            return is_filled(client, session, documents, ids_only=collection.is_stored)
        except PyMongoError as error:
            failure = self._run.translate(error, f"Reading {name}")
            if raw is None or condition is not None or failure.retriable:
                raise failure from None
            raise refused(name, failure.message) from None

    def _condition(self, name: str, condition: str | None) -> bytes | None:
        """The filter of a signal, or the configured filter."""
        return self._overrides.get(name) if condition is None else signal_filter(condition)

    # -- chunks ---------------------------------------------------------------------------------

    def next_bound(
        self,
        table: SnapshotTable,
        leaf: Leaf,
        lower: KeyBound | None,
        rows: int,
    ) -> KeyBound | None:
        """See SnapshotSource: a bound about `rows` documents further on, from a sample."""
        place = self._place_after(table, lower)
        if place is None:
            try:
                sampled = self._sampled(self._connected(), table, leaf, lower, rows)
            except PyMongoError as error:
                raise self._run.translate(error) from None
            self._bounds[table.id] = [bound_text(value) for value in sampled]
            place = 0
        bounds = self._bounds[table.id]
        return (bounds[place],) if place < len(bounds) else None

    def _sampled(
        self,
        client: Client,
        table: SnapshotTable,
        leaf: Leaf,
        lower: KeyBound | None,
        rows: int,
    ) -> list[bytes]:
        """Bounds of a collection's chunks after `lower`. The last chunk has a document that matches
        the filter: it carries the marker of the snapshot's end."""
        last = None
        condition = self._condition(table.name, table.condition)
        if condition is not None:
            whole = IdRange(table.schema, table.table, condition=condition)
            with client.start_session() as session:
                try:
                    last = largest_id(client, session, whole)
                except OperationFailure as error:
                    if table.condition is None or self._run.translate(error).retriable:
                        raise
                    # If the filter fails on a document, the documents before it are read.
        return sampled_bounds(
            client,
            Collection(table.schema, table.table),
            None if lower is None else bound_value(lower[0]),
            leaf.rows,
            rows,
            last,
        )

    def _place_after(self, table: SnapshotTable, lower: KeyBound | None) -> int | None:
        """The index in the sample of the bound after `lower`; None if it has no sample."""
        bounds = self._bounds.get(table.id)
        if bounds is None or lower is None or lower[0] not in bounds:
            return None
        return bounds.index(lower[0]) + 1

    def query(
        self, table: SnapshotTable, chunk: Chunk, announcements: ChunkAnnouncements | None
    ) -> ChunkQuery:
        """See SnapshotSource. A dropped collection has no documents."""
        lower, upper = (
            bound_value(bound[0]) if isinstance(bound, tuple) else None
            for bound in (chunk.lower, chunk.upper)
        )
        id_range = IdRange(
            table.schema,
            table.table,
            lower,
            upper,
            condition=self._condition(table.name, table.condition),
            batch=self._config.snapshot_fetch_size,
            is_whole=chunk.kind is ChunkKind.WHOLE,
            rules=self._run.fields(table.schema, table.table),
        )
        counts = announcements is not None and bool(announcements.after) and not chunk.first
        # Debezium marks only the last document of the whole snapshot.
        marked = replace(chunk, first="", last="run" if chunk.last == "run" else "")
        facts = self._run.facts(table.schema, table.table, self._own_id(table))
        return ChunkQuery(
            marked, id_range, facts, announcements, table.condition is not None, counts or None
        )

    def _own_id(self, table: SnapshotTable) -> str:
        """The collection's UUID, if it is needed, else empty. Raises HeadraceError."""
        if self._run.identifies and table.schema not in self._ids:
            try:
                self._ids[table.schema] = own_ids(self._connected(), table.schema)
            except PyMongoError as error:
                raise self._run.translate(error) from None
        return self._ids.get(table.schema, {}).get(table.table, "")


def _table(
    client: Client, collection: Collection, condition: str | None, *, opens: bool
) -> SnapshotTable:
    rows, nbytes = size_of(client, collection)
    name, database = collection.short_name, collection.database
    leaf = Leaf(collection.name, database, name, -(-nbytes // MongoSnapshotSource.page_bytes), rows)
    cut = ChunkKind.KEY if collection.is_stored else ChunkKind.WHOLE
    return SnapshotTable(collection.name, database, name, cut, (leaf,), opens, condition)


MongoSnapshot = Snapshot[MongoPosition, Moment]


def open_snapshot(run: Run) -> MongoSnapshot:
    """Return a snapshot to begin or to continue. Raises HeadraceError for invalid filters."""
    return Snapshot(run.config, MongoSnapshotSource(run), run.plan, run.settings)
