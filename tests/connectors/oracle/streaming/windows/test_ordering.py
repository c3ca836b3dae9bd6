"""LogMiner gives rows in the order of their SCNs, or nearly."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.connectors.oracle.streaming import redo_rows
from headrace.connectors.oracle.streaming.redo_rows import SCN, numbers
from headrace.connectors.oracle.streaming.windows.ordering import (
    LastFetch,
    LateCommit,
    RowOrder,
)
from headrace.errors import HeadraceError
from tests.connectors.oracle.reading import ID_AND_NAME, OracleReader
from tests.servers.oracle import OracleDatabase

TABLE = "INV.T"
FIRST = 2_000_000
STEPS = "NumberOfBackwardScnSteps"
Line = dict[str, Any]


@pytest.fixture
def database(oracle_database: OracleDatabase) -> OracleDatabase:
    oracle_database.create_table("T", *ID_AND_NAME, key=["ID"])
    return oracle_database


def transaction(number: int, first: int, commit: int) -> list[Line]:
    """START, INSERT and COMMIT of a row."""
    xid = f"0b00{number:02x}0001000000"
    sql = f"""insert into "INV"."T"("ID","NAME") values ('{number}','x');"""
    row_id = f"AAAAAAAAAAAAAAAA{number:02d}"
    return [
        {"redo": "START", "xid": xid, "scn": FIRST + first},
        {"redo": "INSERT", "xid": xid, "scn": FIRST + first + 1, "table": TABLE, "sql": sql,
         "row_id": row_id},
        {"redo": "COMMIT", "xid": xid, "scn": FIRST + commit},
    ]  # fmt: skip


def read(database: OracleDatabase, *lines: list[Line]) -> OracleReader:
    """A reader, of which three rows are fetched at once, after what is in the redo then."""
    reader = OracleReader.of(database, query_fetch_size="3", log_mining_read_only="true")
    reader.stop()
    database.change(by_arrival=True)
    database.server.apply([line for block in lines for line in block])
    return reader


def test_commits_below_all_rows_of_a_later_fetch_may_be_released() -> None:
    order = RowOrder()
    fetches = ([1, 2, 5], [5, 7, 9], [8, 9, 12], [13, 14])
    assert [order.add(np.array(scns)) for scns in fetches] == [0, 5, 8, 12]
    assert order.steps == 1
    order.begin()
    assert (order.add(np.array([3])), order.steps) == (0, 1)


@pytest.mark.oracle
def test_rows_in_the_order_of_their_scns_are_no_backward_steps(database: OracleDatabase) -> None:
    reader = read(database, transaction(1, 10, 20), transaction(2, 21, 23), transaction(3, 24, 30))
    reader.await_changes(3)
    assert reader.ids() == [1, 2, 3]
    assert reader.open().metrics()["streaming"][STEPS] == 0
    reader.stop()


@pytest.mark.oracle
def test_a_transaction_that_comes_late_is_in_its_place_and_counted(
    database: OracleDatabase,
) -> None:
    late = transaction(2, 12, 18)
    reader = read(database, transaction(1, 10, 20), late, transaction(3, 21, 23),
                  transaction(4, 30, 33), transaction(5, 34, 40))  # fmt: skip
    reader.await_changes(5)
    assert reader.ids() == [2, 1, 3, 4, 5]
    assert reader.open().metrics()["streaming"][STEPS] == 1
    reader.stop()


def test_a_late_commit_is_read_again_unless_events_at_or_after_it_were_delivered() -> None:
    late = LateCommit(7, 50)
    error = late.error(60)
    assert (error.code, error.retriable) == ("oracle.redo_out_of_order", True)
    for place in (49 << 64 | 9, 50 << 64 | 6):
        assert late.judged(error, place) is error
    for place in (50 << 64 | 7, 60 << 64):
        final = late.judged(error, place)
        assert (final.code, final.retriable) == ("oracle.commit_left_out", False)
        assert "SCN 50 " in final.message
        assert "incremental snapshot" in final.remedy
    other = HeadraceError("oracle.connection_lost", "", "", retriable=True)
    assert late.judged(other, 60 << 64) is other


@pytest.mark.oracle
def test_a_commit_below_what_was_released_ends_the_stream(database: OracleDatabase) -> None:
    blocks = [transaction(number, 10 * number, 10 * number + 5) for number in (1, 3, 4, 5)]
    reader = read(database, *blocks, transaction(2, 12, 14))
    with pytest.raises(HeadraceError) as caught:
        reader.step_until(lambda: False)
    error, delivered = caught.value, reader.ids()
    reader.stop()
    database.change(by_arrival=False)
    reader.step_until(lambda: 5 in reader.ids())
    reader.stop()
    # How much was delivered before is up to the machine.
    if delivered:
        assert (error.code, error.retriable) == ("oracle.commit_left_out", False)
        assert reader.ids() == [1, 3, 4, 5]
    else:
        assert (error.code, error.retriable) == ("oracle.redo_out_of_order", True)
        assert reader.ids() == [2, 1, 3, 4, 5]


def _batch(scns: list[int]) -> pa.RecordBatch:
    return redo_rows.redo_batch(["SCN"], [(scn,) for scn in scns])


@given(st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=4), max_size=8))
def test_rows_of_the_last_fetch_are_held_in_order_and_never_a_part_of_an_scn(
    steps: list[list[int]],
) -> None:
    fetched: list[int] = []
    held: list[int] = []
    kept, scn, up_to = LastFetch(), 1, 0
    for fetch in steps:
        scns = [scn := scn + step for step in fetch]
        complete, up_to = kept.exchange(_batch(scns), up_to)
        held += [value for rows in complete for value in numbers(rows, SCN).tolist()]
        fetched += scns
        # What is read again after an error are the rows of larger SCNs.
        assert held == [value for value in fetched if value <= up_to]
        assert not set(held) & set(scns)
    held += [value for rows in kept.rest() for value in numbers(rows, SCN).tolist()]
    assert held == fetched
    assert kept.rest() == []
