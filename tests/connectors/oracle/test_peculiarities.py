"""Peculiarities of servers that the stand-in does not have by itself, one by one: they are read all
the same. `tests/chaos/workloads` has them together."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.connectors.oracle.reading import ID_AND_NAME, OracleReader
from tests.servers.oracle import OracleDatabase

pytestmark = pytest.mark.oracle

TABLE = "INV.T"


@pytest.fixture
def database(oracle_database: OracleDatabase) -> OracleDatabase:
    oracle_database.create_table("T", *ID_AND_NAME, key=["ID"])
    return oracle_database


@pytest.fixture
def reading(database: OracleDatabase) -> Iterator[OracleReader]:
    reader = OracleReader.of(database, headrace_range_max_rows="1")
    yield reader
    reader.stop()


def test_statements_that_are_cut_inside_of_a_character_are_whole_again(
    database: OracleDatabase, reading: OracleReader
) -> None:
    database.change(most_bytes=7, cuts_characters=True)
    texts = ["é" * 40, "日本語" * 20, "𝄞'𝄞"]
    with database.transaction() as transaction:
        for number, text in enumerate(texts):
            transaction.insert(TABLE, ID=number, NAME=text)
    reading.await_changes(3)
    assert [after and after["NAME"] for _, _, after in reading.images()] == texts


def test_transactions_that_were_committed_at_one_scn_come_once_each(
    database: OracleDatabase, reading: OracleReader
) -> None:
    """This holds also for a reader that begins again between two of them."""
    server = database.server
    transactions = [server.begin() for _ in range(3)]
    for number, transaction in enumerate(transactions):
        transaction.insert(TABLE, ID=number, NAME="x")
    scns = server.call("commit_together", [transaction.xid for transaction in transactions])
    assert len(set(scns)) == 1
    for count in (1, 2, 3):
        reading.await_changes(count)
        reading.restart()
    reading.look_again(database)
    assert reading.ids() == [0, 1, 2]


def test_changes_that_have_the_scn_of_the_redo_before_them_come_in_their_order(
    database: OracleDatabase, reading: OracleReader
) -> None:
    database.change(shared_scns=1.0)
    with database.transaction() as transaction:
        for number in range(3):
            transaction.insert(TABLE, ID=number, NAME="x")
        transaction.update(TABLE, {"ID": 2}, NAME="y")
    values = reading.await_changes(4)
    assert [value["op"] for value in values] == ["c", "c", "c", "u"]
    assert len({value["source"]["scn"] for value in values}) == 1


def test_transactions_whose_rows_come_late_are_in_their_place(
    database: OracleDatabase, reading: OracleReader
) -> None:
    database.change(lateness=12)
    reading.stop()
    for number in range(30):
        with database.transaction() as transaction:
            transaction.insert(TABLE, ID=number, NAME="x")
    reading.await_changes(30)
    assert reading.ids() == [*range(30)]
    assert reading.open().metrics()["streaming"]["NumberOfBackwardScnSteps"] > 0


@pytest.mark.parametrize("kind", ["LOCAL", "PHYSICAL"])
def test_copies_of_archived_logs_that_nobody_can_read_are_left_alone(
    database: OracleDatabase, reading: OracleReader, kind: str
) -> None:
    """Such copies are at another destination, have no name, or were deleted before they were
    restored."""
    database.change(
        second_destination=kind, lost_copies=1.0, nameless=1.0, restored=0.5, idle_destinations=9
    )
    reading.stop()
    for number in range(8):
        with database.transaction() as transaction:
            transaction.insert(TABLE, ID=number, NAME="x")
        database.server.apply([{"switch": 1}])
    reading.await_changes(8)
    assert reading.ids() == [*range(8)]


def test_an_scn_that_leaps_at_each_look_loses_nothing_where_the_last_redo_is_not_known(
    database: OracleDatabase, reading: OracleReader
) -> None:
    """LAST_REDO_CHANGE# of V$THREAD is null: what is committed after a look has a larger SCN."""
    database.change(largest_step=40, knows_last_redo=False)
    for number in range(8):
        with database.transaction() as transaction:
            transaction.insert(TABLE, ID=number, NAME="x")
        reading.await_changes(number + 1)
    assert reading.ids() == [*range(8)]
