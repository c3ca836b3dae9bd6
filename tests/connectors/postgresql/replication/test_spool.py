"""Log that the spool holds back, and log that it lets pass: filtered log, large rows, narrow
rows."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import numpy as np
import pytest

from headrace.spool import backpressure
from headrace.streaming.streaming import Streaming
from tests.connectors.postgresql.harness import Reader, properties_with, wait_for
from tests.servers.postgresql import Database

pytestmark = pytest.mark.postgres

GENEROUS = 240.0
"""Seconds after which something that should end is called hanging."""


TABLES = (
    "CREATE TABLE t (id int PRIMARY KEY, v text); CREATE TABLE other (id int, v text);"
    "CREATE TABLE documents (id int PRIMARY KEY, content bytea);"
    "CREATE TABLE narrow (id int PRIMARY KEY)"
)


properties = properties_with(
    {
        "table.include.list": "public\\.(t|documents|narrow)",
        "snapshot.mode": "no_data",
    }
)


def write_filtered(database: Database, megabytes: int, transactions: int = 1) -> None:
    """Writes so many bytes on the wire: the log keeps large texts compressed, the protocol does
    not."""
    rows = megabytes * 10 // transactions
    for _ in range(transactions):
        database.execute(
            f"INSERT INTO other SELECT i, repeat('x', 100000) FROM generate_series(1, {rows}) i"
        )


def streaming_of(reader: Reader) -> Streaming:
    streaming = reader.open()._stream  # type: ignore[attr-defined]
    assert isinstance(streaming, Streaming)
    return streaming


class Background:
    """A reader whose micro-batches run in a thread, because they may never end."""

    def __init__(self, reader: Reader, batches: int) -> None:
        self.reader = reader
        self.error: Exception | None = None
        self._batches = batches
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            for _ in range(self._batches):
                if not self.reader.step(0.5) and self.reader.bounded:
                    break
        except Exception as error:  # noqa: BLE001 - it is raised again
            self.error = error

    def ends(self, seconds: float = GENEROUS) -> bool:
        self._thread.join(seconds)
        if self.error is not None:
            raise self.error
        return not self._thread.is_alive()


@pytest.fixture
def bounded(tables: Database) -> Iterator[Reader]:
    """A bounded run that has its slot and was stopped."""
    reader = Reader(properties(tables), bounded=True)
    reader.step()
    reader.stop()
    yield reader
    reader.stop()


@pytest.mark.parametrize("transactions", [8, 1])
def test_a_bounded_run_ends_after_filtered_log_that_is_larger_than_the_spool(
    tables: Database, transactions: int
) -> None:
    small = {"headrace__range__max__bytes": "1MB", "headrace__spool__max__bytes": "1MB"}
    reader = Reader(properties(tables, **small), bounded=True)
    reader.step()
    reader.stop()
    tables.execute("INSERT INTO t VALUES (1, 'before')")
    write_filtered(tables, 160, transactions)
    tables.execute("INSERT INTO t VALUES (2, 'later')")
    run = Background(reader, 1000)
    assert run.ends(60)
    assert [event["after"]["id"] for event in reader.events()] == [1, 2]
    reader.stop()


def test_a_bounded_run_ends_when_a_row_and_more_log_than_the_spool_holds_share_a_transaction(
    tables: Database,
) -> None:
    small = {"headrace__range__max__bytes": "1MB", "headrace__spool__max__bytes": "1MB"}
    reader = Reader(properties(tables, **small), bounded=True)
    reader.step()
    reader.stop()
    with tables.connect() as connection, connection.transaction():
        connection.execute("INSERT INTO t VALUES (1, 'before')")
        connection.execute(
            "INSERT INTO other SELECT i, repeat('x', 100000) FROM generate_series(1, 1000) i"
        )
        connection.execute("INSERT INTO t VALUES (2, 'later')")
        connection.execute(
            "INSERT INTO other SELECT i, repeat('x', 100000) FROM generate_series(1, 1000) i"
        )
    run = Background(reader, 1000)
    assert run.ends(60)
    assert [event["after"]["id"] for event in reader.events()] == [1, 2]
    # The end of the transaction, which is in a segment without rows, was reached, too.
    assert "txn" not in reader.offsets[-1]
    reader.stop()


@pytest.mark.chaos
def test_a_bounded_run_ends_after_a_gigabyte_of_filtered_log(
    tables: Database, bounded: Reader
) -> None:
    write_filtered(tables, 1000)
    tables.execute("INSERT INTO t VALUES (1, 'later')")
    run = Background(bounded, 1000)
    assert run.ends()
    assert [event["after"]["id"] for event in bounded.events()] == [1]


def test_rows_of_two_hundred_megabytes_on_the_wire_pass_one_after_the_other(
    tables: Database,
) -> None:
    reader = Reader(properties(tables))
    reader.step()
    for number in (1, 2):
        tables.execute(
            "INSERT INTO documents VALUES (%s, convert_to(repeat('x', 104857600), 'UTF8'))",
            (number,),
        )
    tables.execute("INSERT INTO t VALUES (3, 'later')")
    keys_and_sizes: list[tuple[str, int]] = []

    def passed() -> bool:
        reader.step()
        keys_and_sizes.extend((r["key"], len(r["value"])) for r in reader.records)
        reader.records.clear()
        return len(keys_and_sizes) == 3

    wait_for(passed, GENEROUS)
    reader.stop()
    base64 = 4 * -(-104857600 // 3)
    assert [key for key, _ in keys_and_sizes] == ['{"id":1}', '{"id":2}', '{"id":3}']
    assert [base64 < size < base64 + 1000 for _, size in keys_and_sizes] == [True, True, False]


@pytest.mark.parametrize("sizes", [(1, 50), (1, 30, 30, 1), (1, 30, 1, 30)])
def test_a_row_that_is_larger_than_the_spool_passes(
    tables: Database, sizes: tuple[int, ...]
) -> None:
    """Sizes in MB on the wire; the spool holds 48 MB."""
    small = {"headrace__range__max__bytes": "1MB", "headrace__spool__max__bytes": "1MB"}
    reader = Reader(properties(tables, **small))
    reader.step()
    for number, size in enumerate(sizes):
        tables.execute(
            "INSERT INTO documents VALUES (%s, convert_to(repeat('x', %s), 'UTF8'))",
            (number, size << 19),
        )
    wait_for(lambda: reader.step() and len(reader.records) == len(sizes))
    reader.stop()
    assert [event["after"]["id"] for event in reader.events()] == list(range(len(sizes)))


def test_a_receiver_that_waits_for_the_sink_says_so(
    tables: Database, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(backpressure, "WARNING_SECONDS", 0.2)
    small = {"headrace__range__max__bytes": "1MB", "headrace__spool__max__bytes": "1MB"}
    reader = Reader(properties(tables, **small))
    reader.step()
    tables.execute("INSERT INTO t SELECT i, repeat('x', 100000) FROM generate_series(1, 1000) i")

    def warned() -> bool:
        reader.plan()  # and it is not delivered
        return any("headrace.spool.max.bytes" in record.message for record in caplog.records)

    wait_for(warned)
    reader.stop()


def test_limits_and_barriers_hold_after_segments_without_rows(tables: Database) -> None:
    reader = Reader(properties(tables, skipped__operations="none", headrace__range__max__rows="10"))
    reader.step()
    reader.plan()  # the stream is open
    tables.execute("INSERT INTO t SELECT i FROM generate_series(1, 200) i")
    tables.execute("TRUNCATE t")
    tables.execute("INSERT INTO t SELECT i FROM generate_series(1, 200) i")
    write_filtered(tables, 80)
    head = int(tables.execute("SELECT (pg_current_wal_lsn() - '0/0')::bigint")[0][0])
    receiver = streaming_of(reader).receiver
    wait_for(lambda: receiver.received.complete >= head)
    sizes, operations = [], []
    while reader.step():
        sizes.append(len(reader.records))
        operations.append({event["op"] for event in reader.events()})
        reader.records.clear()
    reader.stop()
    assert sum(sizes) == 401
    assert max(sizes) <= 10
    assert {"t"} in operations
    assert {"t", "c"} not in operations


def test_the_rows_of_a_range_are_limited_where_they_are_narrow(tables: Database) -> None:
    reader = Reader(properties(tables, headrace__range__max__bytes="1MB"))
    tables.execute("INSERT INTO narrow SELECT generate_series(1, 40000)")
    reader.step()
    tables.execute("DELETE FROM narrow")
    sizes = []
    while sum(sizes) < 80_000:
        if reader.step(5.0):
            sizes.append(len(reader.records))
            reader.records.clear()
    reader.stop()
    assert sum(sizes) == 80_000
    assert max(sizes) <= (1 << 20) // 64


@pytest.mark.chaos
def test_the_spool_counts_its_index(tables: Database) -> None:
    tables.execute("INSERT INTO narrow SELECT generate_series(1, 3000000)")
    reader = Reader(properties(tables, headrace__spool__max__bytes="256MB"))
    reader.step()
    reader.plan()
    tables.execute("DELETE FROM narrow")
    reader.plan(30.0)
    streaming = streaming_of(reader)
    wait_for(lambda: streaming.receiver.blocked)
    resident = sum(
        piece.segment.size
        + sum(table.nbytes for table in (piece.index.rows_now(), piece.index.ends_now()))
        for piece in streaming.spool.pieces
    )
    reader.stop()
    assert resident <= 256 << 20


def test_a_slice_knows_only_the_tables_of_its_own_rows(tables: Database) -> None:
    reader = Reader(properties(tables))
    reader.step()
    with tables.connect() as connection, connection.transaction():
        connection.execute(
            "INSERT INTO t SELECT i, repeat('x', 1000) FROM generate_series(1, 9000) i"
        )
        connection.execute("INSERT INTO narrow VALUES (1)")
    end = reader.plan(5.0)
    slices = reader.open().slices(reader.offsets[-1], end)
    known = sorted(len(part.relations) for part in slices)  # type: ignore[attr-defined]
    reader.stop()
    assert len(known) > 1
    assert known == [1] * (len(known) - 1) + [2]


def test_planned_rows_are_parted_by_slice(tables: Database) -> None:
    reader = Reader(properties(tables))
    reader.step()
    tables.execute("INSERT INTO t SELECT i, repeat('x', 1000) FROM generate_series(1, 9000) i")
    end = reader.plan(5.0)
    slices = reader.open().slices(reader.offsets[-1], end)
    assert len(slices) > 1
    spans = sorted((part.first, part.last) for part in slices)  # type: ignore[attr-defined]
    tables_of = [next(iter(part.read()))[0].table for part in slices]
    reader.stop()
    assert [last - first for first, last in spans] == [len(table) for table in tables_of]
    assert sum(len(table) for table in tables_of) == 9000
    for number, table in enumerate(tables_of):
        assert set((table.rows["hash"] % np.uint64(len(slices))).tolist()) == {number}
        assert bool(np.all(np.diff(table.rows["ordinal"]) > 0))
