"""Incremental snapshots of MongoDB: ranges of `_id` that are read while the stream continues.

A read sees all operations that were in the oplog before it began, and perhaps later ones. So
any event from then on may be missing from it.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from bson.timestamp import Timestamp
from pymongo import MongoClient
from pymongo.client_session import ClientSession
from pymongo.errors import OperationFailure, PyMongoError

from headrace.connectors.mongodb.connection import Client
from headrace.connectors.mongodb.events import CollectionFacts
from headrace.connectors.mongodb.reading.bounds import bound_text, bound_value, shown_bound
from headrace.connectors.mongodb.reading.collections import (
    Collection,
    captured_collections,
    size_of,
)
from headrace.connectors.mongodb.reading.document_images import id_of
from headrace.connectors.mongodb.reading.filters import check_filter, signal_filter
from headrace.connectors.mongodb.reading.id_ranges import (
    IdRange,
    id_after,
    largest_id,
    read_batches,
    read_time,
)
from headrace.connectors.mongodb.starting.run import Run
from headrace.documents.fields import FieldRules
from headrace.signals.progress import Key, Pending
from headrace.snapshots.image_block import ImageBlock
from headrace.snapshots.incremental.chunk_source import (
    ChunkSource,
    ChunkTransaction,
    KeyRange,
    Skipped,
    Target,
)
from headrace.snapshots.incremental.lanes import Lanes
from headrace.snapshots.incremental.rows import ChunkRows
from headrace.snapshots.incremental.visibility import SeenBefore
from headrace.streaming.changes.key_columns import KeyRendering

_READING = "Reading a chunk"


@dataclass(frozen=True)
class CollectionTarget(Target):
    """A collection that can be read in chunks; `condition` is the BSON of a signal's filter."""

    facts: CollectionFacts
    condition: bytes | None
    rendering: KeyRendering
    rules: FieldRules
    key = ("_id",)

    def documents(self, keys: KeyRange[CollectionTarget]) -> IdRange:
        """The documents from `keys.lower` to `keys.upper`, both included."""
        return IdRange(
            self.facts.database,
            self.facts.short_name,
            _value(keys.lower),
            _value(keys.upper),
            ends_with=True,
            condition=self.condition,
            rules=self.rules,
        )


def _value(key: Key | None) -> bytes | None:
    return None if key is None else bound_value(str(key[0]))


class DocumentRows(ChunkRows):
    """The rows of a chunk, whose key is an `_id`."""

    def last_key(self, columns: Sequence[str]) -> Key:  # noqa: ARG002
        """The `_id` of the last document."""
        return (bound_text(id_of(ImageBlock(self.images, self.offsets), len(self) - 1)),)


class _Lane:
    """See `snapshots.incremental.lanes.Lane`: a separate session, on the client of the reads. A
    snapshot is the time up to which all its reads see every operation."""

    def __init__(self, run: Run, client: Client) -> None:
        self._run, self._client = run, client
        self._session = client.start_session()

    @property
    def closed(self) -> bool:
        """Whether the session was ended."""
        return self._session.has_ended

    def read(self, snapshot: Timestamp, keys: KeyRange[CollectionTarget]) -> ChunkRows | Skipped:
        """The rows of a range as they are at that time, or later."""
        self._session.advance_operation_time(snapshot)
        try:
            return _read_range(self._run, self._client, self._session, keys)
        except PyMongoError as error:
            raise self._run.translate(error) from None

    def close(self) -> None:
        """End the session; never raises."""
        self._session.end_session()


class Reads(ChunkTransaction[CollectionTarget]):
    """See ChunkTransaction: reads that begin now."""

    def __init__(
        self,
        run: Run,
        client: Client,
        session: ClientSession,
        lanes: Lanes[CollectionTarget, Timestamp],
    ) -> None:
        self._run, self._client, self._session = run, client, session
        self._lanes = lanes
        self._taken_us = time.time_ns() // 1000
        self._visibility = SeenBefore((read_time(client, session) + 1) << 64)
        self._time = session.operation_time

    @property
    def visibility(self) -> SeenBefore:
        """See ChunkTransaction."""
        return self._visibility

    @property
    def taken_us(self) -> int:
        """See ChunkTransaction."""
        return self._taken_us

    @contextmanager
    def planning(self, target: CollectionTarget) -> Iterator[None]:
        """Skip the collection, with the server's message, if the server refuses its filter."""
        try:
            yield
        except OperationFailure as error:
            if target.condition is None:
                raise
            raise Skipped("SKIPPED", str(self._run.translate(error))) from None

    def largest_key(self, target: CollectionTarget) -> Key | None:
        """See ChunkTransaction."""
        everything = target.documents(KeyRange(target, None, None))
        largest = largest_id(self._client, self._session, everything)
        return None if largest is None else (bound_text(largest),)

    def row_bytes(self, target: CollectionTarget) -> float | None:
        """See ChunkTransaction."""
        facts = target.facts
        rows, nbytes = size_of(self._client, Collection(facts.database, facts.short_name))
        return nbytes / rows if rows > 0 else None

    def split(
        self, whole: KeyRange[CollectionTarget], size: int, count: int
    ) -> list[KeyRange[CollectionTarget]]:
        """See ChunkTransaction."""
        bounds = [whole.lower]
        for _ in range(count - 1):
            rest = whole.target.documents(replace(whole, lower=bounds[-1]))
            # A range after a bound contains the bound itself, if its document still exists.
            skip = size - 1 if bounds[-1] is None else size
            bound = id_after(self._client, self._session, rest, skip)
            if bound is None:
                break
            bounds.append((bound_text(bound),))
        ranges = [replace(whole, lower=a, upper=b) for a, b in itertools.pairwise(bounds)]
        return [*ranges, replace(whole, lower=bounds[-1], limit=size)]

    def read(self, ranges: Sequence[KeyRange[CollectionTarget]]) -> list[ChunkRows | Skipped]:
        """Read the first range in the session of these reads, the others on the lanes."""
        return self._lanes.read(self._read, self._time, ranges)

    def _read(self, keys: KeyRange[CollectionTarget]) -> ChunkRows | Skipped:
        return _read_range(self._run, self._client, self._session, keys)


def _read_range(
    run: Run, client: Client, session: ClientSession, keys: KeyRange[CollectionTarget]
) -> ChunkRows | Skipped:
    target = keys.target
    id_range = replace(target.documents(keys), limit=keys.limit or 0)
    try:
        blocks = list(
            read_batches(
                client, session, id_range, keys.max_bytes, excludes_lower=keys.lower is not None
            )
        )
    except OperationFailure as error:
        if target.condition is None:
            raise
        return Skipped("SKIPPED", str(run.translate(error)))
    block, cut = _joined(blocks), False
    if keys.max_bytes is not None and len(block.images) >= keys.max_bytes:
        count = max(1, int(np.searchsorted(block.offsets, keys.max_bytes, "right")) - 1)
        block = ImageBlock(block.images[: block.offsets[count]], block.offsets[: count + 1])
        cut = True
    rows = block.rows(target.facts, target.rendering)
    return DocumentRows(rows.facts, rows.images, rows.offsets, rows.hashes, rows.rendering, cut)


def _joined(blocks: Sequence[ImageBlock]) -> ImageBlock:
    """Join blocks into one block, with readable bytes after its images."""
    if len(blocks) == 1:
        return blocks[0]
    return ImageBlock.of(
        bytes(block.images[begin:end])
        for block in blocks
        for begin, end in itertools.pairwise(block.offsets.tolist())
    )


class MongoChunkSource(ChunkSource[CollectionTarget]):
    """See ChunkSource: one client, opened at its first use, and lanes on it."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._client: Client | None = None
        self._lanes: Lanes[CollectionTarget, Timestamp] = Lanes(
            run.config.headrace_incremental_snapshot_threads,
            lambda: _Lane(run, self._connected()),
        )

    def tables(self) -> list[str]:
        """See ChunkSource."""
        with self._translated():
            captured = captured_collections(self._connected(), self._run)
        return [collection.name for collection in captured if collection.is_stored]

    def estimates(self, names: Sequence[str]) -> dict[str, int]:
        """See ChunkSource."""
        with self._translated():
            client = self._connected()
            captured = captured_collections(client, self._run)
            return {
                collection.name: size_of(client, collection).rows
                for collection in captured
                if collection.name in names
            }

    def position(self) -> int:
        """See ChunkSource."""
        with self._translated():
            return self._run.log_end(self._connected())

    def shown_key(self, key: Key | None) -> str:
        """See ChunkSource: a string, a number or an ObjectId as Java prints it."""
        return "" if key is None else shown_bound(str(key[0]))

    def target(self, pending: Pending) -> CollectionTarget:
        """See ChunkSource."""
        if pending.surrogate is not None:
            raise Skipped("SKIPPED", "surrogate-key is for tables; documents are read by _id")
        run = self._run
        with self._translated():
            client = self._connected()
            named = [e for e in captured_collections(client, run) if e.name == pending.name]
            if not named or not named[0].is_stored:
                raise Skipped("UNKNOWN_SCHEMA", "it is not a captured collection")
            condition = None
            if pending.condition is not None:
                try:
                    condition = signal_filter(pending.condition)
                    check_filter(client, named[0], condition)
                except (ValueError, OperationFailure) as error:
                    raise Skipped("SKIPPED", str(error)) from None
        path = named[0].database, named[0].short_name
        facts = run.facts(*path, named[0].own_id)
        return CollectionTarget(facts, condition, run.key_rendering, run.fields(*path))

    def transaction(self, *, shared: bool) -> AbstractContextManager[Reads]:  # noqa: ARG002
        """See ChunkSource."""
        return self._reads()

    @contextmanager
    def _reads(self) -> Iterator[Reads]:
        with self._translated():
            client = self._connected()
            with client.start_session() as session:
                yield Reads(self._run, client, session, self._lanes)

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except PyMongoError as error:
            failure = self._run.translate(error)
            self.close()
            raise failure from None

    def _connected(self) -> MongoClient[dict[str, Any]]:
        if self._client is None:
            self._client = self._run.client()
        return self._client

    def rest(self) -> None:
        """Close the lanes; the next read opens them again."""
        self._lanes.close()

    def close(self) -> None:
        """Close the client and the lanes; never raises."""
        self._lanes.close()
        if self._client is not None:
            self._client.close()
            self._client = None
