"""Sources that write to a sink while they read events.

A row on its way from a source's task to a sink's task crosses the JVM, which costs more than making
the event. So a sink of headrace has a source of its own, whose tasks write, and return descriptions
of the written parts to Spark.
"""

from __future__ import annotations

import threading
from abc import abstractmethod
from collections.abc import Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from pyspark.sql.types import StructType

from headrace.config.properties.connector import ConnectorConfig
from headrace.connect.slices import Slice
from headrace.connectors.registry import parse_options
from headrace.spark.checkpoint import force_log_to_disk
from headrace.spark.data_source import HeadraceDataSource, HeadraceReader
from headrace.spark.query.source_options import of_connector
from headrace.spark.sinks.registry import find_sink
from headrace.spark.starting.collection import collection_paused

if TYPE_CHECKING:
    from headrace.offsets.offset import OffsetObject
    from headrace.spark.kernels.needed import Kernels


class SinkSource(HeadraceDataSource):
    """A source of a sink. Its options are those of `headrace`, among them properties that the sink
    sets, and some of `headrace.spark.query.source_options.SINK_OPTIONS`; a row describes what a
    task wrote of a slice."""

    columns: str
    """The columns of its rows, as DDL."""

    def schema(self) -> str:
        return self.columns

    def streamReader(self, schema: StructType) -> HeadraceReader:  # noqa: ARG002
        return self._reader(self._sink_reader)

    def _sink_reader(self) -> SinkReader:
        return self.sink_reader(parse_options(of_connector(self.options)))

    @abstractmethod
    def sink_reader(self, config: ConnectorConfig) -> SinkReader:
        """Return the reader for a parsed configuration. Raises HeadraceError."""


class SinkReader(HeadraceReader):
    """Syncs Spark's log to the disk before anything is acknowledged, if `sync`: events that a sink
    has are not read again, so the log must not lose them."""

    sink: str
    """The name of its definition."""
    modules: Sequence[str] = ("headrace.spark.task", "headrace.converters.configured")
    """The modules that this process imports when it writes a small range; see `is_small`."""

    def __init__(self, config: ConnectorConfig, checkpoint: Path, *, sync: bool) -> None:
        super().__init__(config)
        self.checkpoint, self._sync = checkpoint, sync
        self._forced: OffsetObject | None = None

    def sink_kernels(self) -> Kernels:
        return find_sink(self.sink).kernels

    def following(self, start: OffsetObject, *, is_held: bool = True) -> OffsetObject:
        """See Ranges."""
        _load_compiled(self.modules)
        self._force_log(start)
        return super().following(start, is_held=is_held)

    def acknowledge(self, end: OffsetObject) -> None:
        """See Ranges."""
        self._force_log(end)
        super().acknowledge(end)

    def _force_log(self, finished: OffsetObject) -> None:
        if self._sync and finished != self._forced:
            force_log_to_disk(self.checkpoint)
            self._forced = finished

    def is_small(self, slices: Sequence[Slice]) -> bool:
        """Return whether the source process writes a range by itself
        (headrace.range.direct.max.bytes)."""
        sizes = [part.log_bytes for part in slices]
        known_sizes = [size for size in sizes if size is not None]
        limit = self.config.headrace_range_direct_max_bytes
        return len(known_sizes) == len(sizes) and sum(known_sizes) <= limit and limit > 0


@cache
def _load_compiled(modules: Sequence[str]) -> None:
    """Once, while the connector connects and waits for its place in the log."""

    def run() -> None:
        with collection_paused():
            from headrace.spark.kernels.compiled import load_compiled

            for module in modules:
                import_module(module)
            load_compiled()

    threading.Thread(target=run, name="headrace kernels", daemon=True).start()
