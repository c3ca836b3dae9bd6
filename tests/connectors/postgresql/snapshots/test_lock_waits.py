"""Each state of a run shows the lock that the run waits for, and never another run's."""

from __future__ import annotations

import os
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from headrace.connectors.states import Situation
from tests.connectors.postgresql.harness import Reader, properties_with, wait_for
from tests.servers.postgresql import Database

pytestmark = pytest.mark.postgres

TABLES = """
CREATE TABLE t (id int PRIMARY KEY, v text DEFAULT 'literal'); INSERT INTO t VALUES (1, 'literal');
CREATE TABLE other (id int PRIMARY KEY, v text DEFAULT 'literal');
CREATE TABLE beats (id int PRIMARY KEY, n int); INSERT INTO beats VALUES (1, 0);
CREATE TABLE signals (id varchar(42) PRIMARY KEY, type varchar(32) NOT NULL, data varchar(2048))
"""
SIGNAL = (
    "INSERT INTO signals VALUES ('1', 'execute-snapshot', '{\"data-collections\": [\"public.t\"]}')"
)
LOCK = "LOCK TABLE {} IN ACCESS EXCLUSIVE MODE"


properties = properties_with(
    {
        "table.include.list": "public.t",
        "snapshot.mode": "no_data",
        "signal.data.collection": "public.signals",
    }
)


class Watched:
    """A run whose micro-batches go on in a thread."""

    def __init__(self, reader_properties: dict[str, str]) -> None:
        self.reader = Reader(reader_properties)
        self.situations: list[Situation] = []
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None

    def drain(self) -> None:
        """Read the log to its end."""
        self.reader.open().watch(self.situations.append)
        self.reader.drain()

    def run(self) -> None:
        """Micro-batches from now on."""
        if self.reader.connector is None:
            self.reader.open().watch(self.situations.append)
        ended = self._ended
        self._thread = threading.Thread(
            target=lambda: self.reader.step_until(ended.is_set), daemon=True
        )
        self._thread.start()

    @property
    def waits(self) -> list[str]:
        """The locks that were waited for so far."""
        return [s.waits for s in list(self.situations) if s.waits is not None]

    def stop(self) -> None:
        self._ended.set()
        if self._thread is not None:
            self._thread.join(60)
        self.reader.stop()


@contextmanager
def held(database: Database, statement: str) -> Iterator[int]:
    """Another session whose transaction ran the statement; its process id."""
    with database.connect() as connection:
        connection.execute("SET application_name = 'billing'")
        connection.execute(f"BEGIN; {statement}".encode())
        yield connection.info.backend_pid
        connection.execute("ROLLBACK")


@pytest.mark.parametrize(
    ("before", "lock", "table", "more"),
    [
        ("", LOCK.format("t"), "t", {}),
        (SIGNAL, LOCK.format("signals"), "signals", {}),
        (SIGNAL, "REINDEX INDEX t_pkey", "t", {}),
        (
            "",
            "UPDATE beats SET n = 1",
            "beats",
            {
                "heartbeat.interval.ms": "50",
                "heartbeat.action.query": "UPDATE beats SET n = 4711",
            },
        ),
        ("", LOCK.format("t"), "t", {"driver.application_name": "a name of the user's, " * 9}),
    ],
    ids=["start", "watermark", "index", "heartbeat", "another name"],
)
def test_a_wait_is_reported_in_every_state(
    tables: Database,
    before: str,
    lock: str,
    table: str,
    more: dict[str, str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    run = Watched(properties(tables) | more)
    run.drain()
    if before:
        tables.execute(before)
    else:
        run.reader.restart()
    with held(tables, lock) as pid:
        run.run()
        message = f"waiting for a lock on public.{table} (held by {pid}, application billing)"
        wait_for(lambda: message in run.waits)
        assert message in caplog.messages
    wait_for(lambda: run.situations[-1].waits is None)
    run.stop()
    assert set(run.waits) == {message}
    assert "literal" not in caplog.text
    assert "4711" not in caplog.text


@pytest.mark.parametrize("name", [None, "billing"])
def test_what_another_run_waits_for_is_not_reported(tables: Database, name: str | None) -> None:
    more = {} if name is None else {"driver.application_name": name}
    ours = Watched(properties(tables) | more)
    theirs = Watched(
        properties(tables, slot__name=f"{tables.name}_2", publication__name=f"{tables.name}_2")
        | {"table.include.list": "public.other", "signal.data.collection": ""}
        | more
    )
    ours.drain()
    theirs.drain()
    theirs.reader.restart()
    with held(tables, LOCK.format("other")):
        theirs.run()
        ours.run()
        wait_for(lambda: theirs.waits)
        # Ours looked since then.
        ((moment,),) = tables.execute("SELECT clock_timestamp()")
        mark = ours.reader.open()._source._config.mark  # type: ignore[attr-defined]
        looks = (
            "SELECT 1 FROM pg_stat_activity WHERE query LIKE %s AND query_start > %s"
            " AND application_name LIKE %s"
        )
        values = ("%wait_event_type = 'Lock'%", moment, f"%{mark}")
        wait_for(lambda: tables.execute(looks, values))
    wait_for(lambda: theirs.situations[-1].waits is None)
    ours.stop()
    theirs.stop()
    tables.drop_slot(f"{tables.name}_2")
    assert theirs.waits
    assert ours.waits == []


@pytest.fixture
def role(tables: Database) -> Iterator[str]:
    """One that may read and replicate, and nothing else."""
    name = f"cdc_{os.getpid()}_{uuid.uuid4().hex[:6]}"
    tables.execute(
        f"CREATE ROLE {name} LOGIN REPLICATION; GRANT SELECT ON ALL TABLES IN SCHEMA public TO"
        f" {name}; CREATE PUBLICATION {tables.name} FOR TABLE t, signals"
    )
    yield name
    tables.execute(f"DROP OWNED BY {name}; DROP ROLE {name}")


def test_a_plain_role_knows_who_waits_for_whom(tables: Database, role: str) -> None:
    tables.execute("INSERT INTO t SELECT i, 'row ' || i FROM generate_series(2, 3000) i; ANALYZE t")
    run = Watched(
        properties(tables)
        | {
            "database.user": role,
            "publication.autocreate.mode": "disabled",
            "snapshot.mode": "initial",
            "snapshot.locking.mode": "shared",
            "snapshot.lock.timeout.ms": "1000",
            "headrace.snapshot.chunk.bytes": "20kB",
        }
    )
    run.reader.open().watch(run.situations.append)
    run.reader.step_until(lambda: run.reader.offsets[-1].get("snapshot", {}).get("chunks"))
    # The snapshot's locks are given up to it, and then it is waited for.
    with held(tables, "ALTER TABLE t ADD more text") as pid:
        run.run()
        message = f"waiting for a lock on public.t (held by {pid}, application billing)"
        wait_for(lambda: message in run.waits)
    wait_for(lambda: len(run.reader.records) >= 3000)
    run.stop()
