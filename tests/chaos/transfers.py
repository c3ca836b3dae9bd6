"""A workload whose sum never changes, and what must hold of the events that tell of it."""

from __future__ import annotations

import json
import random
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import psycopg

from headrace.cli.embedded import PostgresServer

ACCOUNTS = 100
START_BALANCE = 1000
LEDGER_ROWS = 20_000
_TABLES = f"""
CREATE TABLE accounts (id int PRIMARY KEY, balance bigint NOT NULL, note text);
ALTER TABLE accounts REPLICA IDENTITY FULL;
CREATE TABLE ledger (id bigserial PRIMARY KEY, source int, target int, amount bigint, note text);
INSERT INTO accounts SELECT i, {START_BALANCE}, 'opened' FROM generate_series(1, {ACCOUNTS}) i;
INSERT INTO ledger (source, target, amount, note)
  SELECT i % 100 + 1, i % 99 + 1, 0, repeat('old ', 20) FROM generate_series(1, {LEDGER_ROWS}) i;
"""

Row = dict[str, Any]


class Transfers(threading.Thread):
    """Moves money between accounts, a few rows to a transaction, until `stop`; a server that is
    gone is waited for."""

    def __init__(self, server: PostgresServer, seed: int) -> None:
        super().__init__(daemon=True)
        self._server = server
        self._random = random.Random(seed)
        self._ended = threading.Event()
        server.execute(_TABLES)

    def run(self) -> None:
        while not self._ended.is_set():
            try:
                with self._server.connect() as connection:
                    while not self._ended.wait(0.005):
                        with connection.transaction():
                            self._transfer(connection)
            except (psycopg.Error, OSError):
                self._ended.wait(0.2)

    def _transfer(self, connection: psycopg.Connection[Any]) -> None:
        picked = self._random.sample(range(1, ACCOUNTS + 1), self._random.randint(2, 5))
        source, *targets = sorted(picked)
        for target in targets:
            amount = self._random.randint(1, 50)
            for account, change in ((source, -amount), (target, amount)):
                connection.execute(
                    "UPDATE accounts SET balance = balance + %s, note = %s WHERE id = %s",
                    (change, f"with {source + target - account}", account),
                )
            connection.execute(
                "INSERT INTO ledger (source, target, amount) VALUES (%s, %s, %s)",
                (source, target, amount),
            )
        if self._random.random() < 0.2:
            victim = self._random.randint(1, LEDGER_ROWS)
            connection.execute("DELETE FROM ledger WHERE id = %s", (victim,))

    def stop(self) -> None:
        """End, with the last transaction committed."""
        self._ended.set()
        self.join()


def table(server: PostgresServer, name: str) -> dict[int, Row]:
    """The rows of a table by id."""
    return {row["id"]: row for (row,) in server.execute(f"SELECT to_json(x) FROM {name} x")}


def events(output: Path) -> list[Row]:
    """Row changes in the order of the output, without tombstones and messages."""
    with output.open() as lines:
        values = [json.loads(line)["value"] for line in lines]
    return [value for value in values if value is not None and value["op"] != "m"]


def check(server: PostgresServer, output: Path, consistent: int) -> None:
    """Nothing lost, nothing doubled, every transaction whole: from `consistent` on (an LSN; 0 for
    an undisturbed snapshot) the sum of the balances is the same at every transaction's end."""
    found = events(output)
    read = [e for e in found if e["op"] == "r"]
    streamed = [e for e in found if e["op"] != "r"]
    again = [k for k, n in Counter((e["source"]["table"], _id(e)) for e in read).items() if n > 1]
    assert not again, f"read again: {again[:5]}"
    seen = Counter((e["source"]["lsn"], e["op"], e["source"]["table"], _id(e)) for e in streamed)
    doubled = [key for key, count in seen.items() if count > 1]
    assert not doubled, f"doubled: {doubled[:5]}"
    positions = [json.loads(e["source"]["sequence"]) for e in streamed]
    commits = [int(last or 0) for last, _lsn in positions]
    assert commits == sorted(commits), "transactions out of order"

    state: dict[str, dict[int, Row]] = {"accounts": {}, "ledger": {}}
    balance = 0
    boundaries = 0
    for number, event in enumerate(found):
        name = event["source"]["table"]
        rows = state[name]
        if name == "accounts":
            balance -= rows.get(_id(event), {}).get("balance", 0)
        if event["op"] == "d":
            rows.pop(_id(event), None)
        else:
            rows[_id(event)] = event["after"]
        if name == "accounts":
            balance += rows.get(_id(event), {}).get("balance", 0)
        following = found[number + 1] if number + 1 < len(found) else None
        if event["op"] == "r" or (following and _same_transaction(event, following)):
            continue
        if event["source"]["lsn"] >= consistent:
            boundaries += 1
            assert balance == ACCOUNTS * START_BALANCE, f"sum {balance} after {event['source']}"
    assert boundaries > 100
    for name, rows in state.items():
        assert rows == table(server, name), name


def _same_transaction(one: Row, other: Row) -> bool:
    return other["op"] != "r" and one["source"]["txId"] == other["source"]["txId"]


def _id(event: Row) -> int:
    return int((event["after"] or event["before"])["id"])


def consistent_from(checkpoint: Path) -> int:
    """snapshot.consistent.lsn of the newest offset; 0 when no snapshot was resumed."""
    newest = max((checkpoint / "offsets").glob("[0-9]*"), key=lambda path: int(path.name))
    return int(json.loads(newest.read_text().splitlines()[-1]).get("consistent") or 0)


def wait_for(what: str, condition: Any, seconds: float = 240) -> None:
    """Wait until `condition()` holds."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.05)
