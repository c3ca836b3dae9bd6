"""Changes of PostgreSQL's log in change logs and histories, in a lake without Spark."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from headrace.offsets.offset import shown_until
from headrace.sinks.replicas.changes.parts import parts_folder
from headrace.sinks.replicas.comments import SourceComments
from headrace.sinks.replicas.lake import TableName
from headrace.sinks.replicas.options import ReplicaOptions
from headrace.sinks.replicas.outcomes import MicroBatch
from headrace.sinks.replicas.replica import Replica
from headrace.sinks.replicas.runners import HereRunner
from tests.connectors.postgresql.harness import properties_with
from tests.servers.postgresql import Database
from tests.sinks.replicas.applying.folder_lake import FolderLake
from tests.sinks.replicas.changes.change_readers import PostgresChanges
from tests.sinks.replicas.tables.transfers import ACCOUNTS, require_sums, transfer

pytestmark = pytest.mark.postgres

LONG = "x" * 10_000
MODES = {"mode": "history", "append.tables": r"public\.(keyed|plain)"}
properties = properties_with(
    {
        "event.converting.failure.handling.mode": "fail",
        "skipped.operations": "none",
        "headrace.table.identity": "id",
        "headrace.sink.type": "delta",
        **{f"headrace.sink.{name}": text for name, text in MODES.items()},
    }
)
Row = dict[str, Any]


class Lakes:
    """Tables of a database, each in a folder of its own, and the micro-batches that they got."""

    def __init__(self, folder: Path, database: Database) -> None:
        self.folder, self.reader = folder, PostgresChanges(properties(database))
        self.lakes: dict[str, FolderLake] = {}
        self.batches = self.applied = 0

    def run(self) -> None:
        """Apply everything that the log has now as one micro-batch."""
        self.reader.drain()
        self.apply()

    def apply(self) -> None:
        """Apply what was read since the last micro-batch as one."""
        parts = self.reader.written.parts[self.applied :]
        self.applied += len(parts)
        self.batches += 1
        for topic in {part.topic for part in parts}:
            name = topic.rpartition(".")[2]
            lake = self.lakes.setdefault(name, FolderLake(self.folder / name))
            table, comments = TableName(("public",), name), SourceComments(lambda: None)
            replica = Replica(lake, table, ReplicaOptions.of(MODES), HereRunner(), comments)
            position = json.dumps(self.reader.offsets[-1])
            batch = MicroBatch("12345678-query", self.batches, position)
            # As the sink does; the rows of a range are read once here.
            until = shown_until(self.reader.offsets[-1])
            table_parts = [
                replace(part, shown_until=until if part.first < until else "")
                for part in parts
                if part.topic == topic
            ]
            replica.apply(batch, table_parts, parts_folder(self.reader.written.folder))

    def rows(self, name: str, place: str) -> list[Row]:
        """The rows of a table, ordered by a column of positions."""
        return sorted(self.lakes[name].kept.rows(), key=lambda row: (row[place], row["id"] or 0))

    def versions(self, *columns: str) -> list[tuple[Any, ...]]:
        """Columns of the versions of orders, and whether they are current."""
        names = (*columns, "is_current")
        rows = self.rows("orders", "valid_from_position")
        return [tuple(row[name] for name in names) for row in rows]

    def log(self, name: str, *columns: str) -> list[tuple[Any, ...]]:
        """Columns of the rows of a change log."""
        rows = self.rows(name, "__position")
        return [tuple(row[column] for column in ("__op", *columns)) for row in rows]


@pytest.fixture
def lakes(database: Database, tmp_path: Path) -> Iterator[Lakes]:
    new_lakes = Lakes(tmp_path, database)
    yield new_lakes
    new_lakes.reader.stop()


def test_each_table_keeps_what_its_mode_says(lakes: Lakes, database: Database) -> None:
    execute = database.execute
    execute(f"""
        CREATE TABLE orders (id int PRIMARY KEY, v text, long text);
        ALTER TABLE orders ALTER long SET STORAGE EXTERNAL;
        CREATE TABLE plain (id int, v text);
        ALTER TABLE plain REPLICA IDENTITY FULL;
        INSERT INTO orders VALUES (1, 'a', '{LONG}'), (2, 'b', NULL);
        INSERT INTO plain VALUES (1, 'a');
    """)
    lakes.run()
    execute("UPDATE orders SET v = 'c' WHERE id = 1; UPDATE orders SET v = 'd' WHERE id = 1")
    execute("UPDATE orders SET id = 3 WHERE id = 1; DELETE FROM orders WHERE id = 2")
    execute("UPDATE plain SET v = 'b'; DELETE FROM plain; TRUNCATE plain")
    execute("CREATE TABLE keyed (id int PRIMARY KEY, v text, long text)")
    execute("ALTER TABLE keyed ALTER long SET STORAGE EXTERNAL")
    execute(f"INSERT INTO keyed VALUES (1, 'a', '{LONG}')")
    execute("UPDATE keyed SET v = NULL; DELETE FROM keyed")
    lakes.run()
    assert lakes.versions("id", "v", "long") == [
        (1, "a", LONG, False),
        (2, "b", None, False),
        (1, "c", LONG, False),
        (1, "d", LONG, False),
        (3, "d", LONG, True),
    ]
    rows = {(row["id"], row["v"]): row for row in lakes.rows("orders", "valid_from_position")}
    # Both updates are one transaction.
    assert rows[1, "c"]["valid_from"] == rows[1, "c"]["valid_to"] == rows[1, "d"]["valid_from"]
    assert rows[1, "d"]["valid_to"] == rows[3, "d"]["valid_from"] > rows[1, "d"]["valid_from"]
    assert rows[3, "d"]["valid_to"] is None
    assert lakes.log("plain", "id", "v", "__absent") == [
        ("r", 1, "a", None),
        ("u", 1, "b", None),
        ("d", 1, "b", None),
        ("t", None, None, None),
    ]
    assert lakes.log("keyed", "id", "v", "long", "__absent") == [
        ("c", 1, "a", LONG, None),
        ("u", 1, None, None, ["long"]),
        ("d", 1, None, None, ["v", "long"]),
    ]
    execute("TRUNCATE orders; ALTER TABLE orders ADD n int DEFAULT 7, DROP v")
    execute("INSERT INTO orders VALUES (1, 'new')")
    lakes.run()
    assert lakes.versions("id", "v", "n")[-2:] == [(3, "d", 7, False), (1, None, 7, True)]


def test_balances_have_their_sum_at_the_end_of_each_transaction(
    lakes: Lakes, database: Database
) -> None:
    database.execute(ACCOUNTS)
    lakes.run()
    chosen = random.Random(4)
    for _ in range(3):
        transfer(database, chosen, 20)
        lakes.run()
    rows = lakes.rows("orders", "valid_from_position")
    assert len(rows) == 10 + 3 * 20 * 2
    require_sums(rows)


ROWS = 6000
UPDATED, DELETED, TWICE = ROWS - 2, ROWS - 1, ROWS
"""Keys of rows that the copy had not read when it was interrupted."""


@pytest.fixture(params=["orders", "keyed"])
def reread(request: pytest.FixtureRequest, lakes: Lakes, database: Database) -> str:
    """A table whose first copy was interrupted: in between, rows changed that it had read (1), and
    that it had not."""
    table: str = request.param
    lakes.reader.configure(
        lakes.reader.properties | {"headrace.snapshot.chunk.bytes": "300kB", "headrace.slices": "1"}
    )
    database.execute(f"""
        CREATE TABLE {table} (id int PRIMARY KEY, v text, long text, pad text);
        ALTER TABLE {table} ALTER long SET STORAGE EXTERNAL;
        INSERT INTO {table}
        SELECT n, 'first', CASE WHEN n >= {UPDATED} THEN '{LONG}' END, repeat('p', 300)
        FROM generate_series(1, {ROWS}) AS n;
        ANALYZE {table};
    """)
    lakes.reader.step_until(lambda: hasattr(lakes.reader, "written") and lakes.reader.written.parts)
    lakes.apply()
    assert 0 < sum(part.rows for part in lakes.reader.written.parts) < ROWS - 3
    database.execute(f"UPDATE {table} SET v = 'second' WHERE id IN (1, {UPDATED}, {DELETED})")
    database.execute(f"UPDATE {table} SET v = 'second' WHERE id = {TWICE}")
    database.execute(f"UPDATE {table} SET v = 'third' WHERE id = {TWICE}")
    database.execute(f"DELETE FROM {table} WHERE id = {DELETED}")
    lakes.reader.restart()
    while lakes.reader.step():
        lakes.apply()
    return table


def test_rows_that_an_interrupted_first_copy_reads_later_show_no_value_too_early(
    lakes: Lakes, reread: str
) -> None:
    unchanged = UPDATED - 1
    if reread == "orders":
        versions = lakes.versions("id", "v", "long")
        assert sorted(row[:2] for row in versions if row[0] in (1, 2, unchanged)) == [
            (1, "first"),
            (1, "second"),
            (2, "first"),
            (unchanged, "first"),
        ]
        assert [row for row in versions if row[0] > unchanged] == [
            (UPDATED, "second", LONG, True),
            (TWICE, "second", LONG, False),
            (TWICE, "third", LONG, True),
        ]
        rows = {(row["id"], row["v"]): row for row in lakes.rows("orders", "valid_from_position")}
        assert rows[unchanged, "first"]["valid_from"] == rows[1, "first"]["valid_from"]
        assert rows[UPDATED, "second"]["valid_from"] == rows[1, "first"]["valid_to"]
        return
    log = lakes.log("keyed", "id", "v")
    keys = (1, unchanged, UPDATED, DELETED, TWICE)
    assert {key: [(op, v) for op, changed, v in log if changed == key] for key in keys} == {
        1: [("r", "first"), ("u", "second")],
        unchanged: [("r", "first")],
        UPDATED: [("u", "second"), ("r", "second")],
        DELETED: [("u", "second"), ("d", None)],
        TWICE: [("u", "second"), ("u", "third"), ("r", "third")],
    }
