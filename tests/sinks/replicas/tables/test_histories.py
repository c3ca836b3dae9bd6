"""Change logs and histories of a PostgreSQL database, as other readers see them."""

from __future__ import annotations

import random
from typing import Any

import pytest

from tests.sinks.lake.readers import IN_TURN
from tests.sinks.replicas.replication import Replication
from tests.sinks.replicas.tables.transfers import ACCOUNTS, require_sums, transfer

pytestmark = [pytest.mark.spark, pytest.mark.postgres]

of_every_format = pytest.mark.parametrize("replication", IN_TURN, indirect=True)
LONG = "x" * 10_000
TABLES = """
CREATE TABLE orders (id int PRIMARY KEY, v text, long text);
ALTER TABLE orders ALTER long SET STORAGE EXTERNAL;
CREATE TABLE plain (id int, v text);
ALTER TABLE plain REPLICA IDENTITY FULL;
CREATE TABLE now (id int PRIMARY KEY, v text);
"""
MODES = {"history_tables": r"public\.orders", "append_tables": r"public\.(keyed|plain)"}


def versions(replication: Replication, *columns: str) -> list[tuple[Any, ...]]:
    """Columns of the versions of orders, and whether they are current, in the order of the
    source."""
    rows = replication.lake.rows("public", "orders")
    rows.sort(key=lambda row: (row["valid_from_position"], row["id"]))
    return [tuple(row[name] for name in (*columns, "is_current")) for row in rows]


def log(replication: Replication, table: str, *columns: str) -> list[tuple[Any, ...]]:
    rows = replication.lake.rows("public", table)
    return [
        tuple(row[name] for name in ("__op", *columns))
        for row in sorted(rows, key=lambda row: str(row["__position"]))
    ]


@of_every_format
def test_each_table_keeps_what_its_mode_says(replication: Replication) -> None:
    execute = replication.database.execute
    execute(f"{TABLES} INSERT INTO orders VALUES (1, 'a', '{LONG}'), (2, 'b', NULL);")
    execute("INSERT INTO plain VALUES (1, 'a'); INSERT INTO now VALUES (1, 'a')")
    replication.run(**MODES)
    execute("UPDATE orders SET v = 'c' WHERE id = 1; UPDATE orders SET v = 'd' WHERE id = 1")
    execute("UPDATE orders SET id = 3 WHERE id = 1; DELETE FROM orders WHERE id = 2")
    execute("UPDATE plain SET v = 'b'; DELETE FROM plain; TRUNCATE plain; UPDATE now SET v = 'b'")
    execute("CREATE TABLE keyed (id int PRIMARY KEY, v text, long text)")
    execute("ALTER TABLE keyed ALTER long SET STORAGE EXTERNAL")
    execute(f"INSERT INTO keyed VALUES (1, 'a', '{LONG}')")
    execute("UPDATE keyed SET v = NULL; DELETE FROM keyed")
    replication.run(**MODES)
    assert versions(replication, "id", "v", "long") == [
        (1, "a", LONG, False),
        (2, "b", None, False),
        (1, "c", LONG, False),
        (1, "d", LONG, False),
        (3, "d", LONG, True),
    ]
    rows = {(row["id"], row["v"]): row for row in replication.lake.rows("public", "orders")}
    assert rows[1, "c"]["valid_from"] == rows[1, "c"]["valid_to"] == rows[1, "d"]["valid_from"]
    assert rows[1, "d"]["valid_to"] == rows[3, "d"]["valid_from"] > rows[1, "d"]["valid_from"]
    assert rows[3, "d"]["valid_to"] is None
    assert log(replication, "plain", "id", "v", "__absent") == [
        ("r", 1, "a", None),
        ("u", 1, "b", None),
        ("d", 1, "b", None),
        ("t", None, None, None),
    ]
    assert log(replication, "keyed", "id", "v", "long", "__absent") == [
        ("c", 1, "a", LONG, None),
        ("u", 1, None, None, ["long"]),
        ("d", 1, None, None, ["v", "long"]),
    ]
    assert replication.rows("now", "id", "v") == [(1, "b")]
    execute("TRUNCATE orders; ALTER TABLE orders ADD n int DEFAULT 7, DROP v")
    execute("INSERT INTO orders VALUES (1, 'new')")
    replication.run(**MODES)
    assert versions(replication, "id", "v", "n")[-2:] == [(3, "d", 7, False), (1, None, 7, True)]
    assert replication.stopped == []
    assert replication.error(history_tables=".*").code == "replicas.other_mode"


@of_every_format
def test_balances_have_their_sum_at_the_end_of_each_transaction(replication: Replication) -> None:
    """And so they have when a run ends within the history, and files are merged."""
    replication.database.execute(ACCOUNTS)
    chosen = random.Random(4)
    replication.run(history_tables=".*", compact_commits="2")
    for _ in range(3):
        transfer(replication.database, chosen, 30)
        replication.run(history_tables=".*", compact_commits="2")
    rows = replication.lake.rows("public", "orders")
    assert len(rows) == 10 + 3 * 30 * 2
    require_sums(rows)
    assert sum(row["is_current"] for row in rows) == 10
