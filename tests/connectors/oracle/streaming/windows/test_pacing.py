"""Pacing of reads of the redo: windows, pauses between them, and the statements of each."""

from __future__ import annotations

import pytest

from headrace.connectors.oracle.config import OracleConfig
from headrace.connectors.oracle.streaming.windows import pacing as pacing_module
from headrace.connectors.oracle.streaming.windows.pacing import Pacing
from headrace.connectors.oracle.streaming.windows.redo import InconsistentLogsError
from headrace.connectors.registry import parse_configuration
from headrace.errors import HeadraceError
from tests.connectors.oracle.reading import ID_AND_NAME, OracleReader
from tests.servers.oracle import OracleDatabase

TABLE = "INV.T"
WINDOW = "start_logmnr"
READ_ONLY = {"log_mining_read_only": "true"}
LOG_VIEWS = ("archived_logs", "online_logs", "destinations", "largest_log")
GIVEN = {
    "connector.class": "oracle", "topic.prefix": "p", "database.hostname": "h",
    "database.user": "u", "database.dbname": "D",
}  # fmt: skip


class Clock:
    """Seconds that pass when a test says so."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    fake_clock = Clock()
    monkeypatch.setattr(pacing_module, "monotonic", fake_clock)
    return fake_clock


@pytest.fixture
def database(oracle_database: OracleDatabase) -> OracleDatabase:
    oracle_database.create_table("T", *ID_AND_NAME, key=["ID"])
    return oracle_database


def pacing_of(**more: str) -> Pacing:
    properties = GIVEN | {name.replace("_", "."): text for name, text in more.items()}
    config = parse_configuration(properties)
    assert isinstance(config, OracleConfig)
    return Pacing(config)


def counted(database: OracleDatabase, name: str = WINDOW) -> int:
    return database.sent(name)


def test_pauses_begin_with_the_default_and_grow_without_changes_up_to_the_longest(
    clock: Clock,
) -> None:
    pacing = pacing_of()
    pauses = []
    for _ in range(13):
        pacing.read(newest=True, changes=False)
        pauses.append(round(pacing.remaining(), 3))
        clock.now += pauses[-1]
    assert pauses[:4] == [1.0, 1.2, 1.4, 1.6]
    assert pauses[9:] == [2.8, 3.0, 3.0, 3.0]
    pacing.read(newest=True, changes=True)
    assert pacing.remaining() == 1.0


def test_a_window_that_stayed_below_the_newest_redo_is_followed_by_the_next_one_at_once(
    clock: Clock,
) -> None:
    pacing = pacing_of()
    for _ in range(3):
        pacing.read(newest=True, changes=False)
    pacing.read(newest=False, changes=False)
    assert pacing.is_over
    pacing.read(newest=True, changes=False)
    assert pacing.remaining() == 1.0


def test_the_first_pause_is_between_the_shortest_and_the_longest(clock: Clock) -> None:
    for name, text, seconds in (("min", "1500", 1.5), ("max", "500", 0.5)):
        pacing = pacing_of(**{f"log_mining_sleep_time_{name}_ms": text})
        pacing.read(newest=True, changes=True)
        assert pacing.remaining() == seconds


@pytest.mark.oracle
@pytest.mark.parametrize("more", [{}, READ_ONLY], ids=["flushing", "read only"])
def test_an_idle_stream_reads_one_window_in_each_pause(
    database: OracleDatabase,
    clock: Clock,
    monkeypatch: pytest.MonkeyPatch,
    more: dict[str, str],
) -> None:
    """The SCN of a server advances by itself, and so does that of the stand-in."""
    read, paces = Pacing.read, []

    def reading(self: Pacing, *, newest: bool, changes: bool) -> None:
        read(self, newest=newest, changes=changes)
        paces.append(self)

    def is_idle() -> bool:
        return bool(paces) and not paces[-1].is_over

    monkeypatch.setattr(Pacing, "read", reading)
    hour = {f"log_mining_sleep_time_{name}_ms": "3600000" for name in ("default", "max")}
    reader = OracleReader.of(database, **more, **hour)
    with database.transaction() as transaction:
        transaction.insert(TABLE, ID=1, NAME="one")
    reader.step_until(is_idle)
    while not reader.values():
        clock.now += 3600
        reader.step_until(is_idle)
    for _ in range(3):
        before = counted(database)
        while counted(database) == before:  # there may be no redo yet
            clock.now += 3600
            reader.step_until(is_idle)
        for _ in range(5):
            reader.step(0.05)
        assert counted(database) == before + 1
    reader.stop()


@pytest.mark.oracle
@pytest.mark.parametrize("more", [{}, READ_ONLY], ids=["flushing", "read only"])
def test_a_window_of_an_idle_stream_takes_six_statements_at_most(
    database: OracleDatabase, more: dict[str, str]
) -> None:
    reader = OracleReader.of(database, **more)
    before: dict[str, int] = {}

    def windows() -> int:
        now = database.server.call("counted")
        return int(now.get(WINDOW, 0)) - int(before.get(WINDOW, 0))

    reader.step_until(lambda: windows() >= 2)
    before |= database.server.call("counted")
    reader.step_until(lambda: windows() >= 12)
    after = database.server.call("counted")
    reader.stop()
    statement_counts = {name: count - before.get(name, 0) for name, count in after.items()}
    rounds = statement_counts["now"]
    assert sum(statement_counts.values()) <= 6 * rounds
    assert statement_counts.get("flush_table_update", 0) <= rounds + 1  # one may have begun
    assert [name for name in LOG_VIEWS if statement_counts[name]] == []
    if more:
        assert statement_counts.get("flush_table_update", 0) == 0


@pytest.mark.oracle
def test_the_views_of_logs_are_read_again_after_a_log_switch(database: OracleDatabase) -> None:
    reader = OracleReader.of(database)
    windows = counted(database)
    reader.step_until(lambda: counted(database) > windows + 1)
    before = counted(database, "archived_logs")
    for number in (1, 2):
        database.server.apply([{"switch": 1}])
        with database.transaction() as transaction:
            transaction.insert(TABLE, ID=number, NAME="x")
        reader.await_changes(number)
        reader.look_again(database)
    reader.stop()
    assert counted(database, "archived_logs") == before + 2
    assert reader.ids() == [1, 2]


@pytest.mark.oracle
def test_a_backlog_is_read_without_pauses(database: OracleDatabase, clock: Clock) -> None:
    hour = {f"log_mining_sleep_time_{name}_ms": "3600000" for name in ("default", "max")}
    reader = OracleReader.of(database, **hour, log_mining_log_count_min="1")
    reader.stop()
    for number in range(6):
        with database.transaction() as transaction:
            transaction.insert(TABLE, ID=number, NAME="x")
        database.server.apply([{"switch": 1}])
    windows = counted(database)
    reader.await_changes(6)
    reader.stop()
    assert counted(database) > windows + 3


def test_waits_for_logs_that_are_being_archived_are_not_counted(clock: Clock) -> None:
    pacing = pacing_of(internal_log_mining_log_query_max_retries="2")
    archiving = InconsistentLogsError("sequence 7", is_archiving=True)
    for _ in range(10):
        pacing.wait_for_logs(archiving, 1)
        assert (pacing.remaining(), pacing.may_end_early) == (2.0, False)
    for seconds in (1.0, 2.0):
        pacing.wait_for_logs(InconsistentLogsError("a gap"), 1)
        assert pacing.remaining() == seconds
    with pytest.raises(HeadraceError) as caught:
        pacing.wait_for_logs(InconsistentLogsError("a gap"), 1)
    assert caught.value.code == "oracle.logs_inconsistent"
    pacing.read(newest=True, changes=False)
    assert pacing.may_end_early
