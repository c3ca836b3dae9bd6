"""Windows: how far the change tables are read at once, by the times of commits and by rows."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from typing import Any

import pytest

from headrace.connectors.db2.catalog.registrations import registrations
from headrace.connectors.db2.config import Db2Config
from headrace.connectors.db2.connection import Connection, Cursor, connect
from headrace.connectors.db2.lsn import LSN_BYTES, place_of
from headrace.connectors.db2.streaming import reader as reading
from headrace.connectors.db2.streaming.windows import Window, next_window, spans_of
from tests.connectors.harness import ConnectorReader
from tests.servers.db2 import SCHEMA, Db2Database

pytestmark = pytest.mark.db2

_BEGINNING = dt.datetime.fromisoformat("2020-02-29 22:00:00")
_SECONDS = (0, 119, 7200, 7320, 7321, 14_400)
"""The times of the backlog's commits."""
_UNITS = "ASNCDC.IBMSNAP_UOW"


@pytest.fixture
def before(db2_database: Db2Database) -> dict[str, Any]:
    """The offset of a stream before the backlog."""
    db2_database.create_table("T", "ID INTEGER NOT NULL PRIMARY KEY")
    run = _reader(db2_database)
    run.step_until(lambda: len(run.offsets) > 1)
    run.stop()
    return run.offsets[-1]


@pytest.fixture
def commits(db2_database: Db2Database, before: dict[str, Any]) -> list[int]:
    """The places of a table's commits, each of one row, made at `_SECONDS`."""
    for number in range(len(_SECONDS)):
        db2_database.execute(f"INSERT INTO {SCHEMA}.T VALUES ({number})")
    db2_database.capture.await_captured()
    numbers = [lsn for lsn, *_ in db2_database.changes("T")]
    for lsn, seconds in zip(numbers, _SECONDS, strict=True):
        at = _BEGINNING + dt.timedelta(seconds=seconds)
        db2_database.execute(
            f"UPDATE {_UNITS} SET IBMSNAP_LOGMARKER = '{at}' WHERE IBMSNAP_COMMITSEQ = ?", (lsn,)
        )
    return [place_of(lsn) for lsn in numbers]


@pytest.fixture
def connection(db2_database: Db2Database) -> Iterator[Connection]:
    with connect(config_of(db2_database)) as opened:
        yield opened


def config_of(database: Db2Database, **more: str) -> Db2Config:
    return Db2Config.parse(database.properties(**more))


def lasts(connection: Connection, config: Db2Config, commits: list[int]) -> list[int]:
    """The last commit of each window, from the first commit on, as an index of `commits`."""
    last_places, first = [], commits[0]
    while (window := next_window(connection, config, first, LSN_BYTES)) is not None:
        connection.rollback()
        assert (window.first, window.newest) == (first, commits[-1])
        last_places.append(commits.index(window.last))
        first = window.last + 1
    return last_places


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [(0, [5]), (2, [0, 1, 2, 4, 5]), (119, [1, 2, 4, 5]), (120, [1, 3, 4, 5]), (7200, [2, 5])],
)
def test_a_window_has_the_commits_of_its_span_of_time(
    db2_database: Db2Database,
    connection: Connection,
    commits: list[int],
    seconds: int,
    expected: list[int],
) -> None:
    config = config_of(db2_database, streaming_query_timespan_seconds=str(seconds))
    assert lasts(connection, config, commits) == expected


def test_commits_without_a_time_belong_to_the_next_one_that_has(
    db2_database: Db2Database, connection: Connection, commits: list[int]
) -> None:
    config = config_of(db2_database, streaming_query_timespan_seconds="120")
    lsn = [lsn for lsn, *_ in db2_database.changes("T")]
    for number in (0, 3):
        db2_database.execute(f"DELETE FROM {_UNITS} WHERE IBMSNAP_COMMITSEQ = ?", (lsn[number],))
    assert lasts(connection, config, commits) == [1, 2, 4, 5]
    db2_database.execute(f"DELETE FROM {_UNITS}")
    assert lasts(connection, config, commits) == [5]


def test_there_is_no_window_after_the_newest_commit(
    db2_database: Db2Database, connection: Connection, commits: list[int]
) -> None:
    config = config_of(db2_database, streaming_query_timespan_seconds="120")
    assert next_window(connection, config, commits[-1] + 1, LSN_BYTES) is None


def test_a_stream_reads_span_by_span(
    db2_database: Db2Database,
    before: dict[str, Any],
    commits: list[int],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    windows: list[Window] = []

    def recorded(
        connection: Connection, config: Db2Config, first: int, lsn_bytes: int
    ) -> Window | None:
        window = next_window(connection, config, first, lsn_bytes)
        windows.extend([] if window is None else [window])
        return window

    monkeypatch.setattr(reading, "next_window", recorded)
    run = _reader(db2_database, streaming_query_timespan_seconds="120")
    _read_all(run, before, len(commits))
    assert [commits.index(window.last) for window in windows] == [1, 3, 4, 5]


@pytest.mark.parametrize("size", [1, 4])
def test_no_more_rows_are_fetched_at_once_than_the_configuration_says(
    db2_database: Db2Database,
    before: dict[str, Any],
    commits: list[int],
    monkeypatch: pytest.MonkeyPatch,
    size: int,
) -> None:
    sizes: set[int] = set()
    fetch = Cursor.fetch

    def recorded(cursor: Cursor, rows: int, /) -> list[tuple[object, ...]]:
        if "IBMSNAP_COMMITSEQ" in cursor.columns:
            sizes.add(rows)
        return fetch(cursor, rows)

    monkeypatch.setattr(Cursor, "fetch", recorded)
    run = _reader(db2_database, query_fetch_size=str(size))
    _read_all(run, before, len(commits))
    assert sizes == {size}


def _reader(database: Db2Database, **more: str) -> ConnectorReader:
    return ConnectorReader(
        database.properties(snapshot_mode="no_data", errors_max_retries="0", **more)
    )


def _read_all(run: ConnectorReader, before: dict[str, Any], count: int) -> None:
    run.offsets.append(before)

    def keys() -> list[int]:
        return [event["key"]["ID"] for event in run.events() if event.get("op")]

    run.step_until(lambda: len(keys()) >= count)
    run.stop()
    assert keys() == list(range(count))


@pytest.mark.parametrize(("ignores", "has_stop"), [("false", True), ("true", False)])
def test_on_zos_a_registration_may_continue_beside_the_next_one(
    db2_database: Db2Database,
    connection: Connection,
    commits: list[int],
    ignores: str,
    has_stop: bool,
) -> None:
    db2_database.capture.add_table(SCHEMA, "T", "CDC_SECOND")
    db2_database.execute(f"INSERT INTO {SCHEMA}.T VALUES (99)")
    db2_database.capture.await_captured()
    config = config_of(db2_database, db2_platform="ZOS", z_stop_lsn_ignore=ignores)
    first, second = spans_of(connection, config, registrations(connection, config), 0)
    assert (first.stop == second.start) is has_stop
    assert second.stop is None
