"""Metrics of mining in headrace.metrics."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from headrace.connectors.oracle.streaming import reader as redo_reader
from headrace.connectors.oracle.streaming.progress import Durations, MiningProgress
from headrace_demo.oracle.database import SESSION_MEMORY
from tests.connectors.oracle.reading import ID_AND_NAME, OracleReader
from tests.servers.oracle import OracleDatabase

pytestmark = pytest.mark.oracle

TABLE = "INV.T"
Figures = dict[str, Any]


@pytest.fixture
def database(oracle_database: OracleDatabase) -> OracleDatabase:
    oracle_database.create_table("T", *ID_AND_NAME, key=["ID"])
    return oracle_database


@pytest.fixture
def reading(database: OracleDatabase) -> Iterator[OracleReader]:
    reader = OracleReader.of(database)
    yield reader
    reader.stop()


def figures_when(reader: OracleReader, is_so: Callable[[Figures], bool]) -> Figures:
    """The figures as soon as they are so."""

    def figures() -> Figures:
        streaming: Figures = reader.open().metrics()["streaming"]
        return streaming

    reader.step_until(lambda: is_so(figures()))
    return figures()


def add(database: OracleDatabase, *ids: int) -> None:
    with database.transaction() as transaction:
        for number in ids:
            transaction.insert(TABLE, ID=number, NAME="x")


def test_durations_are_counted_and_the_longest_is_kept() -> None:
    durations = Durations()
    for seconds in (0.5, 2.25, 0.125):
        durations.add(seconds)
    assert (durations.count, durations.last_ms) == (3, 125)
    assert (durations.max_ms, durations.total_ms) == (2250, 2875)


def test_a_wait_for_logs_counts_while_it_lasts_and_once(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr("time.monotonic", lambda: now)
    progress = MiningProgress()

    def waits() -> tuple[int, int]:
        figures = progress.to_json()
        return figures["LogWaitCount"], figures["LogWaitTimeInMilliseconds"]

    progress.end_wait()
    assert waits() == (0, 0)
    progress.begin_wait()
    now = 101.0
    progress.begin_wait()
    assert waits() == (2, 1000)
    now = 103.5
    progress.end_wait()
    now = 200.0
    assert waits() == (2, 3500)
    progress.begin_wait()
    now = 200.25
    assert waits() == (3, 3750)


def test_the_age_is_that_of_the_oldest_open_transaction(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.time_ns", lambda: 1_700_000_000_000_000_000)
    progress = MiningProgress()
    assert progress.to_json()["OldestScnAgeInMilliseconds"] == 0
    progress.oldest_us = 1_699_999_940_000_000
    assert progress.to_json()["OldestScnAgeInMilliseconds"] == 60_000


def test_open_transactions_and_the_gap_they_make_are_reported(
    reading: OracleReader, database: OracleDatabase
) -> None:
    open_transaction = database.server.begin()
    open_transaction.insert(TABLE, ID=1, NAME="one")
    add(database, 2, 3)
    reading.await_changes(2)
    figures = figures_when(reading, lambda figures: figures["NumberOfCommittedTransactions"] == 1)
    assert figures["NumberOfActiveTransactions"] == 1
    assert figures["OldestScnAgeInMilliseconds"] > 0
    oldest, offset, current = (
        int(figures[f"{kind}Scn"]) for kind in ("Oldest", "Offset", "Current")
    )
    assert 0 < offset < oldest < int(figures["CommittedScn"]) <= current
    assert figures["ScnGap"] == current - offset
    assert figures["BufferedBytes"] > 0
    open_transaction.commit()
    figures = figures_when(reading, lambda figures: figures["NumberOfCommittedTransactions"] == 2)
    assert (figures["NumberOfActiveTransactions"], figures["OldestScn"]) == (0, "0")
    assert figures["OldestScnAgeInMilliseconds"] == 0


def test_rolled_back_changes_and_transactions_are_counted(
    reading: OracleReader, database: OracleDatabase
) -> None:
    with database.transaction() as transaction:
        transaction.insert(TABLE, ID=1, NAME="one")
        transaction.savepoint("A")
        transaction.insert(TABLE, ID=2, NAME="two")
        transaction.insert(TABLE, ID=3, NAME="three")
        transaction.rollback_to("A")
    reading.await_changes(1)
    figures = figures_when(reading, lambda figures: figures["NumberOfPartialRollbackCount"] == 2)
    assert figures["NumberOfUnmatchedRollbacks"] == 0
    assert figures["NumberOfRolledBackTransactions"] == 0
    other = database.server.begin()
    other.insert(TABLE, ID=4, NAME="four")
    other.rollback()
    figures_when(reading, lambda figures: figures["NumberOfRolledBackTransactions"] == 1)


def test_transactions_that_are_too_large_are_not_those_that_are_given_up(
    database: OracleDatabase,
) -> None:
    reader = OracleReader.of(database, log_mining_buffer_transaction_events_threshold="2")
    add(database, 1, 2, 3, 4)
    add(database, 5)
    reader.await_changes(1)
    figures = figures_when(reader, lambda figures: figures["NumberOfOversizedTransactions"] == 1)
    assert figures["AbandonedTransactionCount"] == 0
    reader.stop()
    reader = OracleReader.of(database, log_mining_transaction_retention_ms="1")
    database.server.begin().insert(TABLE, ID=6, NAME="six")
    figures = figures_when(reader, lambda figures: figures["AbandonedTransactionCount"] == 1)
    assert figures["NumberOfOversizedTransactions"] == 0
    reader.stop()


def test_sessions_queries_and_memory_of_logminer_are_measured(
    reading: OracleReader, database: OracleDatabase
) -> None:
    add(database, *range(100))
    reading.await_changes(100)
    figures = figures_when(
        reading,
        lambda figures: (
            figures["TotalProcessedRows"] >= 102
            and figures["TotalMiningSessionStartTimeInMilliseconds"] > 0
            and figures["TotalBatchProcessingTimeInMilliseconds"] > 0
        ),
    )
    server = database.server.call("counted")
    assert 0 < figures["FetchQueryCount"] <= server["contents"]
    for duration in ("MiningSessionStartTime", "BatchProcessingTime"):
        last, most, total = (
            figures[f"{of}{duration}InMilliseconds"] for of in ("Last", "Max", "Total")
        )
        assert 0 <= last <= most <= total
    assert {
        name: figures[f"MiningSession{area}GlobalArea{most}MemoryInBytes"]
        for name, area, most in (
            ("session uga memory", "User", ""),
            ("session uga memory max", "User", "Max"),
            ("session pga memory", "Process", ""),
            ("session pga memory max", "Process", "Max"),
        )
    } == SESSION_MEMORY


def test_memory_that_the_user_may_not_see_is_not_reported(database: OracleDatabase) -> None:
    database.change(hidden_views={"V$MYSTAT"})
    reader = OracleReader.of(database)
    add(database, 1)
    reader.await_changes(1)
    figures = figures_when(reader, lambda figures: figures["FetchQueryCount"] > 0)
    assert not [name for name in figures if "GlobalArea" in name]
    reader.stop()


def test_log_switches_are_counted_and_sessions_that_begin_again_are_not(
    database: OracleDatabase,
) -> None:
    reader = OracleReader.of(database, log_mining_session_max_ms="1")
    add(database, 1)
    reader.await_changes(1)
    add(database, 2)
    reader.await_changes(2)
    figures_when(reader, lambda figures: figures["FetchQueryCount"] > 2)
    assert database.server.call("counted")["end_logmnr"] > 0
    assert figures_when(reader, lambda figures: True)["LogSwitchCount"] == 0
    for number in (3, 4):
        database.server.apply([{"switch": 1}])
        add(database, number)
    reader.await_changes(4)
    figures_when(reader, lambda figures: figures["LogSwitchCount"] == 2)
    reader.stop()


def test_a_log_that_is_switched_while_it_is_mined_is_a_wait(
    reading: OracleReader, database: OracleDatabase
) -> None:
    database.server.apply([{"error": 1291, "when": "START_LOGMNR"}])
    add(database, 1)
    reading.await_changes(1)
    figures = figures_when(reading, lambda figures: figures["NumberOfCommittedTransactions"] == 1)
    assert figures["LogWaitCount"] == 1
    assert figures["LogWaitTimeInMilliseconds"] > 0


def test_figures_are_reported_inside_of_a_window(
    database: OracleDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(redo_reader, "_MEASURED", 0.0)
    measured: dict[int, set[int]] = defaultdict(set)
    measure = MiningProgress.measure

    def recorded(progress: MiningProgress, *arguments: Any) -> None:
        measure(progress, *arguments)
        measured[progress.processing.count].add(progress.rows)

    monkeypatch.setattr(MiningProgress, "measure", recorded)
    reader = OracleReader.of(database, query_fetch_size="10")
    add(database, *range(100))
    reader.await_changes(100)
    assert max(map(len, measured.values())) >= 10
    reader.stop()
