"""Redo that belongs nowhere: it takes nothing of captured tables away, and nothing without a
word."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np
import pytest

from headrace.connectors.oracle.streaming import redo_rows
from headrace.connectors.oracle.streaming.odd_redo import OddRedo, UnsupportedRows
from headrace.connectors.oracle.streaming.tables import StreamTables
from headrace.connectors.oracle.streaming.transactions.buffer import TransactionBuffer
from headrace.errors import HeadraceError
from tests.connectors.oracle.reading import ID_AND_NAME, OracleReader
from tests.connectors.oracle.streaming import redo
from tests.servers.oracle import OracleDatabase

pytestmark = pytest.mark.oracle

TABLE = "INV.T"
XID = "0b00010001000000"
UNKNOWN = XID[:8] + "ffffffff"
OBJECT = 74858


@pytest.fixture
def reading(oracle_database: OracleDatabase) -> Iterator[OracleReader]:
    oracle_database.create_table("T", *ID_AND_NAME, key=["ID"])
    reader = OracleReader.of(oracle_database, table_include_list=r"INV\.T")
    yield reader
    reader.stop()


def insert(number: int, table: str = TABLE, xid: str = XID, **more: Any) -> dict[str, Any]:
    """A row of redo that inserts a row."""
    name = '"."'.join(table.split(".", 1))
    statement = f"""insert into "{name}"("ID","NAME") values ('{number}','x');"""
    return {"redo": "INSERT", "xid": xid, "table": table, "sql": statement, **more}


def mark(kind: str, xid: str = XID) -> dict[str, Any]:
    """START, COMMIT or ROLLBACK."""
    return {"redo": kind, "xid": xid}


def add(database: OracleDatabase, *numbers: int, table: str = TABLE) -> None:
    """Rows, in a transaction of their own."""
    with database.transaction() as transaction:
        for number in numbers:
            transaction.insert(table, ID=number, NAME="x")


@pytest.mark.parametrize("more", [{}, {"row_id": "AAAAAAAAAAAAAAAAAA"}])
def test_a_table_that_is_not_captured_takes_back_no_change_of_another_one(
    reading: OracleReader, oracle_database: OracleDatabase, more: dict[str, str]
) -> None:
    oracle_database.server.apply(
        [
            mark("START"),
            insert(1, **more),
            insert(7, "OTHER.U", **more),
            insert(7, "OTHER.U", rollback=1, **more) | {"redo": "DELETE"},
            mark("COMMIT"),
        ]
    )
    add(oracle_database, 2)
    reading.await_changes(2)
    assert reading.ids() == [1, 2]


def test_an_operation_that_logminer_does_not_know_is_reported_if_its_table_is_captured(
    reading: OracleReader, oracle_database: OracleDatabase, caplog: pytest.LogCaptureFixture
) -> None:
    unknown = {"redo": "UNSUPPORTED", "xid": XID, "sql": "Unsupported", "status": 2}
    tables = ({"table": TABLE}, {"table": "OTHER.U"}, {})
    oracle_database.server.apply([unknown | table for table in tables])
    add(oracle_database, 1)
    reading.await_changes(1)
    (message,) = (message for message in caplog.messages if "does not support" in message)
    assert TABLE in message
    assert XID in message


def test_unsupported_operations_are_counted_by_table_and_minute(
    caplog: pytest.LogCaptureFixture,
) -> None:
    now = [0.0]
    rows = UnsupportedRows(lambda: now[0])

    def operations(*tables: str) -> None:
        redo_changes = [
            redo.row(redo_rows.UNSUPPORTED, scn, XID, TABLE_NAME=name, SEG_OWNER="S")
            for scn, name in enumerate(tables, 10)
        ]
        rows.add(redo.batch(redo_changes), np.arange(len(redo_changes)))
        rows.warn()

    def warned() -> list[str]:
        messages = [
            message.split(", the last one in transaction ")[0] for message in caplog.messages
        ]
        caplog.clear()
        return [
            message.removeprefix("LogMiner does not support operations on ") for message in messages
        ]

    operations("T1", "T1", "T2", "T1")
    assert warned() == ["S.T1: 3 rows", "S.T2: 1 rows"]
    for _ in range(1000):
        operations("T1", "T1")
    operations("T3")
    assert warned() == ["S.T3: 1 rows"]
    now[0] = 61.0
    rows.warn()
    rows.warn()
    assert "at SCN 11," in caplog.text
    assert warned() == ["S.T1: 2000 rows"]


@pytest.mark.parametrize(
    "statement",
    [
        "truncate table t",
        "/* nightly */ truncate table inv.t",
        "TRUNCATE /* x */ TABLE INV.T",
        "-- x\ntruncate table inv.t",
        "TRUNCATE TABLE INV.T PURGE MATERIALIZED VIEW LOG REUSE STORAGE",
    ],
)
def test_a_truncation_is_one_however_it_is_written(
    oracle_database: OracleDatabase, statement: str
) -> None:
    oracle_database.create_table("T", *ID_AND_NAME, key=["ID"])
    reader = OracleReader.of(oracle_database, skipped_operations="none")
    ddl = {"redo": "DDL", "xid": XID, "table": TABLE, "sql": statement, "info": "USER DDL"}
    oracle_database.server.apply([mark("START"), ddl, mark("COMMIT")])
    reader.await_changes(1)
    add(oracle_database, 1)
    reader.await_changes(2)
    reader.stop()
    assert [value["op"] for value in reader.values()] == ["t", "c"]


UNNAMED = [(f"UNKNOWN.OBJ# {OBJECT}", {}), ("UNKNOWN.UNKNOWN", {}), ("INV.BIN$abc==$0", {})]


@pytest.mark.parametrize(("name", "more"), UNNAMED)
def test_an_object_that_logminer_cannot_name_is_reported_once(
    reading: OracleReader,
    oracle_database: OracleDatabase,
    caplog: pytest.LogCaptureFixture,
    name: str,
    more: dict[str, Any],
) -> None:
    for number in range(3):
        row = insert(number, name, object=OBJECT, status=2, **more)
        oracle_database.server.apply([row, row, mark("COMMIT")])
        add(oracle_database, number)
        reading.await_changes(number + 1)
    (message,) = (message for message in caplog.messages if str(OBJECT) in message)
    assert name in message


@pytest.mark.parametrize("name", ["UNKNOWN.OBJ# 5", "UNKNOWN.UNKNOWN", "INV.BIN$abc==$0"])
@pytest.mark.parametrize("mode", ["fail", "warn"])
def test_an_object_without_a_name_that_is_a_captured_table_ends_the_stream_or_is_reported(
    oracle_database: OracleDatabase, caplog: pytest.LogCaptureFixture, name: str, mode: str
) -> None:
    oracle_database.create_table("T", *ID_AND_NAME, key=["ID"], object=5)
    reader = OracleReader.of(
        oracle_database,
        table_include_list=r"INV\.T",
        event_processing_failure_handling_mode=mode,
    )
    oracle_database.server.apply([insert(1, name, object=5), mark("COMMIT")])
    add(oracle_database, 2)
    if mode == "fail":
        with pytest.raises(HeadraceError, match=r"changes of INV\.T") as caught:
            reader.step_until(lambda: False)
        assert caught.value.code == "oracle.redo_not_reconstructed"
    else:
        reader.await_changes(1)
        assert "changes of INV.T" in caplog.text
    reader.stop()


def test_an_object_of_a_schema_that_is_not_captured_is_not_reported(
    oracle_database: OracleDatabase, caplog: pytest.LogCaptureFixture
) -> None:
    oracle_database.create_table("T", *ID_AND_NAME, key=["ID"])
    reader = OracleReader.of(oracle_database, schema_include_list="INV")
    rows = [insert(1, "OTHER.BIN$abc==$0", object=OBJECT), mark("COMMIT")]
    oracle_database.server.apply(rows)
    add(oracle_database, 2)
    reader.await_changes(1)
    reader.stop()
    assert str(OBJECT) not in caplog.text


def test_a_change_without_a_sequence_is_delivered_at_its_commit_with_one(
    reading: OracleReader, oracle_database: OracleDatabase
) -> None:
    oracle_database.server.apply([insert(1, xid=UNKNOWN), mark("COMMIT")])
    reading.await_changes(1)
    assert reading.ids() == [1]
    assert reading.values()[0]["source"]["txId"] == XID


class _Counts(NamedTuple):
    """Counts of a buffer."""

    unmatched: int
    unresolved: int
    last_unmatched: tuple[int, int] = (11, int(XID, 16))
    last_unresolved: tuple[int, int] = (12, int(UNKNOWN, 16))


def test_rows_that_belong_nowhere_are_reported_at_most_once_a_minute(
    caplog: pytest.LogCaptureFixture,
) -> None:
    now = 1000.0
    counts = _Counts(0, 0)

    class Buffer:
        def __getattr__(self, name: str) -> object:
            return getattr(counts, name)

    buffer = cast(TransactionBuffer, Buffer())
    odd = OddRedo(buffer, cast(StreamTables, None), lambda _error: None, lambda: now)
    warned = []
    for seconds, unmatched, unresolved in (
        (0, 0, 0),
        (0, 1, 0),
        (10, 5, 1),
        (49, 6, 2),
        (2, 6, 2),
        (100, 6, 2),
    ):
        now, counts = now + seconds, _Counts(unmatched, unresolved)
        caplog.clear()
        odd.warn_of_rows()
        warned.append(
            [message.split(" rows")[0].split(" transactions")[0] for message in caplog.messages]
        )
        assert all(
            "0b00010001000000 at SCN 11" in message or "SCN 12" in message
            for message in caplog.messages
        )
    assert warned == [[], ["1"], ["1"], [], ["5"], ["1"]]


def test_rows_that_belong_nowhere_are_reported_while_a_stream_reads(
    reading: OracleReader, oracle_database: OracleDatabase, caplog: pytest.LogCaptureFixture
) -> None:
    undone = insert(1, rollback=1) | {"redo": "DELETE"}
    oracle_database.server.apply([mark("START"), undone, mark("COMMIT"), mark("COMMIT", UNKNOWN)])
    add(oracle_database, 2)
    reading.await_changes(1)
    assert "1 rows of redo that take back a change have found none" in caplog.text
    assert f"none or several are open that it may be, the last one {UNKNOWN}" in caplog.text


@pytest.mark.parametrize("fetch", ["1", "3", "10000"])
def test_a_table_is_reported_at_its_own_row_whatever_is_fetched_with_it(
    oracle_database: OracleDatabase, tmp_path: Path, fetch: str
) -> None:
    for name in ("T", "LATE", "LATER"):
        oracle_database.create_table(name, *ID_AND_NAME, key=["ID"])
    history = tmp_path / "history"
    reader = OracleReader.of(
        oracle_database,
        table_include_list=r"INV\.T",
        include_schema_changes="true",
        schema_history_internal_store_only_captured_tables_ddl="true",
        schema_history_internal="io.debezium.storage.file.history.FileSchemaHistory",
        schema_history_internal_file_filename=str(history),
        query_fetch_size=fetch,
    )
    long = oracle_database.server.begin()
    long.insert(TABLE, ID=0, NAME="open")
    add(oracle_database, 1)
    reader.await_changes(1)
    reader.stop()
    tables = r"INV\.T,INV\.LATE,INV\.LATER"
    reader.configure({**reader.properties, "table.include.list": tables})
    add(oracle_database, 2)
    add(oracle_database, 3)
    add(oracle_database, 4, table="INV.LATE")
    long.commit()
    add(oracle_database, 5)
    add(oracle_database, 6, table="INV.LATER")
    values = {value["after"]["ID"]: value["source"] for value in reader.await_changes(7)}
    reader.stop()
    scns = [event["source"]["scn"] for event in reader.events() if "tableChanges" in event]
    assert scns[1:] == [values[4]["scn"], values[6]["scn"]]
    positions = [json.loads(line)["position"] for line in history.read_text().splitlines()][1:]
    assert [position["txId"] for position in positions] == [values[3]["txId"], values[5]["txId"]]
    # The transaction began at an SCN before that of its first change.
    assert int(positions[0]["scn"]) == int(values[0]["scn"]) - 2
    assert int(positions[1]["scn"]) > int(values[5]["scn"])
