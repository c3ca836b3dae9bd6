"""Drives the PostgreSQL connector as Spark would, without Spark: poll, plan, read, restart."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import psycopg

from headrace.connectors.connector import Connector
from headrace.connectors.registry import open_connector, parse_configuration
from headrace.spark.kernels import load_kernels
from headrace.spark.task import read_slice

INITIAL = {"v": 1, "server": "headrace"}
PATIENCE_SECONDS = 300.0  # what a loaded machine may take for a moment's work
_CHANNEL_SECONDS = 0.7  # how long signals of files and topics are given to arrive
_LOG_END = """
SELECT CASE WHEN at % segment = 40 THEN at - 40 WHEN at % 8192 = 24 THEN at - 24 ELSE at END
FROM (
  SELECT
    (CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn()
     ELSE pg_current_wal_insert_lsn() END - '0/0')::bigint AS at,
    pg_size_bytes(current_setting('wal_segment_size')) AS segment
) AS log
"""


@dataclass
class Reader:
    """One source process after another over one checkpoint, which `offsets` stands for."""

    properties: Mapping[str, str]
    inline: bool = False
    bounded: bool = False
    offsets: list[dict[str, Any]] = field(default_factory=lambda: [dict(INITIAL)])
    records: list[dict[str, Any]] = field(default_factory=list)
    connector: Connector | None = None

    def __post_init__(self) -> None:
        defaults = {
            f"{role}.converter.schemas.enable": "false" for role in ("key", "value", "header")
        }
        self.config = parse_configuration(defaults | dict(self.properties))

    def open(self) -> Connector:
        if self.connector is None:
            load_kernels()
            self.connector = open_connector(
                self.config, cores=3, inline=self.inline, orphaned=lambda: False
            )
            if self.bounded:
                self.connector.bounded()
        return self.connector

    def plan(self, seconds: float = 0.1) -> dict[str, Any]:
        """The next end offset; the last one again when nothing came for `seconds`, and everything
        is delivered that was in the log by then."""
        connector = self.open()
        after = self.offsets[-1]
        connector.acknowledge(after)
        log_end = 0
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
            seconds = 0.02

    def _received(self) -> int:
        """Position up to which the log was received; 0: the connector does not stream."""
        return int(self.open().latest().get("lsn_commit", 0))

    def read(self, end: dict[str, Any]) -> list[dict[str, Any]]:
        """The records of the range from the last offset to `end`, by slice."""
        found = []
        for part in self.open().slices(self.offsets[-1], end):
            for batch in read_slice(part, self.config):
                found += [dict(record) for record in batch.to_pylist()]
        return found

    def step(self, seconds: float = 0.1) -> bool:
        """One micro-batch; False when nothing was new (see `plan`)."""
        end = self.plan(seconds)
        if end == self.offsets[-1]:
            return False
        # An offset goes through Spark's log as text.
        end = json.loads(json.dumps(end))
        self.records += self.read(end)
        self.offsets.append(end)
        return True

    def drain(self, quiet: float | None = None, most: int = 100_000) -> Reader:
        """Micro-batches until everything in the log is delivered, incremental snapshots are over
        or paused, and nothing came for `quiet` seconds. Fails when an incremental snapshot brings
        nothing for PATIENCE_SECONDS."""
        if quiet is None:
            channels = set(self.config.signal_enabled_channels)
            quiet = 0.0 if channels.isdisjoint({"file", "kafka"}) else _CHANNEL_SECONDS
        deadline = time.monotonic() + PATIENCE_SECONDS
        for _ in range(most):
            if self.step(quiet):
                deadline = time.monotonic() + PATIENCE_SECONDS
            elif not self.reads_chunks():
                break
            else:
                assert time.monotonic() <= deadline, (
                    f"the incremental snapshot stands still at {self.offsets[-1]['signals']}"
                )
        return self

    def reads_chunks(self) -> bool:
        """Whether an incremental snapshot goes on."""
        signals = self.offsets[-1].get("signals", {})
        return "tables" in signals and "paused" not in signals

    def stop(self) -> None:
        """The source process ends, as by kill -9 for what the checkpoint knows."""
        if self.connector is not None:
            self.connector.close()
            self.connector = None

    def restart(self) -> Reader:
        self.stop()
        return self

    def events(self) -> list[dict[str, Any]]:
        """Values in total order, tombstones left out, each with its `sequence` and `key`."""
        ordered = sorted(self.records, key=lambda record: record["sequence"])
        return [
            json.loads(r["value"])
            | {"sequence": r["sequence"], "key": json.loads(r["key"] or "null")}
            for r in ordered
            if r["value"] is not None
        ]

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


def log_end_of(config: Any) -> int:
    """Where the last record of the server's log ends, even when it is not flushed yet. Where a
    page begins, the server's functions name the place behind the page's header."""
    with psycopg.connect(
        host=config.database_hostname,
        port=config.database_port,
        dbname=config.database_dbname,
        user="postgres",
        connect_timeout=60,
    ) as connection:
        row = connection.execute(_LOG_END).fetchone()
    assert row is not None
    return int(row[0])


def wait_for(condition: Any, seconds: float = PATIENCE_SECONDS) -> None:
    """Wait until `condition()` holds."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it never came true"
        time.sleep(0.02)
