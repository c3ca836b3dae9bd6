"""Redo that is read once more, for large values, and transactions that are given up."""

from __future__ import annotations

import json
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pytest

from headrace.connectors.oracle.scn import parse_xid, place_of
from headrace.connectors.oracle.streaming import redo_rows
from headrace.connectors.oracle.streaming.remining import GivenUp, Remined
from tests.connectors.oracle.reading import ID_AND_NAME, OracleReader
from tests.servers.oracle import OracleDatabase

pytestmark = pytest.mark.oracle

T, L, SIGNALS = "INV.T", "INV.L", "INV.SIGNALS"
XID = "0b00110022330000"
ONE, TWO, THREE = (parse_xid(f"0a000{number}0003030000") for number in (1, 2, 3))


@pytest.fixture
def database(oracle_database: OracleDatabase) -> OracleDatabase:
    oracle_database.create_table("T", *ID_AND_NAME, key=["ID"])
    oracle_database.create_table("L", "ID NUMBER(9,0) NOT NULL", "C CLOB", key=["ID"])
    return oracle_database


@pytest.fixture
def reading(database: OracleDatabase) -> Iterator[OracleReader]:
    reader = OracleReader.of(database, lob_enabled="true")
    yield reader
    reader.stop()


def test_rows_that_are_held_already_are_left_out_where_redo_is_read_again() -> None:
    remined = Remined(10, 20, np.array([ONE], np.int64))
    batch = rows((15, ONE), (16, TWO), (17, ONE | 0xFFFFFFFF), (20, TWO), (21, TWO))
    scns = redo_rows.numbers(remined.rest(batch), redo_rows.SCN)
    assert scns.tolist() == [15, 17, 21]
    assert ONE in remined
    assert TWO not in remined


def test_rows_of_what_is_given_up_are_left_out_until_it_ends() -> None:
    given_up = GivenUp([TWO])
    given_up.add([ONE])
    assert given_up.at(0) == (ONE, TWO)
    batch = rows((15, ONE), (16, THREE), (17, ONE, redo_rows.COMMIT), (18, TWO))
    scns = redo_rows.numbers(given_up.rest(batch), redo_rows.SCN)
    assert scns.tolist() == [16, 17]
    assert given_up.at(place_of(17, ONE)) == (ONE, TWO)
    assert given_up.at(place_of(17, ONE) + 1) == (TWO,)
    given_up.forget(place_of(17, ONE) + 1)
    assert given_up.at(0) == (TWO,)


def rows(*changes: tuple[int, int] | tuple[int, int, int]) -> pa.RecordBatch:
    """Rows of redo: SCNs, ids of transactions, and operations."""
    columns = {
        redo_rows.SCN: pa.array([row[0] for row in changes], pa.int64()),
        redo_rows.XID: pa.array([row[1].to_bytes(8, "big") for row in changes], pa.binary()),
        redo_rows.OPERATION_CODE: pa.array(
            [row[2] if len(row) > 2 else redo_rows.INSERT for row in changes], pa.int64()
        ),
    }
    arrays = [
        columns.get(field.name, pa.nulls(len(changes), field.type)) for field in redo_rows.REDO
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=redo_rows.REDO)


def add(database: OracleDatabase, reader: OracleReader, number: int) -> None:
    """A row in a transaction of its own, which comes."""
    with database.transaction() as transaction:
        transaction.insert(T, ID=number, NAME="short")
    reader.step_until(lambda: number in reader.ids())


@pytest.mark.parametrize(
    ("error", "when"), [(1291, "START_LOGMNR"), (1284, "ADD_LOGFILE"), (310, "FETCH_REDO")]
)
def test_a_log_that_is_switched_while_large_values_are_mined_again_loses_nothing(
    reading: OracleReader, database: OracleDatabase, error: int, when: str
) -> None:
    server = database.server
    large, plain = server.begin(), server.begin()
    plain.insert(T, ID=100, NAME="open")
    large.insert(L, ID=1, C="first")
    add(database, reading, 2)
    server.apply([{"switch": 1}, {"error": error, "when": when, "times": 1}])
    add(database, reading, 3)
    large.insert(L, ID=5, C="last")
    large.commit()
    plain.insert(T, ID=101, NAME="open")
    plain.commit()
    add(database, reading, 4)
    assert reading.ids() == [2, 3, 1, 5, 100, 101, 4]


def test_a_window_that_passes_old_transactions_loses_none_with_large_values(
    database: OracleDatabase,
) -> None:
    reader = OracleReader.of(database, lob_enabled="true", log_mining_window_max_ms="1")
    large = database.server.begin()
    large.insert(L, ID=1, C="first")
    add(database, reader, 2)
    add(database, reader, 3)
    large.insert(L, ID=5, C="last")
    large.commit()
    add(database, reader, 4)
    reader.stop()
    assert reader.ids() == [2, 3, 1, 5, 4]


def test_a_truncation_over_the_border_of_a_window_comes(database: OracleDatabase) -> None:
    reader = OracleReader.of(database, lob_enabled="true", skipped_operations="none")
    large = database.server.begin()
    large.insert(L, ID=9, C="x")
    add(database, reader, 1)
    truncation = {"redo": "DDL", "xid": XID, "table": T, "sql": "truncate table t"}
    database.server.apply([{"redo": "START", "xid": XID}, truncation | {"info": "USER DDL"}])
    add(database, reader, 2)
    database.server.apply([{"redo": "COMMIT", "xid": XID}])
    large.commit()
    reader.step_until(lambda: len(reader.values()) >= 4)
    reader.stop()
    assert [value["op"] for value in reader.values()] == ["c", "c", "t", "c"]


def test_a_dropped_transaction_stays_dropped_where_redo_is_mined_again(
    database: OracleDatabase,
) -> None:
    signals = ("ID VARCHAR2(42) NOT NULL", "TYPE VARCHAR2(32)", "DATA VARCHAR2(2048)")
    database.create_table("SIGNALS", *signals, key=["ID"])
    reader = OracleReader.of(
        database,
        lob_enabled="true",
        signal_data_collection=f"ORCLPDB1.{SIGNALS}",
        table_include_list=f"{T},{L}",
    )
    server = database.server
    dropped, large = server.begin(), server.begin()
    dropped.insert(L, ID=500, C="dropped")
    large.insert(L, ID=9, C="x")
    add(database, reader, 1)
    with database.transaction() as signal:
        data = json.dumps({"transaction-id": dropped.xid})
        signal.insert(SIGNALS, ID="s", TYPE="drop-transaction", DATA=data)
    add(database, reader, 2)
    add(database, reader, 3)
    reader.restart()
    dropped.insert(T, ID=501, NAME="tail")
    dropped.commit()
    large.commit()
    add(database, reader, 4)
    reader.stop()
    assert [number for number in reader.ids() if number != "s"] == [1, 2, 3, 9, 4]


@pytest.mark.parametrize("lobs", ["true", "false"])
def test_the_rest_of_a_transaction_that_was_given_up_does_not_come_after_a_restart(
    database: OracleDatabase, lobs: str
) -> None:
    reader = OracleReader.of(
        database, lob_enabled=lobs, log_mining_buffer_transaction_events_threshold="3"
    )
    large = database.server.begin()
    for number in range(10, 15):
        large.insert(T, ID=number, NAME="x")
    add(database, reader, 1)
    add(database, reader, 2)
    assert parse_xid(reader.offsets[-1]["given_up"]) == parse_xid(large.xid)
    reader.restart()
    large.insert(T, ID=16, NAME="x")
    large.commit()
    add(database, reader, 3)
    add(database, reader, 4)
    reader.stop()
    assert reader.ids() == [1, 2, 3, 4]
    assert "given_up" not in reader.offsets[-1]


def test_a_long_transaction_does_not_hold_the_others_back(database: OracleDatabase) -> None:
    reader = OracleReader.of(database, poll_interval_ms="600000")
    long = database.server.begin()
    long.insert(T, ID=9, NAME="x")
    for number in range(10, 30):
        with database.transaction() as transaction:
            transaction.insert(T, ID=number, NAME="x")
        database.server.apply([{"switch": 1}])
    reader.restart()
    reader.step_until(lambda: 29 in reader.ids())
    reader.stop()
    assert reader.ids() == list(range(10, 30))
