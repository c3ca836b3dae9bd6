"""Rows with large values are fetched in small numbers: the driver has all of a fetch in memory."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.connectors.oracle.connection import Connection
from headrace.relational.rows.fetch_sizes import LARGE_ROWS
from tests.connectors.oracle.snapshots.test_snapshots import reader, snapshot
from tests.servers.oracle import OracleDatabase

pytestmark = pytest.mark.oracle


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> dict[str, set[int | None]]:
    """The rows per fetch that queries of a table's rows asked for, by table."""
    fetch_sizes: dict[str, set[int | None]] = {"PLAIN": set(), "LARGE": set()}
    cursor = Connection.cursor

    def kept(self: Connection, statement: str, *more: Any, **named: Any) -> Any:
        for table in fetch_sizes:
            if f'"{table}"' in statement and '"NAME"' in statement and named.get("rows"):
                fetch_sizes[table].add(named["rows"])
        return cursor(self, statement, *more, **named)

    monkeypatch.setattr(Connection, "cursor", kept)
    return fetch_sizes


def make(database: OracleDatabase) -> None:
    plain_columns = ("ID NUMBER(9,0) NOT NULL", "NAME VARCHAR2(20)")
    rows = [[number, "x"] for number in range(3 * LARGE_ROWS)]
    database.create_table("PLAIN", *plain_columns, key=["ID"], rows=rows)
    database.create_table(
        "LARGE", *plain_columns, "BODY CLOB", key=["ID"], rows=[[*row, "text"] for row in rows]
    )


def test_a_snapshot_fetches_few_rows_of_a_table_with_lobs(
    oracle_database: OracleDatabase, asked: dict[str, set[int | None]]
) -> None:
    make(oracle_database)
    run = reader(oracle_database)
    rows = snapshot(run)
    run.stop()
    assert len(rows) == 6 * LARGE_ROWS
    assert asked == {"PLAIN": {10_000}, "LARGE": {LARGE_ROWS}}


def test_a_smaller_fetch_size_stays(
    oracle_database: OracleDatabase, asked: dict[str, set[int | None]]
) -> None:
    make(oracle_database)
    run = reader(oracle_database, snapshot_fetch_size="7")
    snapshot(run)
    run.stop()
    assert asked == {"PLAIN": {7}, "LARGE": {7}}
