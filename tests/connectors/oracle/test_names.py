"""Names of tables in properties and in the database."""

from __future__ import annotations

import re

import pytest

from headrace.connectors.registry import parse_configuration
from headrace.errors import HeadraceError
from tests.connectors.oracle.reading import ID_AND_NAME, OracleReader
from tests.servers.oracle import OracleDatabase

GIVEN = {
    "connector.class": "io.debezium.connector.oracle.OracleConnector",
    "topic.prefix": "t",
    "database.hostname": "db",
    "database.user": "c##u",
    "database.password": "x",
    "database.dbname": "ORCLCDB",
    "database.pdb.name": "ORCLPDB1",
}


@pytest.mark.parametrize(
    ("named", "table"),
    [
        ("ORCLPDB1.S.SIGNALS", "S.SIGNALS"),
        ("S.SIGNALS", "S.SIGNALS"),
        ('ORCLPDB1.S."my.signals"', "S.my.signals"),
        ('"ORCLPDB1"."S"."SIGNALS"', "S.SIGNALS"),
    ],
)
def test_the_signal_table_is_named_with_its_database_or_without(named: str, table: str) -> None:
    config = parse_configuration({**GIVEN, "signal.data.collection": named})
    assert config.signal_table() == table


@pytest.mark.parametrize(
    ("named", "problem"),
    [
        ("SIGNALS", ": it is not DATABASE.SCHEMA.TABLE"),
        ("ORCLPDB1.S.my.signals", ": it is not DATABASE.SCHEMA.TABLE"),
        ("S..SIGNALS", ": it is not DATABASE.SCHEMA.TABLE"),
        ("OTHER.S.SIGNALS", ": it is in another database than ORCLPDB1"),
    ],
)
def test_a_signal_table_that_can_be_none_is_refused(named: str, problem: str) -> None:
    with pytest.raises(
        HeadraceError, match=f"signal.data.collection = {re.escape(named)}{problem}"
    ):
        parse_configuration({**GIVEN, "signal.data.collection": named})


@pytest.mark.parametrize(
    ("compatibility", "expression", "is_read"),
    [
        ("none", r"S\.T", True),
        ("none", r"ORCLPDB1\.S\.T", True),
        ("debezium-3.6", r"S\.T", False),
        ("debezium-3.6", r"ORCLPDB1\.S\.T", True),
        ("none", r"OTHER\.S\.T", False),
    ],
)
def test_a_snapshot_takes_names_with_their_database_as_debezium_does(
    compatibility: str, expression: str, is_read: bool
) -> None:
    config = parse_configuration(
        {
            **GIVEN,
            "headrace.compatibility": compatibility,
            "snapshot.include.collection.list": expression,
        }
    )
    assert config.snapshot_filter().accepts("S.T") is is_read


@pytest.mark.oracle
def test_a_table_whose_name_has_a_dot_is_read_and_streamed(
    oracle_database: OracleDatabase,
) -> None:
    oracle_database.create_table("INV.a.b", *ID_AND_NAME, key=["ID"], rows=[[1, "one"]])
    reader = OracleReader.of(oracle_database, snapshot_mode="initial")
    with oracle_database.transaction() as transaction:
        transaction.insert("INV.a.b", ID=2, NAME="two")
    reader.await_changes(2)
    reader.stop()
    assert reader.ids() == [1, 2]
    assert {value["source"]["table"] for value in reader.values()} == {"a.b"}
