"""Differences between the publication and the captured tables, on a real server."""

from __future__ import annotations

import logging

import pytest

from headrace.errors import HeadraceError
from tests.connectors.postgresql.harness import Reader
from tests.servers.postgresql import Database

pytestmark = pytest.mark.postgres

TWO = "CREATE TABLE t (id int PRIMARY KEY); CREATE TABLE u (id int PRIMARY KEY);"


def publish(database: Database, tables: str) -> None:
    database.execute(f"CREATE PUBLICATION {database.name} FOR TABLE {tables}")


def slot_count(database: Database) -> int:
    slots = "SELECT count(*)::int FROM pg_replication_slots WHERE database = current_database()"
    return int(database.execute(slots)[0][0])


def test_a_named_table_that_is_not_published_stops_the_start(database: Database) -> None:
    database.execute(TWO)
    publish(database, "t")
    reader = Reader(database.properties(table_include_list=r"public\.(t|u)"))
    with pytest.raises(HeadraceError) as caught:
        reader.step()
    reader.stop()
    assert caught.value.code == "postgresql.not_published"
    assert "public.u" in caught.value.message
    assert f'ALTER PUBLICATION "{database.name}" ADD TABLE "public"."u"' in caught.value.remedy
    assert slot_count(database) == 0


def test_other_tables_that_are_not_published_are_warned_of_at_every_start(
    database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    database.execute(TWO)
    publish(database, "t")
    reader = Reader(database.properties())
    for _ in range(2):
        caplog.clear()
        with caplog.at_level(logging.WARNING, "headrace"):
            reader.restart().drain()
        assert "lacks public.u: their changes do not arrive" in caplog.text
    reader.stop()


def test_a_table_that_leaves_the_publication_is_warned_of_at_the_next_start(
    database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    database.execute(TWO)
    publish(database, "t, u")
    reader = Reader(database.properties(table_include_list=r"public\..*"))
    with caplog.at_level(logging.WARNING, "headrace"):
        reader.drain()
        assert "lacks" not in caplog.text
        database.execute(f"ALTER PUBLICATION {database.name} DROP TABLE u")
        reader.restart().drain()
        assert "lacks public.u" in caplog.text
    reader.stop()


def test_partitions_are_published_with_their_root(
    database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    database.execute(
        "CREATE TABLE p (id int PRIMARY KEY) PARTITION BY RANGE (id);"
        "CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (10);"
    )
    publish(database, "p")
    with caplog.at_level(logging.WARNING, "headrace"):
        reader = Reader(database.properties(table_include_list=r"public\.p1"))
        reader.step()
        reader.stop()
    assert "do not arrive" not in caplog.text


def test_changes_under_a_name_that_is_not_captured_are_warned_of(
    database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    database.execute(
        "CREATE TABLE p (id int PRIMARY KEY) PARTITION BY RANGE (id);"
        "CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (10);"
    )
    publish(database, "p")
    with caplog.at_level(logging.WARNING, "headrace"):
        reader = Reader(database.properties(table_include_list=r"public\.p"))
        reader.step()
        reader.stop()
    assert "names changes by their partition, which is not captured: public.p" in caplog.text
