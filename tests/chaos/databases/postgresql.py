"""PostgreSQL under the kills."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import psycopg

from headrace.testing.embedded import PostgresServer
from tests.chaos.databases.database import (
    ACCOUNTS,
    LEDGER_ROWS,
    START_BALANCE,
    Change,
    ChaosDatabase,
    Row,
    Transfer,
)

SLOT = "chaos"
_TABLES = f"""
CREATE TABLE accounts (id int PRIMARY KEY, balance bigint NOT NULL, note text);
ALTER TABLE accounts REPLICA IDENTITY FULL;
CREATE TABLE ledger (id bigserial PRIMARY KEY, source int, target int, amount bigint, note text);
INSERT INTO accounts SELECT i, {START_BALANCE}, 'opened' FROM generate_series(1, {ACCOUNTS}) i;
INSERT INTO ledger (source, target, amount, note)
  SELECT i % 100 + 1, i % 99 + 1, 0, repeat('old ', 20) FROM generate_series(1, {LEDGER_ROWS}) i;
ANALYZE;
CREATE PUBLICATION witness FOR TABLE accounts, ledger;
"""
_SIGNALS = "CREATE TABLE signals (id varchar(42) PRIMARY KEY, type varchar(32) NOT NULL, data text)"
_WITNESS = "SELECT pg_create_logical_replication_slot('witness', 'pgoutput')"
_WITNESSED = (
    "SELECT (lsn - '0/0')::bigint, substring(data FOR 9) FROM pg_logical_slot_peek_binary_changes("
    "'witness', NULL, NULL, 'proto_version', '1', 'publication_names', 'witness')"
)
_OPERATIONS = {b"I": "c", b"U": "u", b"D": "d"}


class ChaosPostgres(ChaosDatabase):
    """See ChaosDatabase. What happened is asked of a second slot, the witness."""

    name = "postgresql"
    errors = (psycopg.Error, OSError)
    collection_member = "table"
    unwrapping = "io.debezium.transforms.ExtractNewRecordState"
    source_members = ("table", "txId", "lsn", "sequence")
    is_exclusive = True

    def __init__(self, server: PostgresServer) -> None:
        self.server: PostgresServer = server

    def properties(self) -> dict[str, str]:
        return {
            "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
            "database.hostname": self.server.host,
            "database.port": str(self.server.port),
            "database.user": self.server.user,
            "database.password": "x",
            "database.dbname": "postgres",
            "slot.name": SLOT,
            "table.include.list": "public.accounts,public.ledger",
            "status.update.interval.ms": "500",
        }

    def create(self) -> None:
        self.server.execute(_TABLES)
        self.server.execute(_WITNESS)

    def connect(self) -> AbstractContextManager[Any]:
        return self.server.connect()

    def commit(self, connection: psycopg.Connection[Any], transfer: Transfer) -> None:
        update = "UPDATE accounts SET balance = balance + %s, note = %s WHERE id = %s"
        insert = "INSERT INTO ledger (source, target, amount) SELECT %s, %s, generate_series(1, %s)"
        with connection.transaction():
            for account, change, note in transfer.moves:
                connection.execute(update, (change, note, account))
            connection.execute(insert, (transfer.source, transfer.target, transfer.entries))
            if transfer.victim is not None:
                connection.execute("DELETE FROM ledger WHERE id = %s", (transfer.victim,))

    def head(self) -> int:
        return int(self.server.execute("SELECT (pg_current_wal_lsn() - '0/0')::bigint")[0][0])

    def stir(self) -> None:
        self.server.execute("SELECT pg_logical_emit_message(true, 'end', '')")

    def place(self, offset: dict[str, object]) -> int:
        return int(str(offset.get("lsn_commit", 0)))

    def consistent(self, offset: dict[str, object]) -> int:
        return int(str(offset.get("consistent", 0)))

    def has_position(self, planned: int) -> bool:
        query = "SELECT 1 FROM pg_replication_slots WHERE slot_name = %s"
        return bool(self.server.execute(query, (SLOT,)))

    @contextmanager
    def readers(self) -> Iterator[Callable[[], bool]]:
        query = b"SELECT 1 FROM pg_replication_slots WHERE slot_name = %s AND active"
        with self.server.connect() as connection:
            yield lambda: bool(connection.execute(query, (SLOT,)).fetchall())

    def identifier(self, collection: str) -> str:
        return f"public.{collection}"

    def create_signals(self) -> str:
        self.server.execute(_SIGNALS)
        return "public.signals"

    def signal(self, identity: str, kind: str, data: Row) -> None:
        self.server.execute(
            "INSERT INTO signals VALUES (%s, %s, %s)", (identity, kind, json.dumps(data))
        )

    def change(self, value: Row) -> Change:
        source = value["source"]
        commit = json.loads(source["sequence"])[0]
        return Change(
            source[self.collection_member],
            int((value["after"] or value["before"])["id"]),
            value["op"],
            value["before"],
            value["after"],
            source["txId"],
            source["lsn"],
            source["lsn"],
            int(commit or 0),
        )

    def image(self, row: Row) -> object:
        return row

    def history(self, first: int) -> Iterator[tuple[int, str]]:
        committed = 0
        for lsn, head in self.server.execute(_WITNESSED):
            if head[:1] == b"B":
                committed = int.from_bytes(head[1:9], "big")
            operation = _OPERATIONS.get(head[:1])
            if operation is not None and committed >= first:
                yield lsn, operation

    def rows(self, collection: str) -> dict[int, Row]:
        rows = self.server.execute(f"SELECT to_json(x) FROM {collection} x")
        return {row["id"]: row for (row,) in rows}
