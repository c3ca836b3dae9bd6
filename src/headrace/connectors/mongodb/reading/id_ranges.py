"""Ranges of `_id` of a collection, and the queries of their documents.

MongoDB orders values of all types, but `{_id: {$gt: x}}` finds only values of x's type. The options
`min` (inclusive) and `max` (exclusive) of `find` are bounds of the index itself, so they cross
types; a largest `_id` that belongs to the range, which they cannot include, is queried separately.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, cast

from bson.raw_bson import RawBSONDocument
from pymongo.client_session import ClientSession
from pymongo.errors import (
    ConnectionFailure,
    CursorNotFound,
    OperationFailure,
    ServerSelectionTimeoutError,
)
from pymongo.read_concern import ReadConcern

from headrace.connectors.mongodb.connection import Client
from headrace.connectors.mongodb.reading.bounds import MAX_KEY, equals, with_id
from headrace.connectors.mongodb.reading.document_images import document_images, id_of
from headrace.connectors.mongodb.servers import operation_time
from headrace.documents.fields import FieldRules
from headrace.snapshots.image_block import ImageBlock

log = logging.getLogger(__name__)

_BY_ID = [("_id", 1)]
_EMPTY_RANGE = 51175
_TRIES = 5
_PLAN_KILLED = 175
_GONE = re.compile(r"(collection|database) (was )?(dropped|renamed)")
_INTERRUPTED = frozenset((6, 7, 89, 91, 189, 262, 9001, 10107, 11600, 11602, 13435, 13436))
"""Codes of errors after which a read may be retried on another server (the drivers' specification
of retryable reads), if the driver's own retry did not suffice."""


@dataclass(frozen=True)
class IdRange:
    """The documents of a collection with `lower` <= _id < `upper`, or <= `upper` if it `ends_with`
    it, that match `condition` (BSON of a filter); a None bound is open. `limit`: their maximum
    number. `batch` is the number of documents in a server's reply; 0: the server's default.
    `is_whole`: in any order, by any index, for example of a view. `rules` are applied to
    documents."""

    database: str
    collection: str
    lower: bytes | None = None
    upper: bytes | None = None
    ends_with: bool = False
    condition: bytes | None = None
    limit: int = 0
    batch: int = 0
    is_whole: bool = False
    rules: FieldRules | None = None

    @property
    def name(self) -> str:
        """database.collection"""
        return f"{self.database}.{self.collection}"


def read_batches(
    client: Client,
    session: ClientSession,
    id_range: IdRange,
    max_bytes: int | None = None,
    *,
    excludes_lower: bool = False,
) -> Iterator[ImageBlock]:
    """Yield the documents of a range in the order of `_id`, in batches, without the document of the
    lower bound if that is excluded; after `max_bytes` of images no further batch is requested. A
    read that an election or a lost connection interrupts continues after the last document; a read
    of a dropped or renamed collection ends. Raises the driver's errors, and HeadraceError for
    documents that cannot be read."""
    tries = count = 0
    last = id_range.lower if excludes_lower else None
    rest = _rest_of(id_range, last, 0)
    while True:
        try:
            for block in _batches(client, session, rest):
                images = block if last is None else _without(block, last)
                if len(images.offsets) == 1:
                    continue
                tries = 0
                count += len(images.offsets) - 1
                last = id_of(images, len(images.offsets) - 2)
                rest = _rest_of(id_range, last, count)
                yield images
                if max_bytes is not None:
                    max_bytes -= len(images.images)
                    if max_bytes <= 0:
                        return
        except (ConnectionFailure, OperationFailure) as error:
            if _is_gone(error):
                log.warning("%s was dropped or renamed while it was read", id_range.name)
                return
            tries += 1
            if id_range.is_whole or tries == _TRIES or not _may_try_again(error):
                raise
        else:
            return


def _rest_of(id_range: IdRange, last: bytes | None, count: int) -> IdRange:
    """The rest of a range after `count` documents up to `last`, which will be read again."""
    if last is None:
        return id_range
    return replace(id_range, lower=last, limit=id_range.limit - count + 1 if id_range.limit else 0)


def _without(block: ImageBlock, last: bytes) -> ImageBlock:
    """The block without its first document if that is `last`, which was read before."""
    if len(block.offsets) == 1 or id_of(block, 0) != last:
        return block
    begin = int(block.offsets[1])
    return ImageBlock(block.images[begin:], block.offsets[1:] - begin)


def _is_gone(error: ConnectionFailure | OperationFailure) -> bool:
    """Whether the server ended the read because the collection no longer exists, nor does the rest
    of the range."""
    return getattr(error, "code", None) == _PLAN_KILLED and bool(_GONE.search(str(error)))


def _may_try_again(error: ConnectionFailure | OperationFailure) -> bool:
    if isinstance(error, ServerSelectionTimeoutError):
        return False  # the driver has already waited long enough
    if isinstance(error, (ConnectionFailure, CursorNotFound)):
        return True
    return getattr(error, "code", None) in _INTERRUPTED


def _batches(client: Client, session: ClientSession, id_range: IdRange) -> Iterator[ImageBlock]:
    count = 0
    for part in _parts(id_range):
        limit = 0
        if id_range.limit:
            limit = id_range.limit - count
            if limit <= 0:
                return
        try:
            for batch in _find(client, session, id_range, limit=limit, **part):
                block = document_images(batch, id_range.name, id_range.rules)
                count += len(block.offsets) - 1
                yield block
        except OperationFailure as error:
            if error.code != _EMPTY_RANGE:
                raise


def _parts(id_range: IdRange) -> Iterator[dict[str, Any]]:
    """The options of `find` for each part of a range."""
    condition = None if id_range.condition is None else RawBSONDocument(id_range.condition)
    if id_range.is_whole:
        yield {"filter": condition}
        return
    lower, upper = id_range.lower, id_range.upper
    upper_bound = MAX_KEY if upper is None else upper
    bounds: dict[str, Any] = {"max": with_id(upper_bound)}
    if lower is not None:
        bounds["min"] = with_id(lower)
    if lower != upper_bound:
        yield {"filter": condition, "hint": _BY_ID, "sort": _BY_ID, **bounds}
    if upper is None or id_range.ends_with:
        last = {"_id": equals(upper_bound)}
        yield {"filter": last if condition is None else {"$and": [last, condition]}}


def id_after(client: Client, session: ClientSession, id_range: IdRange, skip: int) -> bytes | None:
    """The `_id` of the document after the first `skip` documents of a range, at least one; None if
    there are fewer. Raises the driver's errors."""
    part = next(_parts(id_range))
    try:
        return _first_id(client, session, id_range, skip=skip, **part)
    except OperationFailure as error:
        if error.code != _EMPTY_RANGE:
            raise
        return None


def largest_id(client: Client, session: ClientSession, id_range: IdRange) -> bytes | None:
    """The largest `_id` of a collection among documents that match the range's condition. Raises
    the driver's errors."""
    condition = None if id_range.condition is None else RawBSONDocument(id_range.condition)
    return _first_id(client, session, id_range, filter=condition, sort=[("_id", -1)])


def is_filled(
    client: Client, session: ClientSession, documents: IdRange, *, ids_only: bool
) -> bool:
    """Whether a document matches the range's condition. Without `ids_only` the whole document is
    checked as snapshots do. Raises the driver's errors, and HeadraceError for a document that
    cannot be read."""
    condition = None if documents.condition is None else RawBSONDocument(documents.condition)
    projection = {"_id": 1} if ids_only else None
    batches = _find(client, session, documents, filter=condition, projection=projection, limit=1)
    return len(document_images(b"".join(batches), documents.name).offsets) > 1


def _first_id(
    client: Client, session: ClientSession, id_range: IdRange, **options: Any
) -> bytes | None:
    for batch in _find(client, session, id_range, projection={"_id": 1}, limit=1, **options):
        return id_of(document_images(batch, id_range.name), 0)
    return None


def _find(
    client: Client, session: ClientSession, id_range: IdRange, **options: Any
) -> Iterator[bytes]:
    """Batches of documents. Reads show the same data as the change stream, unless the connection
    string says otherwise."""
    concern = client.read_concern if client.read_concern.level else ReadConcern("majority")
    collection = client[id_range.database].get_collection(id_range.collection, read_concern=concern)
    cursor = collection.find_raw_batches(session=session, batch_size=id_range.batch, **options)
    yield from cast("Iterator[bytes]", cursor)


def read_time(client: Client, session: ClientSession) -> int:
    """See `servers.operation_time`: seconds << 32 | increment."""
    time = operation_time(client, session)
    return time.time << 32 | time.inc
