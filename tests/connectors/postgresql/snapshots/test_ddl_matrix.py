"""Another session changes a table at every moment at which rows or descriptions are read: it never
waits for long, no row is lost, and whoever looks knows what is waited for."""

from __future__ import annotations

import itertools
import json
import logging
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import psycopg
import pytest

from headrace.connectors.states import Situation
from headrace.spark.task import read_slice
from tests.connectors.postgresql.harness import Reader, wait_for
from tests.servers.postgresql import Database

pytestmark = pytest.mark.postgres

TIMEOUT_SECONDS = 1.0
LOOK_UP = {
    "post.processors": "again",
    "again.type": "io.debezium.processors.reselect.ReselectColumnsPostProcessor",
}
_SAMPLE_SECONDS = 0.05
HOLD_SECONDS = 120.0
"""The longest time for which a transaction stays open until somebody reports that it blocks
others."""
TABLES = """
CREATE TABLE t (id int PRIMARY KEY, email varchar(60) NOT NULL, n int, spare int DEFAULT 3,
  note text);
ALTER TABLE t ALTER note SET STORAGE EXTERNAL;
CREATE INDEX t_email ON t (email);
INSERT INTO t SELECT i, i || '@example.org', i, i,
  CASE WHEN i <= 20 THEN repeat('note ' || i, 600) END FROM generate_series(1, {rows}) i;
CREATE TABLE other (id int PRIMARY KEY, v text);
INSERT INTO other SELECT i, 'other ' || i FROM generate_series(1, 300) i;
CREATE TABLE signals (id varchar(42) PRIMARY KEY, type varchar(32) NOT NULL, data varchar(2048));
"""


@dataclass(frozen=True)
class Ddl:
    """A statement; `holds`: it keeps readers away until its transaction ends. `alone`: it cannot
    run in a transaction. `renamed`: old names of columns by new ones. `added`: columns that rows
    which were read before lack."""

    sql: str
    holds: bool = True
    alone: bool = False
    renamed: tuple[tuple[str, str], ...] = ()
    added: tuple[str, ...] = ()


DDL = {
    "alter type with rewrite": Ddl("ALTER TABLE t ALTER n TYPE text USING n::text || 'literal'"),
    "alter type without rewrite": Ddl("ALTER TABLE t ALTER email TYPE varchar(90)"),
    "add column": Ddl("ALTER TABLE t ADD more text", added=("more",)),
    "add column with default": Ddl(
        "ALTER TABLE t ADD more text DEFAULT 'literal'", added=("more",)
    ),
    "add column with rewrite": Ddl(
        "ALTER TABLE t ADD more text DEFAULT md5(random()::text)", added=("more",)
    ),
    "rename column": Ddl("ALTER TABLE t RENAME email TO mail", renamed=(("mail", "email"),)),
    "drop column": Ddl("ALTER TABLE t DROP spare"),
    "set not null": Ddl("ALTER TABLE t ALTER n SET NOT NULL"),
    "truncate": Ddl("TRUNCATE t"),
    "drop table": Ddl("DROP TABLE t"),
    "vacuum full": Ddl("VACUUM FULL t", holds=False, alone=True),
    "cluster": Ddl("CLUSTER t USING t_email"),
    "create index": Ddl("CREATE INDEX t_n ON t (n)", holds=False),
    "reindex": Ddl("REINDEX TABLE t", holds=False),
}
MOMENTS = (
    "before the first chunk",
    "between chunks",
    "within a chunk",
    "look-up",
    "incremental chunk",
    "blocking snapshot",
    "catalogue read",
)
EVERY_RUN = {
    ("rename column", "between chunks", "none"),
    ("alter type with rewrite", "between chunks", "none"),
    ("truncate", "before the first chunk", "shared"),
    ("drop column", "within a chunk", "none"),
    ("alter type with rewrite", "incremental chunk", "none"),
    ("add column", "catalogue read", "none"),
}


class Blocking:
    """Measures how long sessions of ours keep the session `pid` waiting without a break, at most
    (`seconds`). The server is asked all the time, and what passes between two answers counts as
    `_SAMPLE_SECONDS` at most: where the machine has too much to do for this thread, it has for
    ours. `times`: how many answers said that one does."""

    def __init__(self, database: Database, pid: int) -> None:
        self.seconds, self.times = 0.0, 0
        self._pid = pid
        self._ended = threading.Event()
        self._connection = database.connect()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        query = (
            "SELECT 1 FROM unnest(pg_blocking_pids(%s)) b(pid) JOIN pg_stat_activity a"
            " ON a.pid = b.pid WHERE a.application_name LIKE 'headrace%%'"
        )
        present, last = 0.0, time.monotonic()
        while not self._ended.wait(_SAMPLE_SECONDS / 2):
            blocks = bool(self._connection.execute(query, (self._pid,)).fetchall())
            now = time.monotonic()
            present = present + min(now - last, _SAMPLE_SECONDS) if blocks else 0.0
            self.times += blocks
            self.seconds, last = max(self.seconds, present), now

    def end(self) -> None:
        """Ask no more."""
        self._ended.set()
        self._thread.join()
        self._connection.close()


class Application:
    """Runs a statement in a thread; `blocking` says for how long sessions of ours kept it waiting.
    Its transaction stays open until `is_reported` holds for its process id."""

    def __init__(self, database: Database, ddl: Ddl, is_reported: Callable[[int], bool]) -> None:
        self._is_reported = is_reported
        self._connection = database.connect()
        self._connection.execute("SET application_name = 'billing'")
        self._connection.execute("SET statement_timeout = '120s'")
        self.pid = self._connection.info.backend_pid
        self._database, self._ddl = database, ddl
        self.is_done = False
        self.error: psycopg.Error | None = None
        self.blocking = Blocking(database, self.pid)
        self._thread = threading.Thread(target=self._run)
        self._thread.start()
        wait_for(self._is_at_it)

    def _run(self) -> None:
        try:
            if not self._ddl.alone:
                self._connection.execute("BEGIN")
            self._connection.execute(self._ddl.sql.encode())
            self.is_done = True
            if not self._ddl.alone:
                latest = time.monotonic() + HOLD_SECONDS
                while not self._is_reported(self.pid) and time.monotonic() < latest:
                    time.sleep(0.05)
                self._connection.execute("COMMIT")
        except psycopg.Error as error:
            self.error = error

    def _is_at_it(self) -> bool:
        query = (
            "SELECT 1 FROM pg_locks WHERE pid = %s AND locktype = 'relation'"
            " AND mode IN ('ShareLock', 'AccessExclusiveLock')"
        )
        return not self._thread.is_alive() or bool(self._database.execute(query, (self.pid,)))

    def end(self) -> None:
        """Wait until the transaction is over."""
        self._thread.join(120)
        self.blocking.end()
        self._connection.close()
        assert self.error is None, self.error
        assert self.is_done


@dataclass
class Cell:
    """One moment with one statement."""

    database: Database
    ddl: Ddl
    reader: Reader
    is_reported: Callable[[int], bool]
    application: Application | None = None

    def alter(self) -> None:
        """The other session begins."""
        self.application = Application(self.database, self.ddl, self.is_reported)

    def signal(self, kind: str) -> None:
        """Ask for a snapshot of `t`."""
        data = json.dumps({"data-collections": ["public.t"], "type": kind})
        self.database.execute(
            "INSERT INTO signals VALUES (gen_random_uuid()::text, 'execute-snapshot', %s)", (data,)
        )

    def reads_t(self) -> bool:
        """Whether the last range had rows of `t`."""
        snapshot = self.reader.offsets[-1].get("snapshot") or {}
        return bool(snapshot.get("chunks"))


def _before_the_first_chunk(cell: Cell) -> None:
    cell.reader.step()
    cell.alter()


def _between_chunks(cell: Cell) -> None:
    cell.reader.step_until(cell.reads_t)
    cell.alter()


def _within_a_chunk(cell: Cell) -> None:
    reader = cell.reader
    reader.step()
    end = reader.plan()
    parts = [
        read_slice(part, reader.config) for part in reader.open().slices(reader.offsets[-1], end)
    ]
    rows: Iterator[Any] = itertools.chain.from_iterable(parts)
    first = next(rows)
    cell.alter()
    for batch in itertools.chain([first], rows):
        reader.records += [dict(record) for record in batch.to_pylist()]
    reader.offsets.append(end)


def _look_up(cell: Cell) -> None:
    reader = cell.reader.drain()
    cell.database.execute("UPDATE t SET n = n + 1 WHERE id <= 10")
    end = reader.plan(5)
    cell.alter()
    reader.records += reader.read(end)
    reader.offsets.append(end)


def _incremental_chunk(cell: Cell) -> None:
    cell.reader.drain()
    cell.signal("incremental")
    cell.reader.step_until(cell.reader.reads_chunks)
    cell.alter()


def _blocking_snapshot(cell: Cell) -> None:
    cell.reader.drain()
    cell.signal("blocking")
    cell.reader.step_until(cell.reads_t)
    cell.alter()


def _catalogue_read(cell: Cell) -> None:
    cell.reader.drain()
    query = "SELECT active_pid FROM pg_replication_slots WHERE slot_name = %s AND active"
    ((sender,),) = cell.database.execute(query, (cell.database.name,))
    # The log says that the table is another one, so the catalogue must be asked: not before the
    # other session has the table.
    os.kill(sender, signal.SIGSTOP)
    try:
        cell.database.execute("ALTER TABLE t ADD late int")
        cell.database.execute("UPDATE t SET spare = spare + 1 WHERE id <= 10")
        cell.alter()
    finally:
        os.kill(sender, signal.SIGCONT)


ACTIONS: dict[str, Callable[[Cell], None]] = dict(
    zip(
        MOMENTS,
        (
            _before_the_first_chunk,
            _between_chunks,
            _within_a_chunk,
            _look_up,
            _incremental_chunk,
            _blocking_snapshot,
            _catalogue_read,
        ),
        strict=True,
    )
)


def cells() -> list[Any]:
    every = itertools.product(DDL, MOMENTS, ("none", "shared"))
    return [
        pytest.param(
            *cell,
            id=", ".join(cell),
            marks=[] if cell in EVERY_RUN else [pytest.mark.chaos],
        )
        for cell in every
    ]


def properties(database: Database, moment: str, mode: str) -> dict[str, str]:
    chunk = "64MB" if moment == "within a chunk" else "20kB"
    return (
        database.properties()
        | {
            "table.include.list": "public.t,public.other",
            "signal.data.collection": "public.signals",
            "incremental.snapshot.chunk.size": "100",
            "headrace.snapshot.chunk.bytes": chunk,
            "headrace.slices": "1",
            "skipped.operations": "none",
            "snapshot.locking.mode": mode,
            "snapshot.lock.timeout.ms": str(int(TIMEOUT_SECONDS * 1000)),
            "retriable.restart.connector.wait.ms": "50",
        }
        | (LOOK_UP if moment == "look-up" else {})
    )


@pytest.mark.parametrize(("change", "moment", "mode"), cells())
def test_a_table_may_be_changed_at_any_moment(
    database: Database, change: str, moment: str, mode: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    ddl = DDL[change]
    rows = 45_000 if moment == "within a chunk" else 4_000
    database.execute(TABLES.format(rows=rows))
    database.execute("ANALYZE t")
    before = contents(database, "t")
    reader = Reader(properties(database, moment, mode))
    situations: list[Situation] = []
    reader.open().watch(situations.append)
    expected = ddl.holds and waits_for_it(moment, mode)

    def is_reported(pid: int) -> bool:
        """Whether the log says what is waited for, and the status, too."""
        message = f"waiting for a lock on public.t (held by {pid}, application billing)"
        texts = [s.waits for s in list(situations) if s.waits is not None]
        texts += [s.error.message for s in list(situations) if s.error is not None]
        assert not any("literal" in text for text in texts + caplog.messages)
        is_logged = any(message in text for text in list(caplog.messages))
        return is_logged and any(message in text for text in texts)

    cell = Cell(database, ddl, reader, lambda pid: not expected or is_reported(pid))
    try:
        ACTIONS[moment](cell)
        assert cell.application is not None
        application = cell.application
        reader.drain()
        application.end()
        after_the_change(database, change)
        reader.drain()
    finally:
        reader.stop()
        if cell.application is not None:
            cell.application.blocking.end()
    assert application.blocking.seconds <= TIMEOUT_SECONDS + 2
    # Locks of `shared` are in the way until they are given up.
    is_held_up = ddl.holds and mode == "shared" and not waits_for_it(moment, mode)
    assert not is_held_up or application.blocking.times
    assert_same(reader, database, change, before)
    assert not expected or is_reported(application.pid), caplog.messages


def waits_for_it(moment: str, mode: str) -> bool:
    """Whether a session of ours must wait for the other one. The locks of `shared` keep that one
    waiting while rows are read, and a chunk that is being read ends before it."""
    return moment not in ("within a chunk",) and not (
        mode == "shared" and moment in ("before the first chunk", "between chunks")
    )


def after_the_change(database: Database, change: str) -> None:
    if change == "drop table":
        return
    mail = "mail" if change == "rename column" else "email"
    n = "'7'" if change == "alter type with rewrite" else "7"
    database.execute(
        f"INSERT INTO t (id, {mail}, n) VALUES (99999, 'late@example.org', {n});"
        f"UPDATE t SET {mail} = 'new@example.org' WHERE id = 50; DELETE FROM t WHERE id = 60"
    )


def contents(database: Database, table: str) -> dict[int, dict[str, Any]]:
    rows = database.execute(f"SELECT to_json(x) FROM {table} x")
    return {row["id"]: row for (row,) in rows}


def folded(reader: Reader, table: str) -> dict[int, dict[str, Any]]:
    return {row["id"]: row for row in reader.fold(table).values()}


def assert_same(
    reader: Reader, database: Database, change: str, before: dict[int, dict[str, Any]]
) -> None:
    """Checks that the tables from the events are equal to the tables."""
    assert folded(reader, "other") == contents(database, "other")
    rebuilt = folded(reader, "t")
    if change == "drop table":
        assert all(row["email"] == before[key]["email"] for key, row in rebuilt.items())
        return
    ddl = DDL[change]
    present = contents(database, "t")
    assert rebuilt.keys() == present.keys()
    old_names = dict(ddl.renamed)
    for key, row in present.items():
        for name, value in row.items():
            rebuilt_row = rebuilt[key]
            if name not in rebuilt_row and old_names.get(name) in rebuilt_row:
                name = old_names[name]
            if name not in rebuilt_row:
                assert name in (*ddl.added, "late"), (key, name)
            elif isinstance(value, str) and value.endswith("literal") and name == "n":
                # Read before the change, which is no event of the row.
                assert str(rebuilt_row[name]) in (value, value.removesuffix("literal")), key
            elif name in ddl.added and rebuilt_row[name] is None:
                continue
            else:
                assert rebuilt_row[name] == value, (key, name)
