"""The stand-in for Db2 under the kills."""

from __future__ import annotations

import contextlib
import itertools
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from typing import Any

import ibm_db_dbi

from headrace.connectors.db2.lsn import format_lsn, lsn_of, parse_lsn, place_of
from headrace.errors import HeadraceError
from headrace_demo.db2.capture import Execute
from headrace_demo.db2.derby import DerbyServer
from tests.chaos.databases.database import (
    ACCOUNTS,
    LEDGER_ROWS,
    START_BALANCE,
    Change,
    ChaosDatabase,
    Row,
    Transfer,
)
from tests.servers.db2 import SCHEMA, Db2Database

_LEDGER = (
    '"id" BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, "source" INTEGER, "target" INTEGER, '
    '"amount" BIGINT, "note" VARCHAR(200)'
)
_ACCOUNTS = '"id" INTEGER NOT NULL PRIMARY KEY, "balance" BIGINT NOT NULL, "note" VARCHAR(40)'
_TABLES = {"accounts": _ACCOUNTS, "ledger": _LEDGER}
_SIGNALS = '"ID" VARCHAR(42) PRIMARY KEY NOT NULL, "TYPE" VARCHAR(32), "DATA" VARCHAR(2048)'
_ALL = (
    'SELECT IBMSNAP_COMMITSEQ, IBMSNAP_INTENTSEQ, IBMSNAP_OPERATION FROM "ASNCDC"."CDC_{}_{}" '
    "ORDER BY 1, 2"
)


class ChaosDb2(ChaosDatabase):
    """See ChaosDatabase. What happened is asked of the change tables, which nobody prunes. There is
    no initial snapshot: its rows may be newer than the log (`reading/test_kills.py` kills one)."""

    name = "db2"
    errors = (ibm_db_dbi.Error, HeadraceError, OSError)
    collection_member = "table"
    unwrapping = "io.debezium.transforms.ExtractNewRecordState"
    source_members = ("table", "commit_lsn", "change_lsn")
    is_exclusive = False

    def __init__(self, server: DerbyServer) -> None:
        self.server: DerbyServer = server
        self.database = Db2Database.create(server)
        self.capture = self.database.capture
        self._opened: dict[str, dict[int, Row]] = {}

    def properties(self) -> dict[str, str]:
        return self.database.properties() | {
            "topic.prefix": "chaos",
            "table.include.list": rf"{SCHEMA}\.(accounts|ledger)",
            "snapshot.mode": "no_data",
            "poll.interval.ms": "50",
            "include.schema.changes": "false",
        }

    def create(self) -> None:
        for table, columns in _TABLES.items():
            self.database.execute(f"CREATE TABLE {self._table(table)} ({columns})")
        self.database.execute("CREATE TABLE NUMBERS (N INTEGER NOT NULL PRIMARY KEY)")
        for first in range(0, LEDGER_ROWS, 500):
            rows = ", ".join(f"({number})" for number in range(first, first + 500))
            self.database.execute(f"INSERT INTO NUMBERS VALUES {rows}")
        self.database.execute(
            f"INSERT INTO {self._table('accounts')} SELECT N + 1, {START_BALANCE}, 'opened' "
            f"FROM NUMBERS WHERE N < {ACCOUNTS}"
        )
        self.database.execute(
            f'INSERT INTO {self._table("ledger")} ("source", "target", "amount", "note") '
            "SELECT MOD(N, 100) + 1, MOD(N, 99) + 1, 0, 'old' FROM NUMBERS"
        )
        self._opened = {table: self.rows(table) for table in _TABLES}
        for table in _TABLES:
            self.capture.add_table(SCHEMA, table)
        self.capture.start()
        self.capture.await_captured()

    @contextmanager
    def connect(self) -> Iterator[Any]:
        """A connection in transactions."""
        with closing(self.database.connect()) as connection:
            connection.set_autocommit(False)
            yield connection

    def commit(self, connection: Any, transfer: Transfer) -> None:
        with self.capture.transaction() as execute:
            self.take(execute, transfer)

    def take(self, execute: Execute, transfer: Transfer) -> None:
        """The changes of a transfer in an open transaction."""
        accounts, ledger = self._table("accounts"), self._table("ledger")
        for account, change, note in transfer.moves:
            execute(
                f'UPDATE {accounts} SET "balance" = "balance" + {change}, "note" = ? '
                'WHERE "id" = ?',
                (note, account),
            )
        execute(
            f'INSERT INTO {ledger} ("source", "target", "amount") '
            f"SELECT {transfer.source}, {transfer.target}, N FROM NUMBERS "
            f"WHERE N < {transfer.entries}",
            (),
        )
        self._remove(execute, transfer.victim)

    def _remove(self, execute: Execute, victim: int | None) -> None:
        if victim is not None:
            execute(f'DELETE FROM {self._table("ledger")} WHERE "id" = ?', (victim,))

    def head(self) -> int:
        return place_of(self.capture.await_captured())

    def stir(self) -> None:
        """The synchpoint moves by itself."""

    def place(self, offset: dict[str, object]) -> int:
        lsn = offset.get("commit_lsn")
        return place_of(parse_lsn(str(lsn))) if lsn else 0

    def consistent(self, offset: dict[str, object]) -> int:
        return 0

    def has_position(self, planned: int) -> bool:
        return planned >= 0

    @contextmanager
    def readers(self) -> Iterator[Callable[[], bool]]:
        """Returns no readers: they leave no trace."""
        yield lambda: True

    def identifier(self, collection: str) -> str:
        return f"{SCHEMA}.{collection}"

    def create_signals(self) -> str:
        self.database.create_table("SIGNALS", _SIGNALS)
        return f"{SCHEMA}.SIGNALS"

    def signal(self, identity: str, kind: str, data: Row) -> None:
        statement = f"INSERT INTO {SCHEMA}.SIGNALS VALUES (?, ?, ?)"
        self.database.execute(statement, (identity, kind, json.dumps(data)))

    def change(self, value: Row) -> Change:
        source = value["source"]
        commit = place_of(parse_lsn(source["commit_lsn"]))
        lsn = source["change_lsn"]  # none of a row that was read
        change = commit if lsn is None else place_of(parse_lsn(lsn))
        row = value["after"] or value["before"]
        place = (source["table"], source["change_lsn"])
        before, after = value["before"], value["after"]
        return Change(
            source["table"], row["id"], value["op"], before, after, commit, place, change, commit
        )

    def image(self, row: Row) -> object:
        return row

    def history(self, first: int) -> Iterator[tuple[tuple[str, str], str]]:
        for table in _TABLES:
            rows = self.database.execute(_ALL.format(SCHEMA, table))
            for commit, group in itertools.groupby(rows, key=lambda row: bytes(row[0])):
                if place_of(commit) <= first:
                    continue
                waiting = [(bytes(intent), letter) for _, intent, letter in group]
                while waiting:
                    intent, letter = waiting.pop(0)
                    operation = {"I": "c", "D": "d"}[letter]
                    if letter == "D" and waiting and waiting[0][1] == "I":
                        intent, operation = waiting.pop(0)[0], "u"
                    yield (table, format_lsn(lsn_of(place_of(intent)))), operation

    def rows_before(self, first: int) -> dict[str, dict[int, Row]]:
        before = {table: dict(rows) for table, rows in self._opened.items()}
        for table, rows in before.items():
            for commit, _, letter, *row in self.database.changes(table):
                if place_of(bytes(commit)) <= first:
                    rows.pop(row[0], None)
                    if letter == "I":
                        rows[row[0]] = _row(table, row)
        return before

    def rows(self, collection: str) -> dict[int, Row]:
        rows = self.database.execute(f"SELECT * FROM {self._table(collection)}")
        return {row[0]: _row(collection, row) for row in rows}

    def close(self) -> None:
        """The Capture program ends."""
        with contextlib.suppress(*self.errors):
            self.capture.stop()

    @staticmethod
    def _table(table: str) -> str:
        return f'{SCHEMA}."{table}"'


def _row(table: str, values: Sequence[Any]) -> Row:
    names = [column.split('"')[1] for column in _TABLES[table].split(", ")]
    return dict(zip(names, values, strict=True))


def opened(server: DerbyServer) -> AbstractContextManager[ChaosDb2]:
    """A database on a server, until the context ends."""
    return closing(ChaosDb2(server))
