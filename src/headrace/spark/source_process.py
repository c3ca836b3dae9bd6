"""The connector that runs in Spark's source process for the life of a query."""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence
from datetime import timedelta
from types import FrameType

from headrace.config.properties.connector import ConnectorConfig
from headrace.connect.slices import Slice
from headrace.connectors.connector import Connector
from headrace.connectors.registry import open_connector
from headrace.offsets.offset import OffsetObject
from headrace.signals.notifications import observe
from headrace.spark.kernels.beforehand import compile_beforehand
from headrace.spark.kernels.needed import Kernels, query_kernels
from headrace.spark.query.signals import SignalJournal
from headrace.spark.query.status import StatusFile, metrics_labels
from headrace.spark.query.told import parent_of
from headrace.spark.registration import Registration
from headrace.spark.slice_partition import (
    SlicePartition,
    driver_command,
    is_local,
    message_limit,
    partitions_of,
)
from headrace.spark.starting.turns import first_parent
from headrace.spark.task import schema_ids

LONG_POLL = timedelta(milliseconds=900)
"""How long one latestOffset waits for data; it returns at once when there is some."""
DRIVER_WATCH_SECONDS = 0.25

_session: SourceSession | None = None


class SourceSession:
    """Spark's calls, in the order in which they come, on one connector."""

    def __init__(self, config: ConnectorConfig) -> None:
        self._connector: Connector = open_connector(
            config,
            cores=os.cpu_count() or 1,
            inline=_is_inline(config),
            orphaned=Orphaned(),
        )
        self._message_mib = message_limit(driver_command(), os.environ)
        self._status = StatusFile(config)
        self._connector.watch(self._status.write)
        self._journal = SignalJournal(config)
        observe(self._journal.write)
        self._registration = Registration(config, schema_ids)
        self._labels = metrics_labels(config)

    def withhold_start(self) -> None:
        """The start of the stream is not acknowledged, until something is that follows it."""
        from headrace.streaming.streaming import withhold_starts

        withhold_starts()

    def let_tell(self) -> None:
        """Give the reader of the log the time to tell the database what was acknowledged last:
        this process is about to be ended."""
        time.sleep(LONG_POLL.total_seconds())

    def bounded(self) -> None:
        """Trigger availableNow."""
        self._connector.bounded()

    def latest_offset(self, start: OffsetObject) -> OffsetObject:
        """`start` is in Spark's commit log when Spark asks for what follows it, so it can be
        acknowledged here already (Invariant 1)."""
        self._connector.acknowledge(start)
        return self.poll(start)

    def poll(self, start: OffsetObject) -> OffsetObject:
        """As `latest_offset`, and nothing is acknowledged."""
        return self._connector.poll(start, LONG_POLL)

    def report(self) -> OffsetObject:
        """The head of the log as last heard, and the metrics: Spark's progress carries both."""
        metrics = {**self._connector.metrics(), "source": self._labels}
        return {**self._connector.latest(), "metrics": metrics}

    def tell(self, *, is_over: bool) -> None:
        """Tell `report` where Spark does not ask for it, and whether a bounded source has given
        all."""
        self._status.tell(self.report(), is_over=is_over)

    def slices(self, start: OffsetObject, end: OffsetObject) -> Sequence[Slice]:
        """The slices of a range."""
        return self._connector.slices(start, end)

    def is_settled(self, offset: OffsetObject) -> bool:
        """See Connector."""
        return self._connector.is_settled(offset)

    def partitions(self, slices: Sequence[Slice]) -> Sequence[SlicePartition]:
        """Slices as Spark sends them to tasks, with the ids of their schemas.

        Raises HeadraceError `registry.unreachable` when one is needed and not to be had.
        """
        return partitions_of(slices, self._message_mib, self._registration.ids_of)

    def commit(self, end: OffsetObject) -> None:
        """The fallback acknowledgement."""
        self._connector.acknowledge(end)

    def close(self) -> None:
        """Close the connector."""
        self._connector.close()
        self._status.remove()
        self._journal.remove()


class Orphaned:
    """Whether the driver is gone: the JVM above this process, or the Python driver above a JVM
    that a Python driver started."""

    def __init__(self) -> None:
        self._parent = first_parent()
        self._driver = None
        if "_PYSPARK_DRIVER_CONN_INFO_PATH" in os.environ:
            self._driver = parent_of(self._parent)

    def __call__(self) -> bool:
        if os.getppid() != self._parent:
            return True
        return self._driver is not None and parent_of(self._parent) != self._driver


def end_with_driver(orphaned: Callable[[], bool]) -> threading.Thread:
    """End this process when its driver is gone. It is Spark's, made for one query; whatever it
    waits for then would never come. The database frees its place with the process's sockets."""

    def watch() -> None:
        while not orphaned():
            time.sleep(DRIVER_WATCH_SECONDS)
        os._exit(1)

    thread = threading.Thread(target=watch, name="headrace-driver-watch", daemon=True)
    thread.start()
    return thread


def _is_inline(config: ConnectorConfig) -> bool:
    """Slices carry their bytes unless tasks certainly run on this host."""
    transport = str(config.headrace_slice_transport)
    if transport != "auto":
        return transport == "inline"
    return not is_local(driver_command())


def session(
    config: ConnectorConfig, of_sink: Kernels | None = None, *, converts: bool = True
) -> SourceSession:
    """The session of this process, opened on first use. `of_sink` are the kernels of the sink that
    the query writes to from here and from its tasks; `converts` as in `query_kernels`."""
    global _session
    if _session is None:
        logging.basicConfig(
            level=logging.WARNING, format="%(levelname)s headrace: %(message)s", stream=sys.stderr
        )
        # What a user asked to be told.
        for name in ("headrace.signals", "headrace.notifications", "headrace.spark.kernels"):
            logging.getLogger(name).setLevel(logging.INFO)
        signal.signal(signal.SIGTERM, _terminated)
        end_with_driver(Orphaned())
        compile_beforehand(query_kernels(config, of_sink, converts=converts))
        _session = SourceSession(config)
    return _session


def stop() -> None:
    """Close the session, if there is one. For the main thread: SIGTERM does not cut it short."""
    global _session
    if _session is not None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        ended, _session = _session, None
        ended.close()


def _terminated(_signal: int, _frame: FrameType | None) -> None:
    # Spark ends this process by SIGTERM, and twice; without a handler stop() is never called. It is
    # not called here: whatever was interrupted may hold a lock that closing needs. Spark's runner
    # calls it when this exception has left the interrupted call.
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    sys.exit(0)
