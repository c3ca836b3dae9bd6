from __future__ import annotations

import contextlib
import socket
import subprocess
import sys
import threading
import time
from types import SimpleNamespace
from typing import Any

import numpy as np

from headrace.connectors.postgresql.position import PostgresPosition
from headrace.connectors.postgresql.replication.pgoutput_reader import (
    PgoutputReader,
    PgoutputReaderOptions,
)
from headrace.connectors.postgresql.replication.stream import Stream
from headrace.spool.spool import Spool
from headrace.streaming.changes.id_table import IdTable
from headrace.streaming.changes.kernels import row_kernel
from headrace.streaming.changes.key_columns import KeyScratch
from headrace.streaming.log_reader import LogReader, Received
from headrace.streaming.receiver import Receiver
from tests.connectors.postgresql.harness import wait_for
from tests.connectors.postgresql.replication.pgoutput import begin, commit, insert
from tests.connectors.postgresql.replication.test_pgoutput import ROW_1


class Tables:
    """One captured table without key: relation 0, oid 0, two columns."""

    table = np.array([(1, 2, 77, 0, 0, 0)[: row_kernel.RELATION_WORDS]], np.int64)
    oids = IdTable()
    key_texts = KeyScratch()

    @property
    def tables(self) -> Tables:
        """The catalogue, which is asked nothing."""
        return self

    def close(self) -> None:
        pass


Tables.oids.put(0, 0)
START = PostgresPosition(50)
OPTIONS = PgoutputReaderOptions(0, skip_truncate=True, status_seconds=10)


class OnceStream:
    """A stream on which some bytes come, and then nothing more."""

    def __init__(self, raw: bytes) -> None:
        self.raw, self.closed = raw, False

    def wait(self, seconds: float) -> None:
        if not self.raw:
            time.sleep(min(seconds, 0.01))

    def read_into(self, target: memoryview) -> int:
        size = len(self.raw)
        target[:size] = self.raw
        self.raw = b""
        return size

    def wake(self) -> None:
        pass

    def send_status(self, written: int, flushed: int, *, reply: bool = False) -> None:
        pass

    def close(self) -> None:
        self.closed = True


def reader_of(stream: OnceStream) -> PgoutputReader:
    return PgoutputReader(lambda: stream, Tables(), START, OPTIONS)  # type: ignore[arg-type]


class LooksFirst(Receiver):
    """A receiver as another thread sees it after the compiled pass and before its rows are
    stored."""

    def __init__(self, reader: LogReader, spool: Spool) -> None:
        super().__init__(reader, spool, orphaned=lambda: False)
        self.seen: list[Received] = []

    def _publish(self, *published: Any) -> None:
        self.seen.append(self.received)
        super()._publish(*published)


def test_a_position_is_never_seen_before_the_rows_after_it() -> None:
    raw = begin(100) + insert(0, ROW_1, 60) + commit(100, 110) + begin(200) + insert(0, ROW_1, 120)
    spool = Spool(row_kernel.END, 64 << 20)
    receiver = LooksFirst(reader_of(OnceStream(raw)), spool)
    receiver.start()
    wait_for(lambda: receiver.received.transaction is not None)
    receiver.close()
    first, last = receiver.seen[0], receiver.received
    assert (first.complete, first.transaction, first.messages) == (50, None, 0)
    assert spool.pieces[0].index.row_count == 2
    assert (last.complete, last.transaction) == (110, 200)
    assert last.messages > 0
    assert last.reaches(PostgresPosition(110))
    assert last.reaches(PostgresPosition(110, txn=200, txn_index=last.messages - 1))
    assert not last.reaches(PostgresPosition(110, txn=200, txn_index=last.messages))
    assert START.after(last.end) == PostgresPosition(110, 110, last.end["commit_us"])
    spool.clear()


def test_a_receiver_without_driver_frees_the_slot_and_ends_alone() -> None:
    """The receiver runs in a process of its own, because it used to end the process."""
    program = (
        "from tests.connectors.postgresql.replication.test_receiver import orphaned_receiver;"
        "receiver, stream = orphaned_receiver();"
        "receiver.start(); receiver._thread.join(60);"
        "print(receiver.error.code, stream.closed, receiver.connected())"
    )
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert (run.returncode, run.stdout.strip()) == (0, "spark.driver_gone True False"), run.stderr


def orphaned_receiver() -> tuple[Receiver, OnceStream]:
    """A receiver whose driver is gone."""
    stream = OnceStream(b"")
    spool = Spool(row_kernel.END, 64 << 20)
    return Receiver(reader_of(stream), spool, orphaned=lambda: True), stream


class SilentStream(Stream):
    """A stream that never receives anything."""

    def read_into(self, _target: memoryview) -> int:
        return 0

    def _send(self, _payload: bytes) -> None:
        pass


def test_a_stream_that_waits_is_woken() -> None:
    connection: Any = SimpleNamespace(finish=lambda: None)
    ours, theirs = socket.socketpair()
    with ours, theirs, contextlib.closing(SilentStream(connection, ours.fileno())) as stream:
        for _ in range(2):
            waiting = threading.Thread(target=stream.wait, args=(3600,), daemon=True)
            waiting.start()
            stream.wake()
            waiting.join(60)
            assert not waiting.is_alive()
        begin = time.monotonic()
        stream.wait(0.05)
        assert time.monotonic() - begin > 0.04, "once woken, it waits no more"
    stream.wake()  # which is nothing, once it is closed
