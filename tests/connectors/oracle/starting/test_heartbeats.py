"""Heartbeats over the stand-in, and what runs with them."""

from __future__ import annotations

import logging

import pytest

from headrace.errors import HeadraceError
from tests.connectors.oracle.reading import ID_AND_NAME, OracleReader
from tests.servers.oracle import OracleDatabase

pytestmark = pytest.mark.oracle

TOPIC = "__debezium-heartbeat.headrace"


def reader_of(database: OracleDatabase, query: str) -> OracleReader:
    database.create_table("T", *ID_AND_NAME, key=["ID"])
    database.create_table("BEATS", "NAME VARCHAR2(20)")
    return OracleReader.of(
        database,
        heartbeat_interval_ms="10",
        heartbeat_action_query=query,
        table_include_list="INV.T,INV.BEATS",
    )


def beats(reader: OracleReader) -> int:
    return sum(record["topic"] == TOPIC for record in reader.records)


def test_the_action_query_runs_with_each_heartbeat_and_is_committed(
    oracle_database: OracleDatabase,
) -> None:
    query = "INSERT INTO INV.BEATS (NAME) VALUES ('it beats')"
    reader = reader_of(oracle_database, query)
    reader.step_until(lambda: beats(reader) >= 3 and len(reader.values()) >= 2)
    reader.stop()
    assert reader.values()[0]["after"] == {"NAME": "it beats"}
    heartbeat_rows = oracle_database.server.call("rows", "INV.BEATS")
    assert (
        len(heartbeat_rows) == oracle_database.server.call("counted")["heartbeat"] >= beats(reader)
    )


def test_an_action_query_on_a_missing_table_is_an_error(oracle_database: OracleDatabase) -> None:
    reader = reader_of(oracle_database, "INSERT INTO INV.NOWHERE (NAME) VALUES ('x')")
    with pytest.raises(HeadraceError, match=r"NOWHERE.*oracle\.heartbeat_table"):
        reader.step_until(lambda: False)
    reader.stop()


def test_another_failure_of_the_action_query_is_a_warning(
    oracle_database: OracleDatabase, caplog: pytest.LogCaptureFixture
) -> None:
    reader = reader_of(oracle_database, "SELECT nothing at all")
    with caplog.at_level(logging.WARNING):
        reader.step_until(lambda: beats(reader) >= 2)
    reader.stop()
    assert "ORA-00900" in caplog.text
