"""Failures of heartbeat.action.query."""

from __future__ import annotations

import logging

import pytest

from headrace.errors import HeadraceError
from headrace.relational.heartbeat_query import HeartbeatFailure, HeartbeatQuery


class DriverError(Exception):
    """An error of the driver; `failure` is its kind."""

    def __init__(self, failure: HeartbeatFailure) -> None:
        super().__init__(failure)
        self.failure = failure


def explain(error: Exception) -> tuple[HeartbeatFailure, HeadraceError] | None:
    if not isinstance(error, DriverError):
        return None
    return error.failure, HeadraceError("db.failed", "it failed", "Look.", retriable=True)


class Connection:
    def __init__(self, error: Exception | None) -> None:
        self.error = error
        self.ran: list[str] = []
        self.closed = 0

    def execute(self, statement: str) -> None:
        self.ran.append(statement)
        if self.error is not None:
            raise self.error

    def close(self) -> None:
        self.closed += 1


def query(connection: Connection) -> HeartbeatQuery:
    return HeartbeatQuery(
        "db", "UPDATE beats", connection.execute, explain, connection.close, connection.execute
    )


def test_the_query_runs_and_the_connection_stays_open() -> None:
    connection = Connection(None)
    beats = query(connection)
    beats.run()
    beats.run()
    assert connection.ran == ["UPDATE beats"] * 2
    assert connection.closed == 0


def test_a_missing_table_is_an_error_of_the_configuration() -> None:
    connection = Connection(DriverError(HeartbeatFailure.NO_TABLE))
    with pytest.raises(HeadraceError, match=r"db\.heartbeat_table") as raised:
        query(connection).run()
    assert not raised.value.retriable
    assert connection.closed == 1


def test_a_server_that_goes_is_an_error_that_says_so() -> None:
    connection = Connection(DriverError(HeartbeatFailure.SERVER_UNAVAILABLE))
    with pytest.raises(HeadraceError, match=r"db\.failed") as raised:
        query(connection).run()
    assert raised.value.retriable
    assert connection.closed == 1


def test_another_failure_is_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    connection = Connection(DriverError(HeartbeatFailure.OTHER))
    with caplog.at_level(logging.WARNING):
        query(connection).run()
    assert "it failed" in caplog.text
    assert connection.closed == 1


@pytest.mark.parametrize(
    "error", [ValueError("a fault of ours"), HeadraceError("db.far", "a", "b")]
)
def test_what_is_not_the_drivers_is_raised(error: Exception) -> None:
    with pytest.raises(type(error)):
        query(Connection(error)).run()


def test_a_query_that_is_looked_at_is_an_error_or_a_warning_as_its_first_run_would_be() -> None:
    def found(failure: HeartbeatFailure | None) -> list[tuple[str, str]]:
        connection = Connection(None if failure is None else DriverError(failure))
        findings = query(connection).examine()
        assert connection.closed == 1
        return [(finding.code, finding.level) for finding in findings]

    assert found(None) == []
    assert found(HeartbeatFailure.NO_TABLE) == [("db.heartbeat_table", "error")]
    assert found(HeartbeatFailure.OTHER) == [("db.heartbeat_query", "warning")]
    with pytest.raises(HeadraceError, match=r"db\.failed"):
        found(HeartbeatFailure.SERVER_UNAVAILABLE)
