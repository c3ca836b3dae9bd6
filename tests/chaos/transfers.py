"""A workload whose sum never changes, and what must hold of the events that tell of it."""

from __future__ import annotations

import json
import random
import threading
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import psycopg

from headrace.testing.embedded import PostgresServer

ACCOUNTS = 100
START_BALANCE = 1000
LEDGER_ROWS = 25_000
BULK_ROWS = 2_500  # more than a micro-batch takes; every BULK_EVERY-th transaction
BULK_EVERY = 500
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
_WITNESS = "SELECT pg_create_logical_replication_slot('witness', 'pgoutput')"
_WITNESSED = (
    "SELECT (lsn - '0/0')::bigint, substring(data FOR 9) FROM pg_logical_slot_peek_binary_changes("
    "'witness', NULL, NULL, 'proto_version', '1', 'publication_names', 'witness')"
)
_OPERATIONS = {b"I": "c", b"U": "u", b"D": "d"}

Row = dict[str, Any]


class Transfers(threading.Thread):
    """Moves money between accounts, a few rows to a transaction, until `stop`; a server that is
    gone is waited for. What happened is asked of the server alone: of the tables, and of a second
    slot, the witness."""

    def __init__(self, server: PostgresServer, seed: int) -> None:
        super().__init__(daemon=True)
        self._server = server
        self._random = random.Random(seed)
        self._count = 0
        self._ended = threading.Event()
        server.execute(_TABLES)
        server.execute(_WITNESS)

    def run(self) -> None:
        while not self._ended.is_set():
            try:
                with self._server.connect() as connection:
                    while not self._ended.wait(0.01):
                        with connection.transaction():
                            self._transfer(connection)
            except (psycopg.Error, OSError):
                self._ended.wait(0.2)

    def _transfer(self, connection: psycopg.Connection[Any]) -> None:
        accounts = self._random.sample(range(1, ACCOUNTS + 1), self._random.randint(2, 5))
        source, *targets = accounts
        for target in targets:
            amount = self._random.randint(1, 50)
            for account, change in ((source, -amount), (target, amount)):
                connection.execute(
                    "UPDATE accounts SET balance = balance + %s, note = %s WHERE id = %s",
                    (change, f"with {source + target - account}", account),
                )
        insert = "INSERT INTO ledger (source, target, amount) SELECT %s, %s, generate_series(1, %s)"
        self._count += 1
        count = 1 if self._count % BULK_EVERY else BULK_ROWS
        connection.execute(insert, (source, targets[0], count))
        if self._random.random() < 0.3:
            victim = self._random.randint(1, LEDGER_ROWS)
            connection.execute("DELETE FROM ledger WHERE id = %s", (victim,))

    def stop(self) -> None:
        """End, with the last transaction committed."""
        self._ended.set()
        self.join()


def check(server: PostgresServer, output: Path, consistent: int) -> dict[str, int]:
    """Nothing lost, nothing doubled, every transaction whole: from the log position `consistent`
    on (0: from the first transaction) the sum of the balances is the same at every boundary.
    Returns how much was seen."""
    read = list(_events(output, "r"))
    streamed = list(_events(output, "cud"))
    _check_reads(read)
    first = int(read[0]["source"]["lsn"])
    _check_against_witness(server, streamed, first)
    commits = [int(json.loads(event["source"]["sequence"])[0] or 0) for event in streamed]
    assert commits == sorted(commits), "transactions are out of order"

    tables = Tables()
    for event in read:
        tables.apply(event)
    boundaries = 0
    for event, following in zip(streamed, [*streamed[1:], None], strict=True):
        settled = event["source"]["lsn"] >= consistent
        if settled and event["source"]["table"] == "accounts":
            assert tables.before(event) == event["before"], f"not what was before: {event}"
        tables.apply(event)
        if settled and (following is None or _xid(following) != _xid(event)):
            boundaries += 1
            assert tables.sum == ACCOUNTS * START_BALANCE, f"sum {tables.sum} after {event}"
    assert boundaries > 20
    for name, rows in tables.rows.items():
        assert rows == _table(server, name), f"{name} differs"
    return {"read": len(read), "streamed": len(streamed), "boundaries": boundaries}


class Tables:
    """Both tables folded from events: `r`, `c` and `u` set a row, `d` removes it."""

    def __init__(self) -> None:
        self.rows: dict[str, dict[int, Row]] = {"accounts": {}, "ledger": {}}
        self.sum = 0

    def before(self, event: Row) -> Row | None:
        return self.rows[event["source"]["table"]].get(_id(event))

    def apply(self, event: Row) -> None:
        rows = self.rows[event["source"]["table"]]
        old = rows.pop(_id(event), {})
        if event["op"] != "d":
            rows[_id(event)] = event["after"]
        if event["source"]["table"] == "accounts":
            self.sum += (event["after"] or {}).get("balance", 0) - old.get("balance", 0)


def _events(output: Path, operations: str) -> Iterator[Row]:
    with output.open() as lines:
        for line in lines:
            value = json.loads(line)["value"]
            if value is not None and value["op"] in operations:
                yield value


def _check_reads(read: list[Row]) -> None:
    """Every row of the snapshot once, all at the slot's position."""
    keys = Counter((event["source"]["table"], _id(event)) for event in read)
    assert [key for key, count in keys.items() if count > 1][:5] == [], "read again"
    assert len({event["source"]["lsn"] for event in read}) == 1


def _check_against_witness(server: PostgresServer, streamed: list[Row], first: int) -> None:
    """Exactly the changes of the transactions that committed from `first` on, each once."""
    seen = Counter((event["source"]["lsn"], event["op"]) for event in streamed)
    assert [key for key, count in seen.items() if count > 1][:5] == [], "doubled"
    wanted = Counter(_changes(server.execute(_WITNESSED), first))
    for word, those in (("lost", wanted - seen), ("never happened", seen - wanted)):
        told = sorted(those.elements())
        assert not told, (
            f"{word}: {len(told)} of {wanted.total()}, {told[:5]} to {told[-5:]}; the events are "
            f"{min(seen, default=None)} to {max(seen, default=None)}, snapshot {first}"
        )


def _changes(messages: Iterable[tuple[Any, ...]], first: int) -> Iterator[tuple[int, str]]:
    committed = 0
    for lsn, head in messages:
        if head[:1] == b"B":
            committed = int.from_bytes(head[1:9], "big")
        operation = _OPERATIONS.get(head[:1])
        if operation is not None and committed >= first:
            yield lsn, operation


def _table(server: PostgresServer, name: str) -> dict[int, Row]:
    return {row["id"]: row for (row,) in server.execute(f"SELECT to_json(x) FROM {name} x")}


def _xid(event: Row) -> int:
    return int(event["source"]["txId"])


def _id(event: Row) -> int:
    return int((event["after"] or event["before"])["id"])
