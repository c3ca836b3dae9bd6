"""Drives the PostgreSQL connector as Spark would, without Spark: poll, plan, read, restart."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, Self

import psycopg

from tests.connectors.harness import PATIENCE_SECONDS, ConnectorReader, wait_for
from tests.servers.postgresql import Database

__all__ = ["Reader", "log_end_of", "properties_with", "wait_for"]

_LOG_END = """
SELECT CASE WHEN at % segment = 40 THEN at - 40 WHEN at % 8192 = 24 THEN at - 24 ELSE at END
FROM (
  SELECT
    (CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn()
     ELSE pg_current_wal_insert_lsn() END - '0/0')::bigint AS at,
    pg_size_bytes(current_setting('wal_segment_size')) AS segment
) AS log
"""
_POLLS_OF_A_FLUSH = 10
_FLUSH = "SELECT pg_log_standby_snapshot() WHERE NOT pg_is_in_recovery()"


@dataclass
class Reader(ConnectorReader):
    """Knows where PostgreSQL's log ends, so that everything in it can be waited for."""

    def plan(self, seconds: float = 0.1) -> dict[str, Any]:
        """The next end offset; the last one again when nothing came for `seconds`, and everything
        is delivered that was in the log by then."""
        connector = self.open()
        after = self.offsets[-1]
        connector.acknowledge(after)
        log_end = polls = 0
        deadline = time.monotonic() + PATIENCE_SECONDS
        while True:
            received = self._received()
            end = dict(connector.poll(after, timedelta(seconds=seconds)))
            if end != after or self.bounded or not self._received():
                return end
            log_end = log_end or log_end_of(self.config)
            if received >= log_end:
                return end
            assert time.monotonic() < deadline, f"{received} of {log_end} was received"
            seconds, polls = 0.02, polls + 1
            if polls % _POLLS_OF_A_FLUSH == 0:
                flush(self.config)

    def _received(self) -> int:
        """Position up to which the log was received; 0: the connector does not stream."""
        return int(self.open().latest().get("lsn_commit", 0))

    def drain(self, most: int = 100_000) -> Self:
        """Micro-batches, at most `most` calls, until everything in the log and in the signal file
        is delivered, and incremental snapshots are over or paused. Fails when there is something
        left, and nothing comes for PATIENCE_SECONDS."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        for _ in range(most):
            waits = self.has_signals()
            if self.step(0.0):
                deadline = time.monotonic() + PATIENCE_SECONDS
            elif not waits and not self.reads_chunks():
                break
            else:
                assert time.monotonic() <= deadline, f"there is no progress at {self.offsets[-1]}"
        return self

    def has_signals(self) -> bool:
        """Whether the signal file has lines that nobody took."""
        file = Path(self.config.signal_file)
        return "file" in self.config.signal_enabled_channels and file.exists()

    def reads_chunks(self) -> bool:
        """Whether an incremental snapshot goes on."""
        signals = self.offsets[-1].get("signals", {})
        return "tables" in signals and "paused" not in signals

    def fold(self, table: str) -> dict[str, dict[str, Any]]:
        """The table rebuilt from its events, by key; unavailable values stay what they were."""
        rows: dict[str, dict[str, Any]] = {}
        for event in self.events():
            if event.get("source", {}).get("table") != table:
                continue
            key = json.dumps(event["key"])
            if event["op"] == "t":
                rows.clear()
            elif event["op"] == "d":
                rows.pop(key, None)
            else:
                before = rows.get(key, {})
                rows[key] = {
                    name: before.get(name) if value == "__debezium_unavailable_value" else value
                    for name, value in event["after"].items()
                }
        return rows


def properties_with(fixed_properties: Mapping[str, str]) -> Callable[..., dict[str, str]]:
    """A module's function from a database, and further properties with `__` for `.`, to a
    configuration: what reaches the database, the module's `fixed_properties` and the further
    ones."""

    def properties(database: Database, **more: str) -> dict[str, str]:
        further = {name.replace("__", "."): value for name, value in more.items()}
        return database.properties() | dict(fixed_properties) | further

    return properties


def log_end_of(config: Any) -> int:
    """The end of the last record of the server's log, even if it is not flushed yet. At the
    beginning of a page the server's functions name the place after the page's header."""
    with _connected(config) as connection:
        row = connection.execute(_LOG_END).fetchone()
    assert row is not None
    return int(row[0])


def flush(config: Any) -> None:
    """Have the server write what is in its log: a record after which no transaction commits stays
    in its memory, until it notes which transactions run, four times in a minute."""
    with _connected(config) as connection:
        connection.execute(_FLUSH)


def _connected(config: Any) -> psycopg.Connection[tuple[Any, ...]]:
    return psycopg.connect(
        host=config.database_hostname,
        port=config.database_port,
        dbname=config.database_dbname,
        user="postgres",
        connect_timeout=60,
    )
