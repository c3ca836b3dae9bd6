"""Pruning of change tables at every point of a window, and the new snapshot after it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from headrace.connectors.db2.connection import Connection, Cursor
from headrace.connectors.db2.errors import DriverError
from headrace.connectors.db2.lsn import format_lsn
from headrace.connectors.db2.streaming.beginnings import PRUNED
from headrace.errors import HeadraceError
from tests.connectors.db2.test_streaming import TABLE, Reader, reader_of
from tests.servers.db2 import SCHEMA, Db2Database
from tests.servers.mongodb import wait_until

pytestmark = pytest.mark.db2

ROWS = 30


@contextmanager
def before_step(
    monkeypatch: pytest.MonkeyPatch, number: int, act: Callable[[], None]
) -> Iterator[list[str]]:
    """Calls `act` before the query or fetch of this number that reads change tables; yields the
    steps so far."""
    steps: list[str] = []
    lock = threading.Lock()

    def step(name: str) -> None:
        with lock:  # change tables are read side by side
            steps.append(name)
            if len(steps) == number:
                act()

    make, fetch = Connection.cursor, Cursor.fetch

    def making(self: Connection, sql: str, *more: Any) -> Cursor:
        if "CDC_" not in sql:
            return make(self, sql, *more)
        step("query")
        cursor = make(self, sql, *more)
        cursor.reads_changes = True  # type: ignore[attr-defined]
        return cursor

    def fetching(self: Cursor, rows: int, /) -> list[tuple[Any, ...]]:
        if hasattr(self, "reads_changes"):
            step("fetch")
        return fetch(self, rows)

    with monkeypatch.context() as patch:
        patch.setattr(Connection, "cursor", making)
        patch.setattr(Cursor, "fetch", fetching)
        yield steps


def insert_unannounced(database: Db2Database, first: int) -> None:
    """Stop Capture, and insert rows into two tables; `capture.advance()` then announces all of them
    in one window."""
    database.capture.stop()
    for number in range(first, first + ROWS):
        for table in ("T", "OTHER"):
            # A parameter, so that Derby compiles the statement once.
            database.execute(f"INSERT INTO {SCHEMA}.{table} VALUES (?, 'x')", (number,))


def prune(database: Db2Database) -> None:
    database.capture.prune(database.capture.synchpoint())


def prepare(database: Db2Database) -> None:
    for table in ("T", "OTHER"):
        database.create_table(table, TABLE)


@pytest.fixture
def database(db2_prepared: Callable[[Callable[[Db2Database], None]], Db2Database]) -> Db2Database:
    return db2_prepared(prepare)


def test_pruning_at_any_point_of_a_window_is_an_error_or_loses_nothing(
    database: Db2Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    ends: list[str] = []
    number = 0
    while True:
        number += 1
        reader = reader_of(database, query_fetch_size="10")
        insert_unannounced(database, ROWS * number)
        with before_step(monkeypatch, number, lambda: prune(database)) as steps:
            database.capture.advance()
            try:
                ends.append(str(len(reader.await_changes(2 * ROWS))))
            except HeadraceError as error:
                ends.append(error.code)
            reader.stop()
        database.capture.start()
        database.capture.await_captured()
        if len(steps) < number:
            break
    assert number > 8, steps
    assert set(ends) == {PRUNED, str(2 * ROWS)}
    assert ends[:2] == [PRUNED, PRUNED], "nothing was fetched yet"


def test_with_when_needed_pruning_inside_a_window_begins_a_new_snapshot(
    database: Db2Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader = reader_of(database, snapshot_mode="when_needed", query_fetch_size="10")
    insert_unannounced(database, 0)
    with before_step(monkeypatch, 1, lambda: prune(database)):
        database.capture.advance()
        values = reader.await_changes(2 * ROWS)
    database.capture.start()
    database.execute(f"INSERT INTO {SCHEMA}.T VALUES (1000, 'later')")
    last = reader.await_changes(2 * ROWS + 1)[-1]
    reader.stop()
    assert [value["op"] for value in values] == ["r"] * 2 * ROWS
    assert (last["op"], last["after"]["ID"]) == ("c", 1000)


def test_with_when_needed_pruning_while_stopped_begins_a_new_snapshot(
    database: Db2Database,
) -> None:
    reader = reader_of(database, snapshot_mode="when_needed")
    database.execute(f"INSERT INTO {SCHEMA}.T VALUES (1, 'read')")
    reader.await_changes(1)
    reader.stop()
    database.execute(f"INSERT INTO {SCHEMA}.T VALUES (2, 'pruned')")
    database.execute(f"DELETE FROM {SCHEMA}.T WHERE ID = 1")
    database.capture.await_captured()
    prune(database)
    reader.await_changes(2)
    database.execute(f"INSERT INTO {SCHEMA}.T VALUES (3, 'later')")
    values = reader.await_changes(3)
    reader.stop()
    assert [(value["op"], value["after"]["ID"]) for value in values] == [
        ("c", 1), ("r", 2), ("c", 3),
    ]  # fmt: skip


def test_pruning_of_what_is_delivered_is_no_gap_while_the_stream_runs(
    database: Db2Database,
) -> None:
    reader = reader_of(database)
    for number in range(3):
        database.execute(f"INSERT INTO {SCHEMA}.T VALUES ({number}, 'x')")
        reader.await_changes(number + 1)
        place = format_lsn(database.capture.await_captured())
        reader.step_until(lambda place=place: reader.offsets[-1]["commit_lsn"] >= place)
        prune(database)
    reader.stop()
    assert len(reader.values()) == 3


def stopped_inside_the_first_transaction_of_a_new_table(
    database: Db2Database, folder: Path
) -> Reader:
    """Return a reader that stopped inside the first transaction of a table, which was registered
    while the reader ran. Only the registration of the table is between this transaction and the
    last delivered commit."""
    history_file = str(folder / "history")
    options = {
        "schema_history_internal_file_filename": history_file,
        "headrace_range_max_rows": "2",
    }
    reader = reader_of(database, **options)
    database.execute(f"INSERT INTO {SCHEMA}.T VALUES (1, 'one')")
    reader.await_changes(1)
    database.capture.stop()
    database.create_table("LATE", TABLE)
    with database.transaction() as execute:
        for number in range(ROWS):
            execute(f"INSERT INTO {SCHEMA}.LATE VALUES ({number}, 'x')", ())
    database.capture.start()
    reader.await_changes(3)
    assert "transaction_lsn" in reader.offsets[-1]
    reader.stop()
    return reader


def test_a_restart_inside_of_the_first_transaction_of_a_new_table_is_no_gap(
    database: Db2Database, tmp_path: Path
) -> None:
    reader = stopped_inside_the_first_transaction_of_a_new_table(database, tmp_path)
    values = reader.await_changes(1 + ROWS)
    reader.stop()
    assert [value["after"]["ID"] for value in values] == [1, *range(ROWS)]


def test_a_restart_inside_a_pruned_transaction_is_a_gap(
    database: Db2Database, tmp_path: Path
) -> None:
    reader = stopped_inside_the_first_transaction_of_a_new_table(database, tmp_path)
    prune(database)
    with pytest.raises(HeadraceError, match=r"CDC_INV_LATE of INV\.LATE begins") as caught:
        reader.await_changes(1 + ROWS)
    assert caught.value.code == PRUNED


@contextmanager
def lost_after_window(
    monkeypatch: pytest.MonkeyPatch, act: Callable[[], None]
) -> Iterator[threading.Event]:
    """Calls `act` after all rows of a window were fetched, when the reader asks for the next one.
    The first fetch of change tables after that fails; the event is set when it has failed."""
    fetched: list[tuple[Any, ...]] = []
    acted, lost = threading.Event(), threading.Event()
    reading: set[Cursor] = set()
    make, fetch, rows_of = Connection.cursor, Cursor.fetch, Connection.rows

    def making(self: Connection, sql: str, *more: Any) -> Cursor:
        cursor = make(self, sql, *more)
        if "CDC_" in sql:
            reading.add(cursor)
        return cursor

    def fetching(self: Cursor, rows: int, /) -> list[tuple[Any, ...]]:
        if self not in reading:
            return fetch(self, rows)
        if acted.is_set() and not lost.is_set():
            lost.set()
            raise DriverError("SQL30081N it is gone SQLSTATE=08001 SQLCODE=-30081")
        block = fetch(self, rows)
        fetched.extend(block)
        return block

    def asking(self: Connection, sql: str, *more: Any) -> list[tuple[Any, ...]]:
        if "MAX(T.SYNCHPOINT)" in sql and len(fetched) == 2 * ROWS and not acted.is_set():
            acted.set()
            act()
        return rows_of(self, sql, *more)

    with monkeypatch.context() as patch:
        patch.setattr(Connection, "cursor", making)
        patch.setattr(Cursor, "fetch", fetching)
        patch.setattr(Connection, "rows", asking)
        yield lost


def is_received() -> bool:
    """Whether the thread that reads change tables runs: it ends with an error."""
    return any(thread.name == "headrace-receiver" for thread in threading.enumerate())


@pytest.mark.parametrize("mode", ["no_data", "when_needed"])
def test_pruning_fetched_rows_is_a_gap_if_the_connection_is_lost_before_they_are_delivered(
    database: Db2Database, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    reader = reader_of(
        database,
        snapshot_mode=mode,
        errors_max_retries="5",
        retriable_restart_connector_wait_ms="10",
        headrace_range_max_rows="3",
    )

    def act() -> None:
        prune(database)
        database.execute(f"INSERT INTO {SCHEMA}.T VALUES (1000, 'later')")
        database.capture.advance()

    def has_later_row() -> bool:
        return any(value["after"]["ID"] == 1000 for value in reader.values())

    insert_unannounced(database, 0)
    with lost_after_window(monkeypatch, act) as lost:
        database.capture.advance()
        reader.await_changes(1)
        wait_until(lambda: not is_received(), "the connection is not lost")
        assert lost.is_set()
        if mode == "when_needed":  # the rows are read again
            values = reader.step_until(has_later_row).values()
            assert [value["op"] for value in values[-2 * ROWS - 1 :]] == ["r"] * (2 * ROWS + 1)
        for _ in range(2 if mode == "no_data" else 0):  # the second time after a restart
            with pytest.raises(HeadraceError) as caught:
                reader.step_until(has_later_row)
            assert caught.value.code == PRUNED
            reader.stop()
    reader.stop()


@pytest.fixture
def late_reader(db2_database: Db2Database) -> Iterator[Reader]:
    """Reads a database whose table Capture does not capture yet."""
    db2_database.capture.stop()
    db2_database.create_table("T", TABLE)
    reader = reader_of(db2_database)
    yield reader
    reader.stop()


def capture_start_of(database: Db2Database, change_table: str) -> object:
    ((place,),) = database.execute(
        'SELECT CD_OLD_SYNCHPOINT FROM "ASNCDC".IBMSNAP_REGISTER WHERE CD_TABLE = ?',
        (change_table,),
    )
    return place


def test_a_registration_that_capture_begins_to_use_while_the_stream_runs_is_read(
    late_reader: Reader, db2_database: Db2Database
) -> None:
    assert capture_start_of(db2_database, f"CDC_{SCHEMA}_T") is None
    db2_database.execute(f"INSERT INTO {SCHEMA}.T VALUES (1, 'one')")
    db2_database.capture.start()
    assert late_reader.await_changes(1)[0]["after"]["ID"] == 1
    assert capture_start_of(db2_database, f"CDC_{SCHEMA}_T") is not None


def test_a_table_that_is_registered_inside_of_a_window_is_read(
    late_reader: Reader, db2_database: Db2Database
) -> None:
    db2_database.execute(f"INSERT INTO {SCHEMA}.T VALUES (1, 'one')")
    db2_database.create_table("LATE", TABLE)
    db2_database.execute(f"INSERT INTO {SCHEMA}.LATE VALUES (1, 'one')")
    db2_database.execute(f"INSERT INTO {SCHEMA}.T VALUES (2, 'two')")
    db2_database.capture.start()
    values = late_reader.await_changes(3)
    assert [value["source"]["table"] for value in values] == ["T", "LATE", "T"]
    db2_database.execute(f"INSERT INTO {SCHEMA}.LATE VALUES (2, 'two')")
    late_reader.await_changes(4)


def test_a_pruned_second_registration_is_a_gap_even_if_the_first_is_not_pruned(
    db2_database: Db2Database,
) -> None:
    database = db2_database
    database.create_table("T", TABLE)
    reader = reader_of(database)
    database.capture.stop_capturing(f"CDC_{SCHEMA}_T")
    database.capture.add_table(SCHEMA, "T", "CDC_SECOND")
    database.execute(f"INSERT INTO {SCHEMA}.T VALUES (1, 'one')")
    reader.await_changes(1)
    database.capture.set_state(f"CDC_{SCHEMA}_T", "I")
    first = capture_start_of(database, f"CDC_{SCHEMA}_T")
    reader.stop()
    database.execute(f"INSERT INTO {SCHEMA}.T VALUES (2, 'two')")
    database.capture.await_captured()
    prune(database)
    database.execute(  # Capture does not prune what is not active
        'UPDATE "ASNCDC".IBMSNAP_REGISTER SET CD_OLD_SYNCHPOINT = ? WHERE CD_TABLE = ?',
        (first, f"CDC_{SCHEMA}_T"),
    )
    with pytest.raises(HeadraceError, match=r"ASNCDC\.CDC_SECOND of .* begins at"):
        reader.step_until(lambda: False)
