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
    inserted, updated = {"ID": 1, "NAME": "one"}, {"ID": 1, "NAME": "two"}
    assert reading.images() == [
        ("c", None, inserted),
        ("u", inserted, updated),
        ("d", updated, None),
    ]


def test_the_source_block_has_places_of_the_redo(
    reading: OracleReader, oracle_database: OracleDatabase
) -> None:
    with oracle_database.transaction(user="SCOTT") as transaction:
        transaction.insert(TABLE, ID=1, NAME="one")
        transaction.insert(TABLE, ID=2, NAME="two")
    first, second = (value["source"] for value in reading.await_changes(2))
    assert first["db"] == "ORCLPDB1"
    assert (first["schema"], first["table"], first["user_name"]) == ("INV", "T", "SCOTT")
    assert first["txId"] == second["txId"] == transaction.xid
    assert int(second["scn"]) == int(first["scn"]) + 1
    assert int(second["commit_scn"]) == int(second["scn"]) + 1
    assert first["start_scn"] == second["start_scn"] == first["scn"]
    assert (first["txSeq"], second["txSeq"]) == (1, 2)
    assert (first["redo_thread"], first["ssn"], first["redo_sql"]) == (1, 0, None)
    assert len(first["row_id"]) == 18
    assert first["ts_ms"] == first["start_ts_ms"]
    assert second["commit_ts_ms"] == second["ts_ms"] + 1000


def test_the_statement_is_shown_where_the_configuration_says_so(
    oracle_database: OracleDatabase,
) -> None:
    oracle_database.create_table("T", *ID_AND_NAME, key=["ID"])
    names = ("rs_id", "username", "client_id")
    reader = OracleReader.of(oracle_database, log_mining_include_redo_sql="true")
    tracked = {f"log.mining.buffer.track.{name}": "false" for name in names}
    reader.configure({**reader.properties, **tracked})
    with oracle_database.transaction() as transaction:
        transaction.insert(TABLE, ID=1, NAME="one")
    (value,) = reader.await_changes(1)
    reader.stop()
    source = value["source"]
    assert source["redo_sql"].startswith('insert into "INV"."T"("ID","NAME") values (')
    for name in ("rs_id", "user_name"):
        assert source[name] is None


def test_a_key_that_changes_is_a_delete_and_a_create(
    reading: OracleReader, oracle_database: OracleDatabase
) -> None:
    with oracle_database.transaction() as transaction:
        transaction.insert(TABLE, ID=1, NAME="one")
        transaction.update(TABLE, {"ID": 1}, ID=2)
    reading.await_changes(3)
    assert [op for op, _, _ in reading.images()] == ["c", "d", "c"]
    assert reading.ids() == [1, 1, 2]


def test_a_truncation_is_an_event_where_it_is_not_skipped(oracle_database: OracleDatabase) -> None:
    oracle_database.create_table("T", *ID_AND_NAME, key=["ID"])
    reader = OracleReader.of(oracle_database, skipped_operations="none")
    with oracle_database.transaction() as transaction:
        transaction.insert(TABLE, ID=1, NAME="one")
    oracle_database.server.ddl("TRUNCATE TABLE INV.T")
    with oracle_database.transaction() as transaction:
        transaction.insert(TABLE, ID=2, NAME="two")
    reader.await_changes(3)
    reader.stop()
    assert [op for op, _, _ in reader.images()] == ["c", "t", "c"]


def test_users_clients_and_system_users_are_filtered(oracle_database: OracleDatabase) -> None:
    oracle_database.create_table("T", *ID_AND_NAME, key=["ID"])
    reader = OracleReader.of(
        oracle_database,
        log_mining_username_exclude_list="EVE",
        log_mining_clientid_exclude_list="batch",
    )
    for number, (user, client) in enumerate(
        [("APP", None), ("EVE", None), ("SYS", None), ("APP", "batch"), ("APP", "web")]
    ):
        with oracle_database.transaction(user, client) as transaction:
            transaction.insert(TABLE, ID=number, NAME=user)
    reader.await_changes(2)
    reader.stop()
    assert reader.ids() == [0, 4]


def test_changes_of_system_users_are_captured_as_debezium_does(
    oracle_database: OracleDatabase,
) -> None:
    oracle_database.create_table("T", *ID_AND_NAME, key=["ID"])
    reader = OracleReader.of(oracle_database, headrace_compatibility="debezium-3.6")
    for number, user in enumerate(("SYS", "UNKNOWN")):
        with oracle_database.transaction(user) as transaction:
            transaction.insert(TABLE, ID=number, NAME=user)
    values = reader.await_changes(2)
    reader.stop()
    assert [value["source"]["user_name"] for value in values] == ["SYS", None]


@pytest.mark.parametrize("mode", ["none", "in", "regex"])
def test_other_tables_are_left_out_in_each_filter_mode(
    oracle_database: OracleDatabase, mode: str
) -> None:
    for name in ("T", "OTHER"):
        oracle_database.create_table(name, *ID_AND_NAME, key=["ID"])
    reader = OracleReader.of(
        oracle_database, table_include_list=TABLE, log_mining_query_filter_mode=mode
    )
    with oracle_database.transaction() as transaction:
        transaction.insert("INV.OTHER", ID=1, NAME="one")
        transaction.insert(TABLE, ID=2, NAME="two")
    reader.await_changes(1)
    reader.stop()
    assert reader.ids() == [2]


def test_a_transactions_borders_are_emitted(oracle_database: OracleDatabase) -> None:
    oracle_database.create_table("T", *ID_AND_NAME, key=["ID"])
    reader = OracleReader.of(oracle_database, provide_transaction_metadata="true")
    with oracle_database.transaction() as transaction:
        transaction.insert(TABLE, ID=1, NAME="one")
        transaction.insert(TABLE, ID=2, NAME="two")
    reader.step_until(lambda: len(reader.borders()) == 2)
    reader.stop()
    begin, end = reader.borders()
    assert (begin["status"], begin["id"]) == ("BEGIN", transaction.xid)
    assert (end["status"], end["event_count"]) == ("END", 2)
    assert end["data_collections"] == [{"data_collection": "ORCLPDB1.INV.T", "event_count": 2}]


def test_windows_and_batches_of_any_size_give_the_same(oracle_database: OracleDatabase) -> None:
    oracle_database.create_table("T", *ID_AND_NAME, key=["ID"])
    reader = OracleReader.of(oracle_database, query_fetch_size="1", log_mining_session_max_ms="1")
    with oracle_database.transaction() as transaction:
        for number in range(20):
            transaction.insert(TABLE, ID=number, NAME="x" * 4000)
    reader.await_changes(20)
    reader.stop()
    assert reader.ids() == list(range(20))
    assert {value["after"]["NAME"] for value in reader.values()} == {"x" * 4000}


def test_only_archived_logs_are_read_where_the_configuration_says_so(
    oracle_database: OracleDatabase,
) -> None:
    oracle_database.create_table("T", *ID_AND_NAME, key=["ID"])
    server = oracle_database.server
    server.apply([{"switch": 1}])
    reader = OracleReader.of(
        oracle_database,
        log_mining_archive_log_only_mode="true",
        log_mining_archive_log_only_scn_poll_interval_ms="20",
    )
    with oracle_database.transaction() as transaction:
        transaction.insert(TABLE, ID=1, NAME="one")
    reader.look_again(oracle_database)
    assert reader.values() == []
    server.apply([{"switch": 1}])
    reader.await_changes(1)
    reader.stop()


def test_nothing_is_written_in_read_only_mode(oracle_database: OracleDatabase) -> None:
    oracle_database.create_table("T", *ID_AND_NAME, key=["ID"])
    before = oracle_database.server.call("counted")
    reader = OracleReader.of(oracle_database, log_mining_read_only="true")
    with oracle_database.transaction() as transaction:
        transaction.insert(TABLE, ID=1, NAME="one")
    oracle_database.server.apply([{"scn": oracle_database.server.call("scn") + 10}])
    reader.await_changes(1)
    reader.stop()
    after = oracle_database.server.call("counted")
    assert not [
        name
        for name in after
        if name.startswith("flush_table") and after[name] > before.get(name, 0)
    ]


def test_the_dictionary_is_written_to_the_redo_at_first_and_with_each_log_switch(
    oracle_database: OracleDatabase,
) -> None:
    oracle_database.create_table("T", *ID_AND_NAME, key=["ID"])
    server = oracle_database.server
    reader = OracleReader.of(
        oracle_database, log_mining_strategy="redo_log_catalog", log_mining_log_count_min="1"
    )

    def written() -> int:
        return int(server.call("counted").get("build_dictionary", 0))

    for number in range(1, 4):
        with oracle_database.transaction() as transaction:
            transaction.insert("INV.T", ID=number, NAME="x")
        reader.await_changes(number)
        assert written() == number
        server.apply([{"switch": 1}])
    reader.stop()
    assert reader.ids() == [1, 2, 3]


def test_invisible_columns_are_in_events_and_hidden_ones_of_oracle_are_not(
    oracle_database: OracleDatabase,
) -> None:
    """The redo has both."""
    oracle_database.create_table(
        "GHOSTS",
        "GHOST NUMBER(5,0) INVISIBLE",
        "ID NUMBER(9,0) NOT NULL",
        "SYS_NC00004$ VARCHAR2(9) HIDDEN",
        key=["ID"],
    )
    reader = OracleReader.of(oracle_database)
    with oracle_database.transaction() as transaction:
        transaction.insert("INV.GHOSTS", ID=1, GHOST=2, **{"SYS_NC00004$": "x"})
        transaction.update("INV.GHOSTS", {"ID": 1}, GHOST=3, **{"SYS_NC00004$": "y"})
    reader.await_changes(2)
    assert reader.images() == [
        ("c", None, {"ID": 1, "GHOST": 2}),
        ("u", {"ID": 1, "GHOST": 2}, {"ID": 1, "GHOST": 3}),
    ]
    reader.stop()
