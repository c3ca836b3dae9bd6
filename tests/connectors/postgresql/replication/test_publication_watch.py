"""A captured table that the publication lacks, while the stream goes on from its checkpoint."""

from __future__ import annotations

import logging

import psycopg
import pytest

from headrace.connectors.postgresql.replication import publication_watch
from headrace.connectors.states import Situation
from headrace.errors import HeadraceError
from headrace.spark.query.status import StatusFile
from tests.connectors.postgresql.harness import Reader, wait_for
from tests.servers.postgresql import Database

pytestmark = pytest.mark.postgres


def begun(database: Database, **more: str) -> Reader:
    """A reader whose position is stored, and then a table is made that nobody publishes."""
    database.execute("CREATE TABLE t (id int PRIMARY KEY)")
    database.execute(f"CREATE PUBLICATION {database.name} FOR TABLE t")
    reader = Reader(
        database.properties(
            publication_autocreate_mode="disabled",
            **{"table_include_list": r"public\..*"} | more,
        )
    )
    reader.drain()
    database.execute("CREATE TABLE late (id int PRIMARY KEY); INSERT INTO late VALUES (1)")
    return reader


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """The watch looks and repeats all the time."""
    monkeypatch.setattr(publication_watch, "_REPEAT_SECONDS", 0.05)
    monkeypatch.setattr(publication_watch.PublicationWatch.__init__, "__defaults__", (0.05,))


def test_a_new_table_that_is_not_published_does_not_stop_the_others(
    database: Database, caplog: pytest.LogCaptureFixture, quick: None
) -> None:
    reader = begun(database)
    reader.stop()
    situations: list[Situation] = []
    with caplog.at_level(logging.WARNING, "headrace"):
        reader.open().watch(situations.append)
        database.execute("INSERT INTO t VALUES (1); INSERT INTO late VALUES (2)")
        reader.drain()
        wait_for(lambda: caplog.text.count("lacks public.late") >= 3)
    add = f'ALTER PUBLICATION "{database.name}" ADD TABLE "public"."late";'
    assert add in caplog.text
    assert [record["topic"] for record in reader.in_order()] == ["headrace.public.t"]
    assert add in situations[-1].warnings[0]
    # It is published, and its changes since then arrive.
    database.execute(add)
    database.execute("INSERT INTO late VALUES (3)")
    reader.drain()
    wait_for(lambda: not reader.open()._source.warnings)  # type: ignore[attr-defined]
    reader.drain()
    assert situations[-1].warnings == ()
    assert [record["topic"] for record in reader.in_order()][1:] == ["headrace.public.late"]
    reader.stop()


@pytest.mark.parametrize("change", ["DROP TABLE late", "ALTER TABLE late RENAME TO gone"])
def test_a_table_that_is_gone_is_no_warning_any_more(
    database: Database, change: str, caplog: pytest.LogCaptureFixture, quick: None
) -> None:
    reader = begun(database, table_exclude_list=r"public\.gone", table_include_list="")
    situations: list[Situation] = []
    reader.restart().open().watch(situations.append)
    reader.step()
    assert "lacks public.late" in situations[-1].warnings[0]
    database.execute(change)
    wait_for(lambda: not reader.open()._source.warnings)  # type: ignore[attr-defined]
    reader.step()
    assert situations[-1].warnings == ()
    assert reader.open()._source.warnings == ()  # type: ignore[attr-defined]
    # Another one of that name, while the stream goes on.
    with caplog.at_level(logging.WARNING, "headrace"):
        caplog.clear()
        database.execute("DROP TABLE IF EXISTS gone; CREATE TABLE late (id int PRIMARY KEY)")
        wait_for(lambda: "lacks public.late" in caplog.text)
    reader.stop()


def test_a_table_that_has_another_name_is_warned_of_by_that(
    database: Database, quick: None
) -> None:
    reader = begun(database)
    reader.restart().step()
    database.execute("ALTER TABLE late RENAME TO later")
    wait_for(lambda: "public.later" in reader.open()._source.warnings[0])  # type: ignore[attr-defined]
    add = f'ALTER PUBLICATION "{database.name}" ADD TABLE "public"."later";'
    assert add in reader.open()._source.warnings[0]  # type: ignore[attr-defined]
    reader.stop()


@pytest.mark.parametrize("mode", ["always", "initial"])
def test_a_start_that_reads_the_tables_rows_is_refused(database: Database, mode: str) -> None:
    reader = begun(database, snapshot_mode=mode)
    if mode == "initial":
        reader.stop()
        database.drop_slot(database.name)
        reader = Reader(reader.properties)
    with pytest.raises(HeadraceError) as caught:
        reader.restart().drain()
    assert caught.value.code == "postgresql.not_published"
    assert "public.late" in caught.value.message
    reader.stop()


def test_a_status_has_the_warnings(database: Database) -> None:
    config = Reader(database.properties()).config
    file = StatusFile(config)
    file.write(Situation("streaming", warnings=("The publication p lacks public.late",)))
    assert file._path is not None
    assert "lacks public.late" in file._path.read_text()
    file.remove()


def test_a_slot_that_is_dropped_while_it_is_read_is_named_with_the_way_out(
    database: Database,
) -> None:
    database.execute("CREATE TABLE t (id int PRIMARY KEY)")
    more = {"errors_max_retries": "3", "retriable_restart_connector_wait_ms": "50"}
    reader = Reader(database.properties(**more))
    database.execute("INSERT INTO t VALUES (1)")
    reader.drain()
    for _ in range(100):
        database.execute(
            "SELECT pg_terminate_backend(active_pid) FROM pg_replication_slots"
            " WHERE active_pid IS NOT NULL AND database = current_database()"
        )
        try:
            database.execute(f"SELECT pg_drop_replication_slot('{database.name}')")
        except psycopg.errors.ObjectInUse:
            continue
        break
    database.execute("INSERT INTO t VALUES (2)")
    with pytest.raises(HeadraceError) as caught:
        reader.step_until(lambda: False, 60)
    assert caught.value.code == "postgresql.slot_missing"
    assert "start with a new checkpoint" in caught.value.remedy
    reader.stop()
