"""Redo that the database leaves out (log.mining.query.filter.mode), by table and user."""

from __future__ import annotations

import json

import pytest

from headrace.connectors.oracle.sql.redo_conditions import schema_filter, table_filter
from headrace.errors import HeadraceError
from tests.connectors.oracle.reading import ID_AND_NAME, OracleReader
from tests.servers.oracle import PDB, OracleDatabase

pytestmark = pytest.mark.oracle

SIGNALS = "DBZ.SIGNALS"


@pytest.fixture
def database(oracle_database: OracleDatabase) -> OracleDatabase:
    for table in ("INV.T", "INV.TMP", "INV.OLD_T", "OTHER.T"):
        oracle_database.create_table(table, *ID_AND_NAME, key=["ID"])
    oracle_database.create_table(
        SIGNALS, "ID VARCHAR2(42) NOT NULL", "TYPE VARCHAR2(32)", "DATA VARCHAR2(2048)", key=["ID"]
    )
    return oracle_database


def reader_of(database: OracleDatabase, **more: str) -> OracleReader:
    """A reader without a list of tables, or with the one that is given."""
    named_properties = {n if "." in n else n.replace("_", "."): text for n, text in more.items()}
    properties = database.properties(
        snapshot_mode="no_data", errors_max_retries="0", poll_interval_ms="20"
    )
    del properties["table.include.list"]
    reader = OracleReader(properties | named_properties)
    return reader.step_until(lambda: len(reader.offsets) > 1)


@pytest.mark.parametrize(
    ("mode", "lists", "captured"),
    [
        ("in", {"table.include.list": r"INV\.T,INV.OLD_T"}, ["INV.T", "INV.OLD_T"]),
        ("in", {"table.include.list": "inv.t"}, ["INV.T"]),
        ("in", {"table.exclude.list": r"INV\.T,INV.TMP"}, ["INV.OLD_T", "OTHER.T"]),
        ("in", {"schema.include.list": "INV", "table.exclude.list": "INV.T"},
         ["INV.TMP", "INV.OLD_T"]),
        ("regex", {"table.include.list": r"INV\.T.*"}, ["INV.T", "INV.TMP"]),
        ("regex", {"table.exclude.list": r"INV\.OLD|INV\.TMP"}, ["INV.T", "INV.OLD_T", "OTHER.T"]),
        ("regex", {"table.include.list": r"INV\.OLD_T|OTHER\.T"}, ["INV.OLD_T", "OTHER.T"]),
        ("regex", {"schema.exclude.list": "INV|DBZ"}, ["OTHER.T"]),
        ("none", {"table.include.list": r"(?i)inv\.t(?!m).*"}, ["INV.T"]),
    ],
)  # fmt: skip
def test_filters_in_the_database_capture_what_those_here_do(
    database: OracleDatabase, mode: str, lists: dict[str, str], captured: list[str]
) -> None:
    filter_properties = {name.replace(".", "_"): text for name, text in lists.items()}
    reader = reader_of(
        database,
        log_mining_query_filter_mode=mode,
        signal_data_collection=f"{PDB}.{SIGNALS}",
        **filter_properties,
    )
    with database.transaction() as transaction:
        for table in ("INV.T", "INV.TMP", "INV.OLD_T", "OTHER.T"):
            transaction.insert(table, ID=1, NAME=table)
    values = reader.await_changes(len(captured))
    with database.transaction() as transaction:
        transaction.insert(captured[-1], ID=2, NAME="last")
    reader.await_changes(len(captured) + 1)
    reader.stop()
    assert [value["after"]["NAME"] for value in values] == captured


@pytest.mark.parametrize("mode", ["none", "in", "regex"])
@pytest.mark.parametrize(
    "listed", [{"schema_include_list": "INV"}, {"schema_exclude_list": "OTHER,DBZ"}]
)
def test_signals_of_another_schema_are_applied(
    database: OracleDatabase, mode: str, listed: dict[str, str]
) -> None:
    with database.transaction() as transaction:
        transaction.insert("INV.T", ID=7, NAME="before")
    reader = reader_of(
        database,
        log_mining_query_filter_mode=mode,
        signal_data_collection=f"{PDB}.{SIGNALS}",
        **listed,
    )
    collections = {"data-collections": [f"{PDB}.INV.T"], "type": "incremental"}
    with database.transaction() as transaction:
        transaction.insert(SIGNALS, ID="s1", TYPE="execute-snapshot", DATA=json.dumps(collections))
    reader.step_until(lambda: any(value["op"] == "r" for value in reader.values()))
    reader.stop()


@pytest.mark.parametrize(
    "lists",
    [
        {"log_mining_username_include_list": "APP"},
        {"log_mining_username_exclude_list": "EVE,c##dbzuser"},
        {"log_mining_clientid_include_list": "web"},
    ],
)
def test_the_connectors_own_marks_are_seen_whatever_users_are_captured(
    database: OracleDatabase, lists: dict[str, str]
) -> None:
    with database.transaction() as transaction:
        transaction.insert("INV.T", ID=7, NAME="before")
    reader = reader_of(
        database,
        table_include_list="INV.T",
        signal_data_collection=f"{PDB}.{SIGNALS}",
        **lists,
    )
    collections = {"data-collections": [f"{PDB}.INV.T"], "type": "incremental"}
    with database.transaction("APP", "web") as transaction:
        transaction.insert(SIGNALS, ID="s1", TYPE="execute-snapshot", DATA=json.dumps(collections))
    reader.step_until(lambda: any(value["op"] == "r" for value in reader.values()))
    reader.stop()


@pytest.mark.parametrize("is_tracked", ["true", "false"])
@pytest.mark.parametrize(
    ("lists", "captured"),
    [
        ({}, ["EVE", "APP", "WEB"]),
        ({"log_mining_username_exclude_list": "EVE"}, ["APP", "WEB"]),
        ({"log_mining_username_include_list": "APP"}, ["APP"]),
        ({"log_mining_username_include_list": "SYS"}, ["SYS"]),
        ({"log_mining_clientid_exclude_list": "web"}, ["EVE", "APP"]),
    ],
)
def test_users_and_clients_are_left_out_whether_they_are_shown_or_not(
    database: OracleDatabase, is_tracked: str, lists: dict[str, str], captured: list[str]
) -> None:
    reader = reader_of(
        database,
        table_include_list="INV.T",
        log_mining_buffer_track_username=is_tracked,
        **{"log.mining.buffer.track.client_id": is_tracked},
        **lists,
    )
    for number, user in enumerate(("SYS", "EVE", "APP", "WEB")):
        with database.transaction(user, "web" if user == "WEB" else None) as transaction:
            transaction.insert("INV.T", ID=number, NAME=user)
    with database.transaction(captured[0]) as transaction:
        transaction.insert("INV.T", ID=9, NAME="last")
    values = reader.await_changes(len(captured) + 1)
    reader.stop()
    assert [value["after"]["NAME"] for value in values] == [*captured, "last"]
    users = [value["source"]["user_name"] for value in values[:-1]]
    assert users == (captured if is_tracked == "true" else [None] * len(captured))


def test_the_signal_table_is_let_through_by_every_filter() -> None:
    for regex in (False, True):
        (schemas,) = schema_filter(["INV"], [], "DBZ.SIGNALS", regex=regex)
        (tables,) = table_filter([], ["INV.T"], "DBZ.SIGNALS", regex=regex)
        for condition in (schemas, tables):
            assert "'DBZ.SIGNALS'" in condition
    assert schema_filter([], [], "DBZ.SIGNALS", regex=True) == []
    assert table_filter([], [], "DBZ.SIGNALS", regex=False) == []


# The bytes of é, or of あ, in sets that differ.
@pytest.mark.parametrize(
    ("charset", "raw", "text"),
    [
        ("AL32UTF8", "C3A9", "é"),
        ("UTF8", "C3A9", "é"),
        ("UTF8", "EDA0BDEDB880", "😀"),
        ("WE8MSWIN1252", "E980", "é€"),
        ("WE8ISO8859P15", "A4", "€"),
        ("WE8MSWIN1252", "C3A9", "Ã©"),
        ("JA16SJIS", "82A0", "あ"),
        ("ZHS16GBK", "BABA", "汉"),
        ("WE8EBCDIC500", "51", None),
    ],
)
def test_bytes_of_texts_are_in_the_databases_character_set(
    oracle_database: OracleDatabase, charset: str, raw: str, text: str | None
) -> None:
    oracle_database.server.load({"database": {"charset": charset}})
    oracle_database.create_table("T", *ID_AND_NAME, key=["ID"])
    reader = OracleReader.of(oracle_database, log_mining_strategy="hybrid")
    xid = "0a00010001030000"
    statement = (
        f'insert into "INV"."T"("COL 1","COL 2") values (HEXTORAW(\'c102\'),HEXTORAW(\'{raw}\'));'
    )
    oracle_database.server.apply(
        [
            {"redo": "START", "xid": xid},
            {"redo": "INSERT", "xid": xid, "table": "INV.T", "status": 2, "sql": statement,
             "row_id": "AAAAAAAAAAAAAAAA01"},
            {"redo": "COMMIT", "xid": xid},
        ]
    )  # fmt: skip
    if text is None:
        with pytest.raises(HeadraceError, match=charset) as refused:
            reader.await_changes(1)
        assert refused.value.code == "oracle.character_set"
    else:
        (value,) = reader.await_changes(1)
        assert value["after"] == {"ID": 1, "NAME": text}
    reader.stop()
