"""PostgreSQL as a subject of the conformance suite."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

import psycopg

from headrace.connectors.connector import OffsetObject
from tests.contract.changes import Change, Delete, Fill, Insert, Move, Update
from tests.contract.subject import Feature, Subject
from tests.servers.postgresql import Database

_TABLE = "CREATE TABLE {} (id int PRIMARY KEY, text text)"
_CONFIRMED = (
    "SELECT (confirmed_flush_lsn - '0/0')::bigint FROM pg_replication_slots WHERE slot_name = %s"
)


class PostgresSubject(Subject):
    """Two tables of a fresh database."""

    features = frozenset(Feature)

    def __init__(self, database: Database) -> None:
        self._database = database
        for collection in ("things", "marks"):
            database.execute(_TABLE.format(collection))

    def properties(self, reader: str) -> dict[str, str]:
        return self._database.properties() | {
            "slot.name": self._slot(reader),
            "table.include.list": "public\\.(things|marks)",
            "errors.max.retries": "0",
        }

    def apply(
        self, collection: str, changes: Sequence[Change], *, rolled_back: bool = False
    ) -> None:
        with self._database.connect() as connection:
            connection.autocommit = False
            for change in changes:
                connection.execute(*_statement(collection, change))
            if rolled_back:
                connection.rollback()

    def rows(self, collection: str) -> dict[int, str]:
        return dict(self._database.execute(f"SELECT id, text FROM {collection}"))  # type: ignore[arg-type]

    def identifier(self, collection: str) -> str:
        return f"public.{collection}"

    @contextlib.contextmanager
    def stopped(self) -> Iterator[None]:
        self._database.server.kill()
        try:
            yield
        finally:
            self._database.server.start()

    def forget(self, reader: str) -> None:
        with contextlib.suppress(psycopg.errors.UndefinedObject):
            self._database.drop_slot(self._slot(reader))

    def acknowledged(self, reader: str) -> Any:
        ((confirmed,),) = self._database.execute(_CONFIRMED, (self._slot(reader),))
        return confirmed

    def place(self, offset: OffsetObject) -> Any:
        return offset["lsn_commit"]

    def lose(self, reader: str) -> None:
        self._database.drop_slot(self._slot(reader))

    def _slot(self, reader: str) -> str:
        # Slots are the server's, not the database's.
        return f"{self._database.name}_{reader}"


def _statement(collection: str, change: Change) -> tuple[bytes, tuple[Any, ...]]:
    match change:
        case Insert(key, text):
            return f"INSERT INTO {collection} VALUES (%s, %s)".encode(), (key, text)
        case Update(key, text):
            return f"UPDATE {collection} SET text = %s WHERE id = %s".encode(), (text, key)
        case Delete(key):
            return f"DELETE FROM {collection} WHERE id = %s".encode(), (key,)
        case Move(key, to):
            return f"UPDATE {collection} SET id = %s WHERE id = %s".encode(), (to, key)
        case Fill(first, last, _):
            rows = f"INSERT INTO {collection} SELECT i, %s FROM generate_series(%s::int, %s::int) i"
            return rows.encode(), (change.text, first, last)
