from __future__ import annotations

import subprocess
import sys
import time
from typing import NoReturn

import numpy as np

from headrace.connectors.postgresql.key_columns import KeyScratch
from headrace.connectors.postgresql.position import PostgresOffset, PostgresPosition
from headrace.connectors.postgresql.replication import pgoutput as decoder
from headrace.connectors.postgresql.replication.receiver import Receiver
from headrace.spool.spool import Spool
from tests.connectors.postgresql.replication.pgoutput import begin, commit, insert
from tests.connectors.postgresql.replication.test_pgoutput import ROW_1


class Tables:
    """One captured table without key: relation 0, oid 0, two columns."""

    table = np.array([(1, 2, 77, 0, 0, 0)[: decoder.RELATION_WORDS]], np.int64)
    oids = np.array([0, 0, -1, -1], np.int64)
    key_texts = KeyScratch()


def no_stream() -> NoReturn:
    raise AssertionError


def test_a_position_is_never_seen_before_the_rows_behind_it() -> None:
    start = PostgresOffset("headrace", PostgresPosition(50), 1)
    spool = Spool(decoder.END, 64 << 20)
    receiver = Receiver(
        no_stream,
        spool,
        Tables(),  # type: ignore[arg-type]
        start,
        options=0,
        skip_truncate=True,
        status_seconds=10,
        acknowledged=50,
        orphaned=lambda: False,
    )
    raw = begin(100) + insert(0, ROW_1, 60) + commit(100, 110) + begin(200) + insert(0, ROW_1, 120)
    target = receiver._room()
    assert target is not None
    target[: len(raw)] = raw
    piece = spool.pieces[0]
    piece.written = len(raw)
    seen = []
    publish = receiver._publish

    def looks_first(piece: object) -> None:
        # What another thread sees while the compiled pass is done and its rows are not there yet.
        seen.append((receiver.complete(), receiver.is_open(), receiver.in_transaction(200)))
        publish(piece)  # type: ignore[arg-type]

    receiver._publish = looks_first  # type: ignore[method-assign]
    receiver._index()
    assert seen == [(50, False, 0)]
    assert piece.index.row_count == 2
    assert (receiver.complete(), receiver.is_open()) == (110, True)
    assert receiver.in_transaction(200) > 0
    assert receiver.after_complete(start).position.lsn_commit == 110
    spool.clear()


class SilentStream:
    """A stream on which nothing comes."""

    def __init__(self) -> None:
        self.closed = False

    def wait(self, seconds: float) -> None:
        time.sleep(min(seconds, 0.01))

    def read_into(self, target: memoryview) -> int:
        return 0

    def send_status(self, written: int, flushed: int, *, reply: bool = False) -> None:
        pass

    def close(self) -> None:
        self.closed = True


def test_a_receiver_without_driver_frees_the_slot_and_ends_alone() -> None:
    """In a process of its own, because it used to end the process."""
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


def orphaned_receiver() -> tuple[Receiver, SilentStream]:
    """Whose driver is gone."""
    stream = SilentStream()
    receiver = Receiver(
        lambda: stream,
        Spool(decoder.END, 64 << 20),
        Tables(),  # type: ignore[arg-type]
        PostgresOffset("headrace", PostgresPosition(50), 1),
        options=0,
        skip_truncate=True,
        status_seconds=10,
        acknowledged=50,
        orphaned=lambda: True,
    )
    return receiver, stream
