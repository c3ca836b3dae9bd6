"""`source.origin` and `source.origin_lsn`: where a transaction was replicated from."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from tests.connectors.postgresql.harness import Reader
from tests.servers.postgresql import Database

pytestmark = pytest.mark.postgres

HERE = "INSERT INTO t VALUES (1)"
# One session, so that the origin is that of every transaction in it.
THERE = (
    "SELECT pg_replication_origin_session_setup('{name}');"
    "BEGIN; SELECT pg_replication_origin_xact_setup('0/{lsn:X}', '2024-01-01 00:00:00+00');"
    "{statements}; COMMIT; SELECT pg_replication_origin_session_reset()"
)


@pytest.fixture
def origins(database: Database) -> Iterator[Database]:
    database.execute("CREATE TABLE t (id int PRIMARY KEY, v int); CREATE TABLE u (id int)")
    database.execute(
        "SELECT pg_replication_origin_create('headrace a');"
        "SELECT pg_replication_origin_create('headrace b')"
    )
    yield database
    database.execute(
        "SELECT pg_replication_origin_drop('headrace a');"
        "SELECT pg_replication_origin_drop('headrace b')"
    )


def there(name: str, lsn: int, *statements: str) -> str:
    return THERE.format(name=name, lsn=lsn, statements="; ".join(statements))


def origins_of(reader: Reader) -> list[tuple[str, str, str | None, int | None]]:
    """Operation, table, origin and its LSN of each record, in order."""
    records = sorted(reader.records, key=lambda record: record["sequence"])
    values = [json.loads(record["value"]) for record in records if record["value"]]
    return [
        (v["op"], v["source"]["table"], v["source"]["origin"], v["source"]["origin_lsn"])
        for v in values
    ]


def workload(database: Database) -> None:
    database.execute(HERE)
    database.execute(
        there(
            "headrace a",
            0x100,
            "INSERT INTO t VALUES (2)",
            "UPDATE t SET id = 3 WHERE id = 2",
            "INSERT INTO u VALUES (1)",
            "SELECT pg_logical_emit_message(true, 'p', 'm')",
        )
    )
    database.execute(there("headrace b", 0x200, "DELETE FROM t WHERE id = 3"))
    database.execute("ALTER TABLE t ADD w int; INSERT INTO t VALUES (4)")
    database.execute(
        there(
            "headrace a",
            0x300,
            "INSERT INTO t VALUES (5)",
            "ALTER TABLE t ADD x int",
            "INSERT INTO t VALUES (6)",
            "TRUNCATE u",
        )
    )
    database.execute("INSERT INTO u VALUES (2)")


ORIGINS = [
    ("c", "t", None, None),
    ("c", "t", "headrace a", 0x100),
    ("d", "t", "headrace a", 0x100),
    ("c", "t", "headrace a", 0x100),
    ("c", "u", "headrace a", 0x100),
    ("m", "", "headrace a", 0x100),
    ("d", "t", "headrace b", 0x200),
    ("c", "t", None, None),
    ("c", "t", "headrace a", 0x300),
    ("c", "t", "headrace a", 0x300),
    ("t", "u", "headrace a", 0x300),
    ("c", "u", None, None),
]
OPTIONS = {"snapshot.mode": "no_data", "skipped.operations": "none"}


@pytest.mark.parametrize("inline", [False, True])
def test_every_record_of_a_replicated_transaction_names_its_origin(
    origins: Database, inline: bool
) -> None:
    reader = Reader(origins.properties() | OPTIONS, inline=inline)
    reader.step()
    workload(origins)
    reader.drain()
    reader.stop()
    assert origins_of(reader) == ORIGINS


def test_a_restart_inside_a_transaction_keeps_its_origin(origins: Database) -> None:
    reader = Reader(origins.properties() | OPTIONS | {"headrace.range.max.rows": "1"})
    reader.step()
    workload(origins)
    while reader.step():
        reader.stop()
    reader.stop()
    assert origins_of(reader) == ORIGINS
