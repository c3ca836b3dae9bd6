"""The table by which redo is flushed."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from headrace.connectors.oracle.config import OracleConfig
from headrace.connectors.oracle.connection import Connection, connect
from headrace.connectors.oracle.errors import DriverError
from headrace.connectors.oracle.streaming.windows.flushing import LogFlush
from headrace.connectors.registry import parse_configuration
from headrace.errors import HeadraceError
from tests.servers.oracle import OracleDatabase

pytestmark = pytest.mark.oracle

TABLE = "C##DBZUSER.LOG_MINING_FLUSH"


def config_of(database: OracleDatabase, **more: str) -> OracleConfig:
    config = parse_configuration(database.properties(**more))
    assert isinstance(config, OracleConfig)
    return config


def rows(database: OracleDatabase, table: str = TABLE) -> list[str]:
    return [row["LAST_SCN"] for row in database.server.call("rows", table)]


@pytest.fixture
def connection(oracle_database: OracleDatabase) -> Iterator[Connection]:
    with connect(config_of(oracle_database)) as opened:
        opened.switch_to("ORCLPDB1")
        yield opened


def test_the_table_is_made_once_and_has_one_row(
    connection: Connection, oracle_database: OracleDatabase
) -> None:
    for scn in (5, 9):
        flush = LogFlush(config_of(oracle_database))
        flush.prepare(connection)
        flush.flush(connection, scn)
        assert rows(oracle_database) == [str(scn)]
        flush.close()


def test_rows_too_many_become_one(connection: Connection, oracle_database: OracleDatabase) -> None:
    flush = LogFlush(config_of(oracle_database))
    flush.prepare(connection)
    with oracle_database.transaction() as transaction:
        transaction.insert(TABLE, LAST_SCN=1)
        transaction.insert(TABLE, LAST_SCN=2)
    flush.prepare(connection)
    assert rows(oracle_database) == ["0"]


@pytest.mark.parametrize(
    "more",
    [
        {"log_mining_read_only": "true"},
        {"internal_log_mining_read_only": "true"},
        {"log_mining_archive_log_only_mode": "true"},
    ],
)
def test_nothing_is_written_where_nothing_may_be(
    connection: Connection, oracle_database: OracleDatabase, more: dict[str, str]
) -> None:
    flush = LogFlush(config_of(oracle_database, **more))
    flush.prepare(connection)
    flush.flush(connection, 5)
    counted = oracle_database.server.call("counted")
    assert not any(name.startswith("flush_table") for name in counted)


def test_each_node_of_a_cluster_is_flushed_and_one_that_is_gone_is_reported(
    connection: Connection, oracle_database: OracleDatabase, caplog: pytest.LogCaptureFixture
) -> None:
    config = config_of(oracle_database, rac_nodes="one,two")
    flushed_nodes: list[str] = []

    def opened(node: str) -> Connection:
        flushed_nodes.append(node)
        if node == "two":
            raise DriverError("ORA-12541: no listener")
        node_connection = connect(config_of(oracle_database))
        node_connection.switch_to("ORCLPDB1")
        return node_connection

    flush = LogFlush(config, opened)
    flush.prepare(connection)
    for scn in (5, 6):
        flush.flush(connection, scn)
        assert rows(oracle_database) == [str(scn)]
    flush.close()
    assert flushed_nodes == ["one", "two", "two"]
    assert caplog.text.count("node two (rac.nodes) was not flushed") == 1


def test_a_node_that_is_back_is_reported_once(
    connection: Connection, oracle_database: OracleDatabase, caplog: pytest.LogCaptureFixture
) -> None:
    states = iter((True, True, False, False, True))

    def opened(_: str) -> Connection:
        if next(states):
            raise DriverError("ORA-12541: no listener")
        return connect(config_of(oracle_database), container="ORCLPDB1")

    flush = LogFlush(config_of(oracle_database, rac_nodes="one"), opened)
    flush.prepare(connection)
    messages = []
    for _ in range(5):
        caplog.clear()
        flush.flush(connection, 5)
        flush._close("one")
        messages += [record.getMessage().partition(":")[0] for record in caplog.records]
    away = "The redo of the node one (rac.nodes) was not flushed, and is tried again with each "
    assert messages == [
        f"{away}window",
        "The redo of the node one is flushed again",
        f"{away}window",
    ]


def test_the_address_of_a_node_that_cannot_be_reached_is_in_the_error(
    oracle_database: OracleDatabase,
) -> None:
    with pytest.raises(HeadraceError, match=r"127\.0\.0\.1:1/RACDB1") as refused:
        connect(config_of(oracle_database), node="127.0.0.1:1/RACDB1")
    assert refused.value.code == "oracle.connection_lost"
    assert "rac.nodes" in refused.value.remedy
    assert str(oracle_database.server.port) not in refused.value.message
