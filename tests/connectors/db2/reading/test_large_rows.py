"""Rows with large values are fetched in small numbers: the driver has all of a fetch in memory."""

from __future__ import annotations

import pytest

from headrace.connectors.db2.config import Db2Config
from headrace.connectors.db2.connection import Cursor
from headrace.connectors.db2.reading.chunk_source import Db2Ranges
from headrace.connectors.db2.types.declarations import LARGE
from headrace.relational.rows.fetch_sizes import LARGE_ROWS, rows_at_once
from tests.connectors.db2.reading.test_snapshots import reader, snapshot
from tests.servers.db2 import Db2Database


@pytest.mark.db2
def test_a_snapshot_fetches_few_rows_of_a_table_with_lobs(
    db2_database: Db2Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The stand-in's driver reads no LOB: a LONG VARCHAR stands for one."""
    sizes: dict[int, set[int]] = {}
    fetch = Cursor.fetch

    def kept(self: Cursor, rows: int, /) -> list[tuple[object, ...]]:
        if "NAME" in self.columns:
            sizes.setdefault(len(self.columns), set()).add(rows)
        return fetch(self, rows)

    monkeypatch.setattr(Cursor, "fetch", kept)
    plain_columns = "ID INTEGER NOT NULL PRIMARY KEY, NAME VARCHAR(20)"
    for table, columns in (
        ("PLAIN", plain_columns),
        ("LARGE", f"{plain_columns}, BODY LONG VARCHAR"),
    ):
        db2_database.create_table(table, columns)
        more = ", 'text'" if table == "LARGE" else ""
        db2_database.execute(f"INSERT INTO INV.{table} VALUES (1, 'x'{more})")
    db2_database.capture.await_captured()
    run = reader(db2_database)
    assert len(snapshot(run)) == 2
    run.stop()
    assert sizes == {2: {2000}, 3: {LARGE_ROWS}}


def test_kinds_with_large_values_are_those_that_change_tables_do_not_have() -> None:
    assert Db2Ranges.large == LARGE
    size = Db2Config.parse({"topic.prefix": "s", "database.hostname": "h", "database.dbname": "d",
                            "database.user": "u"}).snapshot_fetch_size  # fmt: skip
    assert rows_at_once(size, ["INTEGER", "VARCHAR"], LARGE) == size
    assert rows_at_once(size, ["INTEGER", "CLOB"], LARGE) == LARGE_ROWS
