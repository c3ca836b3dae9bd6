"""Drives a connector as Spark would, without Spark: poll, plan, read, restart."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Self

from headrace.connectors.connector import Connector
from headrace.connectors.registry import open_connector, parse_configuration
from headrace.spark.data_source import HeadraceReader
from headrace.spark.kernels.beforehand import compile_beforehand
from headrace.spark.kernels.needed import query_kernels
from headrace.spark.task import read_slice

PATIENCE_SECONDS = 300.0  # what a loaded machine may take for a moment's work


@dataclass
class ConnectorReader:
    """One source process after another over one checkpoint, for which `offsets` is used.

    `records` are those of all ranges, each range in the order of its slices.
    """

    properties: Mapping[str, str]
    inline: bool = False
    bounded: bool = False
    offsets: list[dict[str, Any]] = field(default_factory=list)
    records: list[dict[str, Any]] = field(default_factory=list)
    connector: Connector | None = None
    _values: dict[int, tuple[dict[str, Any], dict[str, Any]]] = field(
        default_factory=dict, kw_only=True, repr=False
    )

    def __post_init__(self) -> None:
        self.configure(self.properties)
        if not self.offsets:
            self.offsets.append(HeadraceReader(self.config).initialOffset())

    def configure(self, properties: Mapping[str, str]) -> None:
        """Sets the configuration of the next source process, and ends the present one."""
        self.stop()
        plain = {f"{role}.converter.schemas.enable": "false" for role in ("key", "value", "header")}
        self.properties = properties
        self.config = parse_configuration(plain | dict(properties))

    def open(self) -> Connector:
        """The connector of the present source process."""
        if self.connector is None:
            compile_beforehand(query_kernels(self.config))
            self.connector = open_connector(
                self.config, cores=3, inline=self.inline, orphaned=lambda: False
            )
            if self.bounded:
                self.connector.bounded()
        return self.connector

    def plan(self, seconds: float = 0.1) -> dict[str, Any]:
        """The next end offset, as Spark's log gives it back; the last one again when nothing came
        for `seconds`."""
        connector = self.open()
        connector.acknowledge(self.offsets[-1])
        return stored(connector.poll(self.offsets[-1], timedelta(seconds=seconds)))

    def slices(self, end: Mapping[str, Any]) -> list[list[dict[str, Any]]]:
        """The records of the range from the last offset to `end`, slice by slice."""
        return [
            [
                dict(record)
                for batch in read_slice(part, self.config)
                for record in batch.to_pylist()
            ]
            for part in self.open().slices(self.offsets[-1], end)
        ]

    def read(self, end: Mapping[str, Any]) -> list[dict[str, Any]]:
        """The records of the range from the last offset to `end`."""
        return [record for records in self.slices(end) for record in records]

    def step(self, seconds: float = 0.1) -> bool:
        """One micro-batch; False when nothing was new (see `plan`)."""
        end = self.plan(seconds)
        if end == self.offsets[-1]:
            return False
        # An offset goes through Spark's log as text.
        end = stored(end)
        self.records += self.read(end)
        self.offsets.append(end)
        return True

    def step_until(self, condition: Callable[[], Any], seconds: float = PATIENCE_SECONDS) -> Self:
        """Micro-batches until `condition()` holds."""
        deadline = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < deadline, f"it never came true; at {self.offsets[-1]}"
            self.step()
        return self

    def stop(self) -> None:
        """The source process ends, as by kill -9 for what the checkpoint knows."""
        if self.connector is not None:
            self.connector.close()
            self.connector = None

    def restart(self) -> Self:
        """The source process ends; the next call starts another one."""
        self.stop()
        return self

    def in_order(self) -> list[dict[str, Any]]:
        """All records in total order."""
        return sorted(self.records, key=lambda record: record["sequence"])

    def events(self) -> list[dict[str, Any]]:
        """Values in total order, tombstones left out, each with its `sequence` and `key`. Who gets
        them changes none of their members: conditions ask for them after each micro-batch."""
        return [dict(self._parsed(r)) for r in self.in_order() if r["value"] is not None]

    def _parsed(self, record: dict[str, Any]) -> dict[str, Any]:
        parsed_record, event = self._values.get(id(record), (None, {}))
        if parsed_record is not record:
            event = json.loads(record["value"]) | {
                "sequence": record["sequence"],
                "key": json.loads(record["key"] or "null"),
            }
            self._values[id(record)] = record, event
        return event


def stored(offset: Mapping[str, Any]) -> dict[str, Any]:
    """An offset as Spark's log gives it back: it goes through it as text."""
    stored_offset: dict[str, Any] = json.loads(json.dumps(offset))
    return stored_offset


def wait_for(condition: Callable[[], Any], seconds: float = PATIENCE_SECONDS) -> None:
    """Wait until `condition()` holds."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it never came true"
        time.sleep(0.02)
