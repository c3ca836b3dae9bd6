"""Commits the micro-batches of `headrace_event_log`, and merges the files of finished folders."""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headrace.errors import HeadraceError
from headrace.findings import counted
from headrace.sinks.checkpoint import query_of
from headrace.sinks.event_log.exchange import can_exchange
from headrace.sinks.event_log.failures import writing
from headrace.sinks.event_log.log import EventLog
from headrace.sinks.event_log.merging import Merging
from headrace.sinks.event_log.options import EventLogOptions
from headrace.sinks.event_log.staged import of_table
from headrace.sinks.parts import expects_parts
from headrace.spark.query.source_options import CHECKPOINT, FOLDER
from headrace.spark.sinks.batches import BatchSink
from headrace.spark.sinks.definition import EventStream

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_LOG = logging.getLogger(__name__)
_PAUSE_MS = 600_000
"""The pause after a failed merge, in milliseconds."""


class EventLogSink(BatchSink):
    """A query's events in one log: a micro-batch may be repeated, but is added once."""

    def __init__(
        self, log: EventLog, options: EventLogOptions, merging: Merging, checkpoint: Path
    ) -> None:
        self._log, self._options, self._merging = log, options, merging
        self._checkpoint = checkpoint
        self._before = self._rows = 0
        self._merges = options.compaction.is_enabled
        self._merge_from_ms = 0
        self._held = contextlib.ExitStack()

    def open(self) -> None:
        """See Sink. Raises as EventLog.open and EventLog.owned."""
        self._before = self._rows = self._log.open().rows
        with writing():
            self._held.enter_context(self._log.owned())
            with self._log.merging_alone(waits=False) as is_alone:
                if is_alone:
                    self._merging.expire(_now_ms())
            if self._merges and not can_exchange(self._log.merging):
                _LOG.warning(
                    "%s: this file system cannot exchange two folders at once, so small files are "
                    "not merged; set headrace.sink.compact=false",
                    self._log.path,
                )
                self._merges = False

    def read(self, stream: EventStream) -> DataFrame:
        """See BatchSink: one row per file."""
        from headrace.sinks.event_log.source import EventLogSource

        folders = {FOLDER: str(self._log.folder), CHECKPOINT: str(self._checkpoint)}
        return stream.read(EventLogSource, folders)

    def end(self, frame: Any, batch: int) -> None:
        """Add the files of a micro-batch, unless the source process added them, as it does for
        small ones."""
        if expects_parts(self._log.staged, batch):
            files = of_table(self.rows_of(frame))
            self._log.commit(files, batch, query_of(str(self._checkpoint)))
        if self._merges:
            self._merge()

    def _merge(self) -> None:
        """Merge the files of at most one folder. A failure is logged and does not end the query."""
        now_ms = _now_ms()
        if now_ms < self._merge_from_ms:
            return
        try:
            merged = self._merging.merge_finished(now_ms)
        except HeadraceError as error:
            self._merge_from_ms = now_ms + _PAUSE_MS
            _LOG.warning("Small files of %s are not merged: %s", self._log.path, error)
            return
        if merged is not None and merged.files:
            _LOG.info(
                "%s: %s merged into %d", merged.folder, counted(merged.files, "file"), merged.made
            )

    def new_rows(self, _progress: Mapping[str, Any]) -> int:
        """See Sink."""
        before, self._rows = self._rows, self._log.state().rows
        return self._rows - before

    @property
    def rows(self) -> int:
        """See Sink."""
        return self._log.state().rows - self._before

    def close(self) -> None:
        """See Sink."""
        self._held.close()


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
