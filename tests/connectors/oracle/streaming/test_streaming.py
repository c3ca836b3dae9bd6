"""Redo on the stand-in: what is read of it."""

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
    reader = OracleReader.of(oracle_database)
    yield reader
    reader.stop()


def test_changes_of_a_transaction_come_when_it_is_committed(
    reading: OracleReader, oracle_database: OracleDatabase
) -> None:
    with oracle_database.transaction() as transaction:
        transaction.insert(TABLE, ID=1, NAME="one")
        transaction.update(TABLE, {"ID": 1}, NAME="two")
        transaction.delete(TABLE, ID=1)
    reading.await_changes(3)
    one, two = {"ID": 1, "NAME": "one"}, {"ID": 1, "NAME": "two"}
    assert reading.told() == [("c", None, one), ("u", one, two), ("d", two, None)]
