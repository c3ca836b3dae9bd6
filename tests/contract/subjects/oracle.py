"""The stand-in for Oracle as a subject of the conformance suite."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, suppress
from typing import Any

from headrace.connectors.connector import OffsetObject
from headrace_demo.oracle.server import Transaction
from tests.contract.changes import Change, Delete, Fill, Insert, Move, Update
from tests.contract.subject import Feature, Subject
from tests.servers.oracle import PDB, SCHEMA, OracleDatabase

_COLUMNS = ('"id" NUMBER(9,0) NOT NULL', '"text" VARCHAR2(4000)')
_KEPT_LOGS = 3
"""Groups of online logs."""


class _RolledBack(Exception):
    """Undoes a transaction."""


class OracleSubject(Subject):
    """Two tables of a fresh database. Their names are in lower case, as in the suite. An empty text
    is NULL in Oracle."""

    features = frozenset(Feature) - {Feature.ACKNOWLEDGES}
    slices = Fill(100, 1200, 3900), Fill(7000, 7300, 3900)
    ranges = Fill(1, 4000, 3900)

    def __init__(self, database: OracleDatabase) -> None:
        self._database = database
        for collection in ("things", "marks"):
            database.create_table(collection, *_COLUMNS, key=["id"])

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
        with suppress(_RolledBack), self._database.transaction() as transaction:
            for change in changes:
                self._make(transaction, f"{SCHEMA}.{collection}", change)
            if rolled_back:
                raise _RolledBack

    @staticmethod
    def _make(transaction: Transaction, table: str, change: Change) -> None:
        match change:
            case Insert(key, text):
                transaction.insert(table, id=key, text=text)
            case Update(key, text):
                transaction.update(table, {"id": key}, text=text)
            case Delete(key):
                transaction.delete(table, id=key)
            case Move(key, to):
                transaction.update(table, {"id": key}, id=to)
            case Fill(first, last, _):
                keys = range(first, last + 1)
                transaction.insert_all(table, [{"id": key, "text": change.text} for key in keys])

    def rows(self, collection: str) -> dict[int, str]:
        rows = self._database.server.rows(f"{SCHEMA}.{collection}")
        return {int(str(row["id"])): row["text"] or "" for row in rows}

    def identifier(self, collection: str) -> str:
        return f"{PDB}.{SCHEMA}.{collection}"

    def stopped(self) -> AbstractContextManager[None]:
        return self._database.server.shut()

    def forget(self, reader: str) -> None:
        """The database knows no readers."""

    def place(self, offset: OffsetObject) -> Any:
        return int(str(offset["scn"]))

    def lose(self, reader: str) -> None:
        server = self._database.server
        server.apply([{"switch": 1}] * (_KEPT_LOGS + 1))
        sequences = [sequence for thread, sequence in server.call("sequences") if thread == 1]
        server.apply([{"delete_logs": sequences[:-1]}])

    def text(self, value: str | None) -> str | None:
        return value or ""
