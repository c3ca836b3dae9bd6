"""The stand-in for Db2 as a subject of the conformance suite."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

from headrace.connectors.connector import OffsetObject
from headrace.connectors.db2.lsn import parse_lsn, place_of
from headrace_demo.db2.capture import Execute
from tests.contract.changes import Change, Delete, Event, Fill, Insert, Move, Update, in_pairs
from tests.contract.subject import Feature, Subject
from tests.servers.db2 import SCHEMA, Db2Database

_TABLE = 'CREATE TABLE {} ("id" INTEGER NOT NULL PRIMARY KEY, "text" VARCHAR(2000))'


class _RolledBack(Exception):
    """Undoes a transaction."""


class Db2Subject(Subject):
    """Two registered tables of a fresh database. Their names are in lower case, as in the suite."""

    features = frozenset(Feature) - {Feature.ACKNOWLEDGES}
    slices = Fill(100, 1500, 1900), Fill(7000, 7400, 1900)

    def __init__(self, database: Db2Database) -> None:
        """`database` was made with `prepare`, and its Capture program runs."""
        self._database = database

    @classmethod
    def prepare(cls, database: Db2Database) -> None:
        """The tables, which are captured."""
        for collection in ("things", "marks"):
            database.execute(_TABLE.format(cls._table(collection)))
            database.capture.add_table(SCHEMA, collection)
        database.capture.await_captured()

    def properties(self, reader: str) -> dict[str, str]:
        return self._database.properties() | {
            "table.include.list": rf"{SCHEMA}\.(things|marks)",
            "poll.interval.ms": "20",
            "include.schema.changes": "false",
            "errors.max.retries": "0",
        }

    def apply(
        self, collection: str, changes: Sequence[Change], *, rolled_back: bool = False
    ) -> None:
        with contextlib.suppress(_RolledBack), self._database.transaction() as execute:
            for change in changes:
                self._make(execute, collection, change)
            if rolled_back:
                raise _RolledBack
        # A reader that begins now begins after what Capture has written.
        self._database.capture.await_captured()

    def _make(self, execute: Execute, collection: str, change: Change) -> None:
        table = self._table(collection)
        match change:
            case Insert(key, text):
                execute(f"INSERT INTO {table} VALUES (?, ?)", (key, text))
            case Update(key, text):
                execute(f'UPDATE {table} SET "text" = ? WHERE "id" = ?', (text, key))
            case Delete(key):
                execute(f'DELETE FROM {table} WHERE "id" = ?', (key,))
            case Move(key, to):
                execute(f'UPDATE {table} SET "id" = ? WHERE "id" = ?', (to, key))
            case Fill(first, last, _):
                execute(f"INSERT INTO {table} VALUES (?, ?)", (first, change.text))
                # Each statement doubles the rows: Derby compiles a text once for all of them.
                registered = 1
                while (more := min(registered, last - first + 1 - registered)) > 0:
                    execute(
                        f'INSERT INTO {table} SELECT "id" + {registered}, "text" FROM {table} '
                        'WHERE "id" BETWEEN ? AND ? ORDER BY "id"',
                        (first, first + more - 1),
                    )
                    registered += more

    def rows(self, collection: str) -> dict[int, str]:
        return dict(self._database.execute(f"SELECT * FROM {self._table(collection)}"))  # type: ignore[arg-type]

    def identifier(self, collection: str) -> str:
        return f"{SCHEMA}.{collection}"

    @contextlib.contextmanager
    def stopped(self) -> Iterator[None]:
        self._database.capture.stop()
        self._database.server.kill()
        try:
            yield
        finally:
            self._database.server.start()
            self._database.capture.start()

    def forget(self, reader: str) -> None:
        """The database knows no readers."""

    def place(self, offset: OffsetObject) -> Any:
        return place_of(parse_lsn(str(offset["commit_lsn"])))

    def lose(self, reader: str) -> None:
        self._database.capture.await_captured()
        self._database.capture.prune(self._database.capture.synchpoint())

    def logged(self, events: list[Event]) -> list[Event]:
        return in_pairs(events)

    @staticmethod
    def _table(collection: str) -> str:
        return f'{SCHEMA}."{collection}"'
