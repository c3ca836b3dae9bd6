"""What readers share that write to a sink where the events are read."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from headrace.config.properties.connector import ConnectorConfig
from headrace.connect.slices import Slice
from headrace.spark.checkpoint import force_log_to_disk
from headrace.spark.source import HeadraceReader


class SinkReader(HeadraceReader):
    """Keeps Spark's log on the disk before anything is acknowledged, unless not `sync`: what a sink
    holds is not read again, so the log must not forget it."""

    def __init__(self, config: ConnectorConfig, checkpoint: Path, *, sync: bool) -> None:
        super().__init__(config)
        self.checkpoint, self._sync = checkpoint, sync
        self._forced: dict[str, Any] | None = None

    def latestOffset(self, start: dict[str, Any], limit: object = None) -> dict[str, Any]:
        _load_compiled()
        self._force_log(start)
        return super().latestOffset(start, limit)

    def commit(self, end: dict[str, Any]) -> None:
        self._force_log(end)
        super().commit(end)

    def _force_log(self, done: dict[str, Any]) -> None:
        if self._sync and done != self._forced:
            force_log_to_disk(self.checkpoint)
            self._forced = done

    def _is_small(self, slices: Sequence[Slice]) -> bool:
        """Whether the source process writes a range by itself (headrace.range.direct.max.bytes)."""
        sizes = [part.log_bytes for part in slices]
        known_sizes = [size for size in sizes if size is not None]
        limit = self.config.headrace_range_direct_max_bytes
        return len(known_sizes) == len(sizes) and sum(known_sizes) <= limit and limit > 0


@cache
def _load_compiled() -> None:
    """Once, while the connector connects and waits for its place in the log."""

    def run() -> None:
        import headrace.spark.task  # noqa: F401
        from headrace.spark.kernels.compiled import load_compiled

        load_compiled()

    threading.Thread(target=run, name="headrace kernels", daemon=True).start()
