"""Drives the PostgreSQL connector as Spark would, without Spark: poll, plan, read, restart."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from headrace.connectors.connector import Connector
from headrace.connectors.registry import open_connector, parse_configuration
from headrace.converters.warm_up import load_kernels
from headrace.spark.task import read_slice

INITIAL = {"v": 1, "server": "headrace"}


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

    def plan(self, seconds: float = 0.3) -> dict[str, Any]:
        """The next end offset (the last one again when nothing is new)."""
        connector = self.open()
        connector.acknowledge(self.offsets[-1])
        return dict(connector.poll(self.offsets[-1], timedelta(seconds=seconds)))

    def read(self, end: dict[str, Any]) -> list[dict[str, Any]]:
        """The records of the range from the last offset to `end`, by slice."""
        found = []
        for part in self.open().slices(self.offsets[-1], end):
            for batch in read_slice(part, self.config):
                found += [dict(record) for record in batch.to_pylist()]
        return found

    def step(self, seconds: float = 0.3) -> bool:
        """One micro-batch; False when nothing was new."""
        end = self.plan(seconds)
        if end == self.offsets[-1]:
            return False
        # An offset goes through Spark's log as text.
        end = json.loads(json.dumps(end))
        self.records += self.read(end)
        self.offsets.append(end)
        return True

    def drain(self, quiet: float = 0.7, most: int = 100_000) -> Reader:
        """Micro-batches until nothing came for `quiet` seconds."""
        for _ in range(most):
            if not self.step(quiet):
                break
        return self

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


def wait_for(condition: Any, seconds: float = 10.0) -> None:
    """Wait until `condition()` holds."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it never came true"
        time.sleep(0.05)
