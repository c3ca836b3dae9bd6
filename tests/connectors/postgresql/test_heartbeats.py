from __future__ import annotations

import json
import logging
import time

import pytest

from headrace.connectors.postgresql.config import PostgresConfig
from headrace.connectors.postgresql.heartbeats import heartbeat_query
from headrace.connectors.registry import parse_configuration
from headrace.errors import HeadraceError
from tests.connectors.postgresql.harness import Reader, properties_with, wait_for
from tests.servers.postgresql import Database

pytestmark = pytest.mark.postgres
TOPIC = "__debezium-heartbeat.headrace"


TABLES = (
    "CREATE TABLE t (id int PRIMARY KEY); CREATE TABLE other (id int PRIMARY KEY);"
    "CREATE TABLE beats (id int PRIMARY KEY, at timestamptz)"
)


properties = properties_with(
    {
        "table.include.list": "public\\.t",
        "snapshot.mode": "no_data",
        "heartbeat.interval.ms": "100",
    }
)


def heartbeats(reader: Reader) -> list[dict]:
    return [record for record in reader.records if record["topic"] == TOPIC]


def test_heartbeats_come_while_nothing_happens(tables: Database) -> None:
    begun = time.time() * 1000
    reader = Reader(properties(tables))
    reader.step()
    wait_for(lambda: reader.step() and len(heartbeats(reader)) >= 3)
    reader.restart()
    wait_for(lambda: reader.step() and len(heartbeats(reader)) >= 5)
    reader.stop()
    heartbeat_records = heartbeats(reader)
    assert {record["key"] for record in heartbeat_records} == {'{"serverName":"headrace"}'}
    ended = time.time() * 1000
    assert all(
        begun - 1 < json.loads(record["value"])["ts_ms"] <= ended for record in heartbeat_records
    )
    sequences = [record["sequence"] for record in heartbeat_records]
    assert sequences == sorted(set(sequences))
    assert [offset.get("heartbeat", 0) for offset in reader.offsets[2:]] == list(
        range(1, len(reader.offsets) - 1)
    )


def test_a_heartbeat_moves_the_position_while_other_tables_are_written(tables: Database) -> None:
    reader = Reader(properties(tables, headrace__acknowledge__interval="1 hour"))
    reader.step()
    start = reader.offsets[-1]["lsn_commit"]
    tables.execute("INSERT INTO other VALUES (1)")
    wait_for(lambda: reader.step() and reader.offsets[-1]["lsn_commit"] > start)
    reader.stop()
    assert {record["topic"] for record in reader.records} == {TOPIC}


def test_heartbeats_come_after_the_changes_before_them(tables: Database) -> None:
    reader = Reader(properties(tables, heartbeat__interval__ms="1", headrace__range__max__rows="2"))
    reader.step()
    tables.execute("INSERT INTO t SELECT i FROM generate_series(1, 7) i")
    tables.execute("INSERT INTO t VALUES (8); SELECT pg_logical_emit_message(false, 'a', 'b')")
    tables.execute("INSERT INTO t VALUES (9)")
    wait_for(lambda: reader.step() and len(reader.records) - len(heartbeats(reader)) == 10)
    reader.stop()
    assert any("txn" in offset for offset in reader.offsets)
    sequences = [record["sequence"] for record in reader.records]
    assert sequences == sorted(set(sequences))
    changes = [record for record in reader.records if record["topic"] != TOPIC]
    assert len(changes) == 10


def test_a_range_with_a_heartbeat_is_read_again_the_same(tables: Database) -> None:
    reader = Reader(properties(tables))
    reader.step()
    for number in range(1000):  # a heartbeat and a row do not always meet in one range
        tables.execute("INSERT INTO t VALUES (%s)", (number,))
        end = reader.plan()
        first = reader.read(end)
        if [r["topic"] for r in first] == ["headrace.public.t", TOPIC]:
            break
        reader.offsets.append(end)
    reader.restart()
    again = reader.read(end)
    reader.stop()
    assert [r["topic"] for r in first] == ["headrace.public.t", TOPIC]
    assert [r["sequence"] for r in first] == [r["sequence"] for r in again]


def test_a_bounded_run_ends_whatever_the_interval(tables: Database) -> None:
    reader = Reader(properties(tables, heartbeat__interval__ms="1"), bounded=True)
    reader.step()
    tables.execute("INSERT INTO t VALUES (1)")
    reader.restart()
    reader.drain(most=50)
    assert len(reader.offsets) < 50
    reader.stop()
    assert sum(record["topic"] != TOPIC for record in reader.records) == 1


def test_the_action_query_runs_with_each_heartbeat(tables: Database) -> None:
    query = (
        "INSERT INTO beats VALUES (1, now()) ON CONFLICT (id) DO UPDATE SET at = now();"
        " INSERT INTO other SELECT count(*) FROM other"
    )
    reader = Reader(properties(tables, heartbeat__action__query=query))
    reader.step()
    wait_for(lambda: reader.step() and len(heartbeats(reader)) >= 3)
    reader.stop()
    assert tables.execute("SELECT count(*) FROM other")[0][0] == len(heartbeats(reader))
    names = "SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE '%heartbeat%'"
    wait_for(lambda: tables.execute(names)[0][0] == 0)


def test_an_action_query_on_a_missing_table_is_an_error(tables: Database) -> None:
    reader = Reader(properties(tables, heartbeat__action__query="DELETE FROM nowhere"))
    reader.step()
    with pytest.raises(HeadraceError, match=r"nowhere.*postgresql\.heartbeat_table"):
        wait_for(lambda: not reader.step())
    reader.stop()


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("INSERT INTO other VALUES (';'::text::int); DELETE FROM nowhere", "heartbeat_table"),
        ("DELETE FROM nowhere; INSERT INTO other VALUES (1)", "heartbeat_table"),
        ("INSERT INTO other VALUES (1); DELET FROM other; -- ends here;", "heartbeat_query"),
        ("INSERT INTO other VALUES (1); UPDATE other SET id = id + 1;", None),
        ("SELECT $$; DELETE FROM nowhere$$; /* ; */ DELETE FROM other", None),
        # What a statement makes is not there yet when the next one is looked at.
        ("CREATE TEMP TABLE made (id int); DELETE FROM made", None),
        ("SELECT 'without an end; DELETE FROM other", "heartbeat_query"),
    ],
)
def test_every_statement_of_the_action_query_is_looked_at(
    tables: Database, query: str, expected: str | None
) -> None:
    config = parse_configuration(properties(tables, heartbeat__action__query=query))
    assert isinstance(config, PostgresConfig)
    examined = heartbeat_query(config)
    assert examined is not None
    codes = [finding.code for finding in examined.examine()]
    assert codes == ([] if expected is None else [f"postgresql.{expected}"])
    assert tables.execute("SELECT * FROM other") == []


def test_a_missing_privilege_of_the_action_query_is_found_before_it_runs(tables: Database) -> None:
    tables.execute("DROP ROLE IF EXISTS beater; CREATE ROLE beater LOGIN PASSWORD 'beat'")
    more = {"database__user": "beater", "database__password": "beat"}
    config = parse_configuration(
        properties(tables, heartbeat__action__query="INSERT INTO other VALUES (1)", **more)
    )
    assert isinstance(config, PostgresConfig)
    examined = heartbeat_query(config)
    assert examined is not None
    (finding,) = examined.examine()
    assert "permission denied for table other" in finding.message
    tables.execute("GRANT INSERT ON other TO beater")
    assert heartbeat_query(config).examine() == []  # type: ignore[union-attr]
    tables.execute("DROP OWNED BY beater; DROP ROLE beater")


def test_another_failure_of_the_action_query_is_a_warning(
    tables: Database, caplog: pytest.LogCaptureFixture
) -> None:
    reader = Reader(properties(tables, heartbeat__action__query="SELECT 1/0"))
    reader.step()
    with caplog.at_level(logging.WARNING):
        wait_for(lambda: reader.step() and len(heartbeats(reader)) >= 2)
    reader.stop()
    assert "22012" in caplog.text
    assert "division by zero" in caplog.text


def test_the_action_query_continues_after_its_connection_was_killed(tables: Database) -> None:
    query = "INSERT INTO other SELECT count(*) FROM other"
    reader = Reader(
        properties(
            tables, heartbeat__action__query=query, retriable__restart__connector__wait__ms="50"
        )
    )
    reader.step()
    wait_for(lambda: reader.step() and len(heartbeats(reader)) >= 1)
    tables.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        " WHERE application_name LIKE '%heartbeat%'"
    )
    before = tables.execute("SELECT count(*) FROM other")[0][0]
    wait_for(
        lambda: reader.step() and tables.execute("SELECT count(*) FROM other")[0][0] > before + 1
    )
    reader.stop()
