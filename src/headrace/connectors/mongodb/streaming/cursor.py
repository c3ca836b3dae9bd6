"""A change stream's cursor: raw batches, and a new cursor when a server has lost the former.

The driver's own change streams create an object for each event. This one sends their commands, as
the drivers' specification of change streams requires: one session, resume tokens after batches, and
the errors after which a stream resumes.
"""

from __future__ import annotations

import contextlib
import logging
import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pymongo
from bson.codec_options import CodecOptions
from bson.raw_bson import RawBSONDocument
from bson.timestamp import Timestamp
from pymongo import MongoClient
from pymongo.client_session import ClientSession
from pymongo.errors import (
    ConnectionFailure,
    OperationFailure,
    PyMongoError,
    ServerSelectionTimeoutError,
)

from headrace.connectors.mongodb.streaming.progress import StreamProgress
from headrace.connectors.mongodb.streaming.replies import Reply, check_token, read_reply

log = logging.getLogger(__name__)

Client = MongoClient[dict[str, Any]]
_RAW: CodecOptions[Any] = CodecOptions(document_class=RawBSONDocument)
_RESUMABLE_CODES = frozenset(
    (
        *(6, 7, 89, 91, 9001, 11600, 63, 150, 262, 13388),  # network, stopping server
        *(189, 10107, 11602, 13435, 13436, 133),  # no primary any more
        *(43, 136, 175, 234, 237, 11601),  # the cursor timed out, or was killed
    )
)
"""The specification's codes for servers that do not label resumable errors, and the codes of killed
cursors (136, 175, 237, 11601)."""
_ATTEMPTS = 3
_CLOSE_SECONDS = 2
_RESUMABLE = "ResumableChangeStreamError"


class OneServer:
    """Selects one of a client's suitable servers, and keeps it while it is suitable: only one
    server has the cursor (the driver's `server_selector`)."""

    def __init__(self) -> None:
        self._address: object = None

    def __call__(self, servers: Sequence[Any]) -> list[Any]:
        chosen = [server for server in servers if server.address == self._address]
        if not chosen and servers:
            chosen = [random.choice(servers)]  # noqa: S311 - spreads load
            self._address = chosen[0].address
        return chosen


@dataclass(frozen=True)
class ChangeStream:
    """The target and contents of a change stream: `database` and `collection` (None: all of them),
    the stages after `$changeStream`, and the options of that stage. The server waits `await_ms` for
    events before it returns an empty batch."""

    database: str | None = None
    collection: str | None = None
    pipeline: Sequence[Mapping[str, Any]] = ()
    options: Mapping[str, Any] | None = None
    await_ms: int = 1000

    def stages(self, start: Mapping[str, Any]) -> list[Mapping[str, Any]]:
        """The pipeline of a stream that begins at `start` (members of `$changeStream`)."""
        everything = {"allChangesForCluster": True} if self.database is None else {}
        stage = {"$changeStream": {**everything, **(self.options or {}), **start}}
        return [stage, *self.pipeline]


def after_token(token: bytes) -> dict[str, Any]:
    """Start after a resume token, a BSON document. Tokens of `invalidate`, which resumeAfter
    refuses, are also valid."""
    return {"startAfter": RawBSONDocument(token)}


def from_time(time: int) -> dict[str, Any]:
    """Start with the operation at a timestamp (seconds << 32 | increment)."""
    return {"startAtOperationTime": Timestamp(time >> 32, time & 0xFFFFFFFF)}


class ChangeStreamCursor:
    """The cursor of a change stream, used by one thread. Methods raise the driver's errors, and
    HeadraceError for replies that are broken, or not MongoDB's."""

    def __init__(
        self,
        connect: Callable[[OneServer], Client],
        stream: ChangeStream,
        progress: StreamProgress | None = None,
    ) -> None:
        """`connect` creates a client that uses one of its servers."""
        self._connect, self._stream = connect, stream
        self._progress = progress or StreamProgress()
        self._client: Client | None = None
        self._session: ClientSession | None = None
        self._cursor = 0
        self._namespace = ""
        self._token = b""

    def open(self, start: Mapping[str, Any], batch_size: int | None = None) -> Reply:
        """Open the stream at `start` (`after_token`, `from_time`, or empty: now); returns the
        first batch. With a `batch_size` of 0 it is empty, and its token is that of `start`."""
        if self._client is None:
            self._client = self._connect(OneServer())
        self._end_session()
        # Causal consistency would add a read concern, but change streams set their own.
        self._session = self._client.start_session(causal_consistency=False)
        target: Any = 1 if self._stream.collection is None else self._stream.collection
        reply = self._run(
            self._stream.database or "admin",
            {
                "aggregate": target,
                "pipeline": self._stream.stages(start),
                "cursor": {} if batch_size is None else {"batchSize": batch_size},
            },
        )
        check_token(reply.token)
        return reply

    def more(self, seconds: float) -> Reply:
        """Return the next batch; an empty one after `seconds` at most. When the server lost the
        cursor, or closed it, another one is opened after the last batch."""
        if self._cursor == 0:
            return self._reopen()
        database, _, collection = self._namespace.partition(".")
        wait_ms = min(self._stream.await_ms, max(1, int(seconds * 1000)))
        command = {"getMore": self._cursor, "collection": collection, "maxTimeMS": wait_ms}
        try:
            return self._run(database, command)
        except (ConnectionFailure, OperationFailure) as error:
            if not is_resumable(error):
                raise
            log.warning("the change stream lost its cursor (%s); it opens another", _reason(error))
            self._progress.disconnects += 1
        return self._reopen()

    def _reopen(self) -> Reply:
        """Open the cursor again, with several attempts: servers may refuse until a primary is
        known."""
        for _ in range(_ATTEMPTS - 1):
            try:
                return self.open(after_token(self._token))
            except (ConnectionFailure, OperationFailure) as error:
                # The driver has already waited long enough if it finds no server.
                if not is_resumable(error) or isinstance(error, ServerSelectionTimeoutError):
                    raise
        return self.open(after_token(self._token))

    def _run(self, database: str, command: dict[str, Any]) -> Reply:
        assert self._client is not None
        self._cursor = 0  # a failed command leaves no cursor to close
        began = time.monotonic()
        # Commands go to the primary unless a read preference is given.
        answer: RawBSONDocument = self._client[database].command(
            command,
            read_preference=self._client.read_preference,
            codec_options=_RAW,
            session=self._session,
        )
        reply = read_reply(bytes(answer.raw))
        self._progress.primary_is(_election(self._client))
        self._progress.polled(time.monotonic() - began, is_empty=reply.is_empty)
        self._cursor, self._namespace, self._token = reply.cursor, reply.namespace, reply.token
        return reply

    def close(self) -> None:
        """Close the cursor and the client; never raises."""
        if self._client is None:
            return
        with contextlib.suppress(PyMongoError), pymongo.timeout(_CLOSE_SECONDS):
            if self._cursor:
                database, _, collection = self._namespace.partition(".")
                self._client[database].command(
                    "killCursors",
                    collection,
                    cursors=[self._cursor],
                    read_preference=self._client.read_preference,
                    session=self._session,
                )
        self._cursor = 0
        self._end_session()
        with contextlib.suppress(PyMongoError):
            self._client.close()
        self._client = None

    def _end_session(self) -> None:
        if self._session is not None:
            with contextlib.suppress(PyMongoError):
                self._session.end_session()
            self._session = None


def is_resumable(error: PyMongoError) -> bool:
    """Whether a change stream resumes with another cursor after this error of a `getMore`."""
    if isinstance(error, ConnectionFailure):
        return True
    if not isinstance(error, OperationFailure):
        return False
    return error.code in _RESUMABLE_CODES or error.has_error_label(_RESUMABLE)


def _election(client: Client) -> object:
    """The election id of the primary that a client knows; None if it knows none, or a mongos."""
    for server in client.topology_description.server_descriptions().values():
        if server.server_type_name == "RSPrimary":
            return server.election_id
    return None


def _reason(error: PyMongoError) -> str:
    """The message of an error, without the server's reply."""
    details = error.details if isinstance(error, OperationFailure) else None
    return str((details or {}).get("errmsg") or error)
