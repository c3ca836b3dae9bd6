"""LogMiner_Unbuffered on the stand-in: LogMiner holds transactions, and gives committed ones."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.connectors.oracle.reading import ID_AND_NAME, OracleReader
from tests.servers.oracle import OracleDatabase

pytestmark = pytest.mark.oracle

TABLE = "INV.T"


@pytest.fixture
def reading(oracle_database: OracleDatabase) -> Iterator[OracleReader]:
    oracle_database.create_table("T", *ID_AND_NAME, key=["ID"])
    reader = OracleReader.of(oracle_database, database_connection_adapter="LogMiner_Unbuffered")
    yield reader
    reader.stop()


def test_interleaved_transactions_come_in_the_order_of_commits_over_restarts(
    reading: OracleReader, oracle_database: OracleDatabase
) -> None:
    server = oracle_database.server
    first, second, undone = (server.begin() for _ in range(3))
    first.insert(TABLE, ID=1, NAME="first")
    second.insert(TABLE, ID=11, NAME="second")
    undone.insert(TABLE, ID=21, NAME="undone")
    undone.rollback()
    second.savepoint("here")
    second.insert(TABLE, ID=12, NAME="second")
    second.rollback_to("here")
    second.commit()
    reading.await_changes(1)
    reading.restart()
    for number in range(31, 34):
        with oracle_database.transaction() as short:
            short.insert(TABLE, ID=number, NAME="short")
        server.apply([{"switch": 1}])
        reading.await_changes(number - 29)
    first.insert(TABLE, ID=2, NAME="first")
    first.commit()
    values = reading.await_changes(6)
    assert reading.ids() == [11, 31, 32, 33, 1, 2]
    assert [value["source"]["txSeq"] for value in values] == [1, 1, 1, 1, 1, 2]


def test_a_half_delivered_transaction_continues_after_its_last_event(
    oracle_database: OracleDatabase,
) -> None:
    oracle_database.create_table("T", *ID_AND_NAME, key=["ID"])
    reader = OracleReader.of(
        oracle_database,
        database_connection_adapter="LogMiner_Unbuffered",
        headrace_range_max_rows="7",
        query_fetch_size="3",
    )
    with oracle_database.transaction() as transaction:
        for number in range(20):
            transaction.insert(TABLE, ID=number, NAME="x")
    while (count := len(reader.values())) < 20:
        reader.await_changes(count + 1)
        reader.restart()
    assert reader.ids() == list(range(20))
