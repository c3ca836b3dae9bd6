"""The definition of the `console` sink in headrace's registry."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from headrace.spark.sinks.definition import (
    Delivery,
    EventStream,
    Sink,
    SinkDefinition,
    SinkQuery,
)

if TYPE_CHECKING:
    from pyspark.sql.streaming.readwriter import DataStreamWriter


class ConsoleDefinition(SinkDefinition):
    """Events on the terminal, as lines that people read."""

    name = "console"
    delivery = Delivery.AT_LEAST_ONCE
    needs_checkpoint = False
    shows_events = True
    has_live_line = True

    def make(self, query: SinkQuery) -> Sink:  # noqa: ARG002
        """See SinkDefinition."""
        return _Terminal()


class _Terminal(Sink):
    """The console sink of a query."""

    def __init__(self) -> None:
        from headrace.sinks.console.sink import ConsoleSink

        self._console = ConsoleSink()
        self._is_shown = False

    def writer(self, stream: EventStream) -> DataStreamWriter:
        """See Sink."""
        if not self._is_shown:
            self._is_shown = True
            self._console.__enter__()
        return stream.events().writeStream.foreachBatch(self._console.write)

    def on_progress(self, progress: Mapping[str, Any]) -> None:
        """See Sink."""
        self._console.progress(progress)

    def stop(self, finished: int) -> None:  # noqa: ARG002
        """See Sink."""
        self._console.__exit__()


DEFINITION = ConsoleDefinition()
