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
from headrace.offsets.offset import OffsetObject, OffsetSummary
from headrace.signals.notifications import observe
from headrace.spark.kernels.beforehand import compile_beforehand
from headrace.spark.kernels.needed import Kernels, query_kernels
from headrace.spark.query.signals import SignalJournal
from headrace.spark.query.status import StatusFile, metrics_labels
from headrace.spark.query.status_files import parent_of
from headrace.spark.registration import SchemaRegistration
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
"""The longest time that one latestOffset waits for data; it returns at once when data is
available."""
DRIVER_WATCH_SECONDS = 0.25

_session: SourceSession | None = None


class SourceSession:
    """Spark's calls on one connector, in the order in which they come."""

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
        self._registration = SchemaRegistration(config, schema_ids)
        self._labels = metrics_labels(config)

    def withhold_start(self) -> None:
        """Keep the stream from acknowledging its start; only later positions are acknowledged."""
        from headrace.streaming.streaming import withhold_starts

        withhold_starts()

    def let_acknowledge(self) -> None:
        """Give the reader of the log time to send the last acknowledgement to the database: this
        process is about to be ended."""
        time.sleep(LONG_POLL.total_seconds())

    def bounded(self) -> None:
        """End at the present end of the log, for the trigger availableNow."""
        self._connector.bounded()

    def latest_offset(self, start: OffsetObject) -> OffsetObject:
        """Return the end of the next range. `start` is in Spark's commit log when Spark asks for
        its successor, so it is acknowledged here (Invariant 1)."""
        self._connector.acknowledge(start)
        return self.poll(start)

    def poll(self, start: OffsetObject) -> OffsetObject:
        """Return the end of the next range, without an acknowledgement."""
        return self._connector.poll(start, LONG_POLL)

    def report(self) -> OffsetObject:
        """Return the last reported head of the log, and the metrics, for Spark's progress."""
        metrics = {**self._connector.metrics(), "source": self._labels}
        return {**self._connector.latest(), "metrics": metrics}

    def write_report(self, *, is_over: bool) -> None:
        """Write `report` to the status file if Spark does not ask for it, and whether a bounded
        source has returned all."""
        self._status.write_report(self.report(), is_over=is_over)

    def slices(self, start: OffsetObject, end: OffsetObject) -> Sequence[Slice]:
        """Return the slices of a range."""
        return self._connector.slices(start, end)

    def summary(self, offset: OffsetObject) -> OffsetSummary:
        """See Connector."""
        return self._connector.summary(offset)

    def partitions(self, slices: Sequence[Slice]) -> Sequence[SlicePartition]:
        """Return slices as Spark sends them to tasks, with the ids of their schemas.

        Raises HeadraceError `registry.unreachable` if an id is needed and cannot be looked up.
        """
        return partitions_of(slices, self._message_mib, self._registration.ids_of)

    def commit(self, end: OffsetObject) -> None:
        """Acknowledge `end`, if latest_offset has not done it yet."""
        self._connector.acknowledge(end)

    def close(self) -> None:
        """Close the connector, and remove the files of this process."""
        self._connector.close()
        self._status.remove()
        self._journal.remove()


class Orphaned:
    """Returns whether the driver is gone: the JVM that started this process, or the Python driver
    that started the JVM."""

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
    """End this process when its driver is gone. It belongs to Spark and to one query, and would
    wait forever. The database releases its resources when the process's sockets are closed."""

    def watch() -> None:
        while not orphaned():
            time.sleep(DRIVER_WATCH_SECONDS)
        os._exit(1)

    thread = threading.Thread(target=watch, name="headrace-driver-watch", daemon=True)
    thread.start()
    return thread


def _is_inline(config: ConnectorConfig) -> bool:
    """Return whether slices carry their bytes: they do, unless tasks certainly run on this host."""
    transport = str(config.headrace_slice_transport)
    if transport != "auto":
        return transport == "inline"
    return not is_local(driver_command())


def session(
    config: ConnectorConfig, of_sink: Kernels | None = None, *, converts: bool = True
) -> SourceSession:
    """Return the session of this process, opened on first use. `of_sink` are the kernels of the
    sink that the query writes to from here and from its tasks; `converts` as in `query_kernels`."""
    global _session
    if _session is None:
        logging.basicConfig(
            level=logging.WARNING, format="%(levelname)s headrace: %(message)s", stream=sys.stderr
        )
        # messages that users request
        for name in ("headrace.signals", "headrace.notifications", "headrace.spark.kernels"):
            logging.getLogger(name).setLevel(logging.INFO)
        signal.signal(signal.SIGTERM, _terminated)
        end_with_driver(Orphaned())
        compile_beforehand(query_kernels(config, of_sink, converts=converts))
        _session = SourceSession(config)
    return _session


def stop() -> None:
    """Close the session, if it is open. For the main thread: SIGTERM does not interrupt it."""
    global _session
    if _session is not None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        ended, _session = _session, None
        ended.close()


def _terminated(_signal: int, _frame: FrameType | None) -> None:
    # Spark ends this process by SIGTERM, and twice; without a handler stop() is never called. It is
    # not called here: the interrupted code may hold a lock that closing needs. Spark's runner calls
    # it after this exception has left the interrupted call.
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    sys.exit(0)
