"""Reads chunks of a snapshot in tasks."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass

from bson.raw_bson import RawBSONDocument
from pymongo.client_session import ClientSession
from pymongo.errors import OperationFailure, PyMongoError

from headrace.connectors.mongodb.config import MongoConfig
from headrace.connectors.mongodb.connection import Client, connect, diagnose
from headrace.connectors.mongodb.reading.id_ranges import IdRange, read_batches, read_time
from headrace.errors import HeadraceError
from headrace.snapshots.image_block import ImageBlock
from headrace.snapshots.slices import ChunkQuery, SnapshotReader, SnapshotRows

log = logging.getLogger(__name__)

_READING = "Reading a chunk"


class _Documents(SnapshotRows):
    """See SnapshotRows."""

    def __init__(self, config: MongoConfig, client: Client, session: ClientSession) -> None:
        self._config, self._client, self._session = config, client, session

    def blocks(self, query: ChunkQuery) -> Iterator[ImageBlock]:
        """The documents of an IdRange, up to the first one on which a signal's filter fails: a
        faulty signal does not end the stream. Raises HeadraceError."""
        id_range = query.query
        assert isinstance(id_range, IdRange)
        try:
            yield from read_batches(self._client, self._session, id_range)
        except PyMongoError as error:
            failure = self._filter_error(query, error)
            log.error(
                "Reading %s stopped early: the filter of the signal failed: %s",
                id_range.name,
                failure,
            )

    def count(self, query: ChunkQuery, rows: int) -> int:
        """The number of documents of the collection now; `rows`, the number that was read in this
        chunk, if they cannot be counted because a signal's filter fails."""
        if query.count is None:
            return rows
        id_range = query.query
        collection = self._client[id_range.database][id_range.collection]
        try:
            if id_range.condition is None:
                return collection.estimated_document_count()
            return collection.count_documents(
                RawBSONDocument(id_range.condition), session=self._session
            )
        except PyMongoError as error:
            self._filter_error(query, error)  # raises any other error
            return rows

    def _filter_error(self, query: ChunkQuery, error: PyMongoError) -> HeadraceError:
        """Return the error of a signal's filter. Raises any other error."""
        failure = diagnose(error, self._config, f"{_READING} of {query.query.name}")
        if not query.filtered or not isinstance(error, OperationFailure) or failure.retriable:
            raise failure from None
        return failure


@dataclass(frozen=True)
class MongoSnapshotReader(SnapshotReader):
    """See SnapshotReader."""

    config: MongoConfig

    def open(self) -> AbstractContextManager[_Documents]:
        """Open a client whose reads see all operations that are in the oplog now."""
        return self._opened()

    @contextmanager
    def _opened(self) -> Iterator[_Documents]:
        with connect(self.config) as client, client.start_session() as session:
            try:
                read_time(client, session)
            except PyMongoError as error:
                raise diagnose(error, self.config, _READING) from None
            yield _Documents(self.config, client, session)
