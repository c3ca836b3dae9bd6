"""Positions: the first position of a stream, and whether the server still has the changes after a
stored one."""

from __future__ import annotations

import logging
from dataclasses import replace

from bson.timestamp import Timestamp
from pymongo.errors import PyMongoError

from headrace.connectors.mongodb.connection import Client
from headrace.connectors.mongodb.errors import place
from headrace.connectors.mongodb.position import MongoOffset, MongoPosition, at_token
from headrace.connectors.mongodb.servers import cluster_identity, read_server
from headrace.connectors.mongodb.starting.run import Run
from headrace.connectors.mongodb.streaming.cursor import after_token, from_time
from headrace.connectors.source import Lost, LostLog
from headrace.errors import HeadraceError
from headrace.snapshots.modes import SnapshotRule

log = logging.getLogger(__name__)

_GONE = ("mongodb.history_lost", "mongodb.bad_resume_token", "mongodb.position_ahead")
_NEXT_SECONDS = 1
"""Seconds that a position may be ahead of the last operation, as the token of an idle stream is."""
_APART_SECONDS = 60
"""Seconds that it may be ahead of a sharded cluster, whose servers exchange the time when they
communicate."""


class StoredPosition(LostLog[MongoPosition]):
    """The position in the oplog: the database stores nothing for it, so nothing is created or
    dropped."""

    def __init__(self, run: Run, rule: SnapshotRule) -> None:
        self._run, self._rule = run, rule
        self.is_known = False

    def first(self, epoch: int) -> MongoOffset:
        """Return the first position of a query without one: capture.start.op.time, or now."""
        with self._run.client() as client:
            system = self.system(client)
        time = self._run.config.capture_start_op_time
        token = self._opened({} if time < 0 else from_time(time), batch_size=0)
        return MongoOffset(self._run.config.topic_prefix, at_token(token), epoch, system)

    def system(self, client: Client) -> str:
        """The replica set's name (empty for a sharded cluster), and, after a slash, the cluster's
        identity, if the user may read it."""
        name = read_server(client, self._run.config).replica_set or ""
        identity = cluster_identity(client)
        return f"{name}/{identity}" if identity else name

    def with_token(self, start: MongoOffset) -> MongoOffset:
        """Return `start` with a resume token; it may have only a time."""
        if start.position.token is not None:
            return start
        token = self._opened(from_time(start.position.time), batch_size=0)
        return replace(start, position=replace(start.position, token=token))

    def check(self, stored: MongoOffset) -> Lost | None:
        """Check whether the stream can continue after a stored offset; returns why not, if
        snapshot.mode handles that. Raises HeadraceError otherwise."""
        if self.is_known:
            return None
        position = stored.position
        try:
            with self._run.client() as client:
                system = self.system(client)
                _check_system(stored.system, system)
                is_set = bool(system.partition("/")[0])
                self._check_time(client, position, is_set=is_set)
        except PyMongoError as error:
            raise self._run.translate(error) from None
        except HeadraceError as error:
            return self._lost(error)
        try:
            self._opened(
                from_time(position.time) if position.token is None else after_token(position.token)
            )
        except HeadraceError as error:
            return self._lost(error)
        self.is_known = True
        return None

    def _lost(self, error: HeadraceError) -> Lost:
        """Return the loss, or raise `error` unless snapshot.mode repairs it."""
        if not self.means_loss(error) or not self._rule.repairs:
            raise error
        return Lost(error, is_followed=False)

    def _check_time(self, client: Client, position: MongoPosition, *, is_set: bool) -> None:
        """Refuse a position in the future: the stream would wait for that time, and skip events
        until then. `is_set`: the server is the primary of a replica set, whose clock is the log's.
        Raises HeadraceError("mongodb.position_ahead")."""
        reply = client.admin.command("ping")
        now: Timestamp = reply["operationTime"]
        allowed = _time(now) + (_NEXT_SECONDS << 32)
        if not is_set:
            known = reply.get("$clusterTime", {}).get("clusterTime", now)
            allowed = max(allowed, _time(known)) + (_APART_SECONDS << 32)
        if position.time > max(allowed, self._run.config.capture_start_op_time):
            raise HeadraceError(
                "mongodb.position_ahead",
                f"The checkpoint's position, {position}, is ahead of {place(self._run.config)}, "
                f"which is at {now}",
                "It belongs to another cluster, or the servers were restored from a backup: start "
                "with "
                "snapshot.mode=when_needed, which reads the collections again, or with a new "
                "checkpoint.",
            )

    def _opened(self, start: dict[str, object], batch_size: int | None = None) -> bytes:
        """Open a stream and close it again; returns its resume token. Only the first batch shows
        whether the server still has events at `start`."""
        cursor = self._run.cursor()
        try:
            return cursor.open(start, batch_size).token
        except PyMongoError as error:
            raise self._run.translate(error) from None
        finally:
            cursor.close()

    # -- see LostLog ----------------------------------------------------------------------------

    def means_loss(self, error: HeadraceError) -> bool:
        """See LostLog."""
        return error.code in _GONE

    def follow(self, after: MongoOffset) -> MongoOffset:  # noqa: ARG002
        """Never called: the server has no position of its own."""
        raise AssertionError("a lost oplog is not followed")

    def make_room(self, lost: Lost) -> None:
        """See LostLog; nothing is stored for a position."""

    def keep(self, lost: Lost) -> None:
        """See LostLog; a gap in the oplog never closes."""


def _time(timestamp: Timestamp) -> int:
    return timestamp.time << 32 | timestamp.inc


def _check_system(stored: str, present: str) -> None:
    """Refuse a checkpoint of another replica set or cluster; unknown parts are not compared. Raises
    HeadraceError."""
    (name, _, identity), (present_name, _, present_identity) = (
        stored.partition("/"),
        present.partition("/"),
    )
    remedy = "Correct mongodb.connection.string, or start with a new checkpoint."
    if name and present_name and name != present_name:
        raise HeadraceError(
            "mongodb.other_replica_set",
            f"The checkpoint belongs to the replica set {name}, and mongodb.connection.string "
            f"leads to {present_name}",
            remedy,
        )
    if identity and present_identity and identity != present_identity:
        raise HeadraceError(
            "mongodb.other_cluster",
            "The checkpoint belongs to another cluster of the same name than "
            "mongodb.connection.string leads to"
            f" (admin.system.version: {identity}, {present_identity})",
            remedy,
        )
