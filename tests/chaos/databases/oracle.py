"""The stand-in for Oracle under the kills."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from headrace.connectors.oracle.position import OraclePosition
from headrace.errors import HeadraceError
from headrace_demo.oracle.server import OracleServer, Transaction
from tests.chaos.databases.database import (
    ACCOUNTS,
    LEDGER_ROWS,
    START_BALANCE,
    Change,
    ChaosDatabase,
    Row,
    Transfer,
)
from tests.servers.oracle import PDB, SCHEMA, OracleDatabase

_NUMBERS = ("id", "balance", "source", "target", "amount")
_TABLES = {
    "accounts": (
        '"id" NUMBER(9,0) NOT NULL', '"balance" NUMBER(18,0) NOT NULL', '"note" VARCHAR2(40)',
    ),
    "ledger": (
        '"id" NUMBER(9,0) NOT NULL', '"source" NUMBER(9,0)', '"target" NUMBER(9,0)',
        '"amount" NUMBER(18,0)', '"note" VARCHAR2(200)',
    ),
}  # fmt: skip
_SIGNALS = ("ID VARCHAR2(42) NOT NULL", "TYPE VARCHAR2(32)", "DATA VARCHAR2(2048)")
_OPERATIONS = {"INSERT": "c", "UPDATE": "u", "DELETE": "d"}
_SWITCHED_EVERY = 200
"""Transactions between two log switches."""


class _Instance:
    """The instance, not the process that keeps what is stored: sessions break, and nobody gets
    in."""

    def __init__(self, server: OracleServer) -> None:
        self._server = server

    def kill(self) -> None:
        self._server.call("shut")

    def start(self) -> None:
        self._server.call("open_again")


class ChaosOracle(ChaosDatabase):
    """See ChaosDatabase. What happened is asked of the redo. Only one client changes rows."""

    name = "oracle"
    errors = (RuntimeError, HeadraceError, OSError, EOFError)
    collection_member = "table"
    unwrapping = "io.debezium.transforms.ExtractNewRecordState"
    source_members = ("table", "scn", "commit_scn", "txId")
    is_exclusive = False

    def __init__(self, server: OracleServer) -> None:
        self._stand_in = server
        self.server: Any = _Instance(server)
        self.database = OracleDatabase.create(server)
        self._balances = dict.fromkeys(range(1, ACCOUNTS + 1), START_BALANCE)
        self._entries, self._transfers = LEDGER_ROWS, 0

    def properties(self) -> dict[str, str]:
        return self.database.properties() | {
            "topic.prefix": "chaos",
            "table.include.list": rf"{SCHEMA}\.(accounts|ledger)",
            "poll.interval.ms": "50",
            "include.schema.changes": "false",
            # Debezium's default leaves out what open transactions have done before a snapshot.
            "internal.log.mining.transaction.snapshot.boundary.mode": "transaction_view_only",
        }

    def create(self) -> None:
        rows: dict[str, list[list[Any]]] = {
            "accounts": [[n, balance, "opened"] for n, balance in self._balances.items()],
            "ledger": [[n + 1, n % 100 + 1, n % 99 + 1, 0, "old"] for n in range(LEDGER_ROWS)],
        }
        for table, columns in _TABLES.items():
            self.database.create_table(table, *columns, key=["id"], rows=rows[table])

    @contextmanager
    def connect(self) -> Iterator[Any]:
        """The stand-in's own connection."""
        yield None

    def commit(self, connection: Any, transfer: Transfer) -> None:
        before = dict(self._balances)
        try:
            with self.database.transaction() as transaction:
                self.take(transaction, transfer)
        except BaseException:
            self._balances = before
            raise
        self._entries += transfer.entries
        self._transfers += 1
        if self._transfers % _SWITCHED_EVERY == 0:
            self._stand_in.apply([{"switch": 1}])

    def take(self, transaction: Transaction, transfer: Transfer) -> None:
        """The changes of a transfer in an open transaction."""
        first = self._entries + 1
        entries = [
            {"id": first + n, "source": transfer.source, "target": transfer.target, "amount": n}
            for n in range(transfer.entries)
        ]
        for account, change, note in transfer.moves:
            self._balances[account] += change
            transaction.update(
                f"{SCHEMA}.accounts", {"id": account}, balance=self._balances[account], note=note
            )
        transaction.insert_all(f"{SCHEMA}.ledger", entries)
        if transfer.victim is not None:
            transaction.delete(f"{SCHEMA}.ledger", id=transfer.victim)

    def head(self) -> int:
        return int(self._stand_in.call("scn"))

    def stir(self) -> None:
        """The flush table makes the position move."""

    def place(self, offset: dict[str, object]) -> int:
        return OraclePosition.from_json(offset).scn

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
        self.database.create_table("SIGNALS", *_SIGNALS, key=["ID"])
        return f"{PDB}.{SCHEMA}.SIGNALS"

    def signal(self, identity: str, kind: str, data: Row) -> None:
        with self.database.transaction() as transaction:
            transaction.insert(f"{SCHEMA}.SIGNALS", ID=identity, TYPE=kind, DATA=json.dumps(data))

    def change(self, value: Row) -> Change:
        source = value["source"]
        scn = int(source["scn"])
        commit = int(source["commit_scn"] or scn)  # none of a row that was read
        row = value["after"] or value["before"]
        return Change(
            source["table"], row["id"], value["op"], value["before"], value["after"],
            source["txId"], (source["table"], scn), scn, commit,
        )  # fmt: skip

    def image(self, row: Row) -> object:
        return row

    def history(self, first: int) -> Iterator[tuple[tuple[str, int], str]]:
        for commit, table, scn, operation in self._stand_in.call("committed"):
            if commit > first and table in _TABLES:
                yield (table, scn), _OPERATIONS[operation]

    def rows(self, collection: str) -> dict[int, Row]:
        rows = [
            {name: int(text) if name in _NUMBERS and text else text for name, text in row.items()}
            for row in self._stand_in.rows(f"{SCHEMA}.{collection}")
        ]
        return {int(str(row["id"])): row for row in rows}
