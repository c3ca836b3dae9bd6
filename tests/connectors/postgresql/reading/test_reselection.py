"""The post-processor that reads unavailable and null columns again."""

from __future__ import annotations

import hashlib
import json
import logging
import pickle

import pytest

from headrace.connectors.postgresql.capture import Capture
from headrace.connectors.postgresql.config import PostgresConfig
from headrace.connectors.registry import parse_configuration
from headrace.errors import HeadraceError
from headrace.spark.task import read_slice
from tests.connectors.postgresql.harness import Reader
from tests.servers.postgresql import Database

LONG = "x" * 3000
OPTIONS = {
    "post.processors": "again",
    "again.type": "io.debezium.processors.reselect.ReselectColumnsPostProcessor",
    "snapshot.mode": "no_data",
}


@pytest.fixture
def table(database: Database) -> Database:
    database.execute(
        'CREATE TABLE t ("Id" int, code char(4), v int, big text, flag bool, padded char(6),'
        ' PRIMARY KEY ("Id", code));'
        "ALTER TABLE t ALTER big SET STORAGE EXTERNAL"
    )
    database.execute(
        f"INSERT INTO t SELECT i, 'c', 1, '{LONG}', true, 'ab' FROM generate_series(1, 1200) i"
    )
    return database


def rows(
    database: Database, *statements: str, inline: bool = False, **more: str
) -> list[dict[str, object]]:
    """`after` of each record, in order; all statements run before anything is read."""
    properties = {name.replace("__", "."): value for name, value in more.items()}
    reader = Reader(database.properties() | OPTIONS | properties, inline=inline)
    try:
        reader.step()
        for statement in statements:
            database.execute(statement)
        reader.drain()
    finally:
        reader.stop()
    records = sorted(reader.records, key=lambda record: record["sequence"])
    return [json.loads(r["value"])["after"] for r in records if r["value"]]


@pytest.mark.postgres
@pytest.mark.parametrize("inline", [False, True])
def test_unavailable_columns_are_read_in_batches(table: Database, inline: bool) -> None:
    reselected_rows = rows(table, "UPDATE t SET v = 2", inline=inline)
    assert len(reselected_rows) == 1200
    assert all(row["big"] == LONG and row["v"] == 2 for row in reselected_rows)


@pytest.mark.postgres
def test_a_slice_that_reads_again_travels_to_a_task(table: Database) -> None:
    hashed = {"column.mask.hash.SHA-256.with.salt.s": r"public\.t\.code"}
    reader = Reader(table.properties() | OPTIONS | hashed)
    reader.step()
    table.execute('UPDATE t SET v = 2 WHERE "Id" = 7')
    end = reader.plan()
    parts = pickle.loads(pickle.dumps(reader.open().slices(reader.offsets[-1], end)))
    records = [r for part in parts for b in read_slice(part, reader.config) for r in b.to_pylist()]
    reader.stop()
    (after,) = [json.loads(record["value"])["after"] for record in records]
    assert after["big"] == LONG
    assert len(after["code"]) == 4


@pytest.mark.postgres
def test_null_columns_get_the_current_value_as_the_log_writes_it(table: Database) -> None:
    reselected_rows = rows(
        table,
        'UPDATE t SET flag = NULL, padded = NULL WHERE "Id" = 7',
        "UPDATE t SET flag = true, padded = 'ab' WHERE \"Id\" = 7",
    )
    assert [(row["flag"], row["padded"]) for row in reselected_rows] == [(True, "ab    ")] * 2


@pytest.mark.postgres
def test_nulls_stay_when_only_unavailable_columns_are_asked_for(table: Database) -> None:
    reselected_rows = rows(
        table,
        'UPDATE t SET flag = NULL WHERE "Id" = 7',
        'UPDATE t SET flag = true WHERE "Id" = 7',
        **{"again.reselect.null.values": "false"},
    )
    assert [(row["flag"], row["big"] == LONG) for row in reselected_rows] == [
        (None, True),
        (True, True),
    ]


@pytest.mark.postgres
def test_what_was_read_again_is_masked(table: Database) -> None:
    reselected_rows = rows(
        table,
        'UPDATE t SET v = 2 WHERE "Id" = 7',
        **{"column.mask.hash.v2.SHA-256.with.salt.s": r"public\.t\.big"},
    )
    assert reselected_rows[0]["big"] == hashlib.sha256(b"s" + LONG.encode()).hexdigest()


@pytest.mark.postgres
def test_a_row_that_is_gone_keeps_the_placeholder_or_is_an_error(
    table: Database, caplog: pytest.LogCaptureFixture
) -> None:
    gone = ('UPDATE t SET v = 2 WHERE "Id" = 7', "TRUNCATE t")
    with caplog.at_level(logging.WARNING):
        reselected_rows = rows(table, *gone)
    assert reselected_rows[0]["big"] == "__debezium_unavailable_value"
    assert "1 rows are gone" in caplog.text


@pytest.mark.postgres
def test_a_row_that_is_gone_is_an_error_when_asked_for(table: Database) -> None:
    with pytest.raises(HeadraceError, match="could not be read again") as raised:
        rows(
            table,
            'UPDATE t SET v = 2 WHERE "Id" = 7',
            "TRUNCATE t",
            **{"again.reselect.error.handling.mode": "fail"},
        )
    assert raised.value.code == "relational.reselect_failed"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("again.type", "com.example.Mine"),
        ("again.reselect.null.values", "perhaps"),
        ("again.reselect.columns.include.list", "public.(t:a"),
        ("again.reselect.colums.include.list", "public.t:a"),
    ],
)
def test_a_wrong_option_is_named(name: str, value: str) -> None:
    required = {
        "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
        "topic.prefix": "p",
        "database.hostname": "h",
        "database.user": "u",
        "database.dbname": "d",
    }
    config = parse_configuration(required | OPTIONS | {name: value})
    assert isinstance(config, PostgresConfig)
    with pytest.raises(HeadraceError, match="again") as raised:
        Capture(config)
    assert raised.value.code == "config.invalid"


@pytest.mark.postgres
def test_names_may_hold_a_per_cent_sign(database: Database) -> None:
    database.execute(
        'CREATE TABLE "10%" ("%s" int PRIMARY KEY, "50%" text, v int);'
        'ALTER TABLE "10%" ALTER "50%" SET STORAGE EXTERNAL;'
        f"""INSERT INTO "10%" VALUES (1, '{LONG}', 1)"""
    )
    reselected_rows = rows(database, 'UPDATE "10%" SET v = 2')
    assert reselected_rows == [{"%s": 1, "50%": LONG, "v": 2}]
