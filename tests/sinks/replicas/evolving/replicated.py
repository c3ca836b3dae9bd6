"""A PostgreSQL whose tables `headrace run` replicates, and readers of the replicas that are not
headrace."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
import zlib
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg
from psycopg.rows import dict_row
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.exceptions import NoSuchTableError

from headrace.testing.embedded import PostgresServer
from tests.chaos.run import newest_of, processes_of
from tests.sinks.lake.readers import rows_by_duckdb

LEFT_ALONE_S = 1200
Rows = list[dict[str, Any]]
_COLUMNS = """
SELECT string_agg(quote_ident(attname), ', ') FROM pg_attribute
WHERE attrelid = to_regclass('public.' || quote_ident(%s))
  AND attnum > 0 AND NOT attisdropped AND attgenerated = ''
"""


class Replicated:
    """One state folder and one lake, in a folder of the test."""

    def __init__(
        self, server: PostgresServer, kind: str, folder: Path, database: str, **more: str
    ) -> None:
        """`kind` is iceberg or delta; `more` are properties, with `_` for `.`."""
        self.server, self.kind, self.folder, self.database = server, kind, folder, database
        self.lake, self.state, self.log = folder / "lake", folder / "state", folder / "log"
        self.signals = folder / "signals"
        self.file = folder / "replica.properties"
        self.left_alone_s = LEFT_ALONE_S
        """Nobody ends the command when the tests are killed themselves."""
        self.process: subprocess.Popen[bytes] | None = None
        self._sessions: list[int] = []
        place = "warehouse" if kind == "iceberg" else "path"
        lines = {
            "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
            "topic.prefix": "shop",
            "database.hostname": server.host,
            "database.port": str(server.port),
            "database.user": server.user,
            "database.password": "x",
            "database.dbname": database,
            "slot.name": database,
            "publication.name": database,
            "schema.include.list": "public",
            "signal.enabled.channels": "file",
            "signal.file": str(self.signals),
            "signal.poll.interval.ms": "200",
            "include.schema.comments": "true",
            "incremental.snapshot.chunk.size": "128",
            "headrace.sink.type": kind,
            "headrace.sink.mode": "replica",
            f"headrace.sink.{place}": str(self.lake),
            "retriable.restart.connector.wait.ms": "500",
            **{name.replace("_", "."): text for name, text in more.items()},
        }
        self.set(lines)

    def set(self, lines: dict[str, str]) -> None:
        """Write the configuration."""
        self.lines = lines
        self.file.write_text("".join(f"{name}={text}\n" for name, text in lines.items()))

    # -- the source ------------------------------------------------------------------------------

    def execute(self, sql: str) -> None:
        """Statements at the source, a transaction each when there are several."""
        self.server.execute(sql, database=self.database)

    def source(self, table: str) -> Rows:
        """The rows of a table at the source, by the text of each, without generated columns, which
        the log does not carry."""
        (names,) = self.server.execute(_COLUMNS, (table,), database=self.database)[0]
        with (
            self.server.connect(self.database) as connection,
            connection.cursor(row_factory=dict_row) as cursor,
        ):
            cursor.execute(f'SELECT {names} FROM public."{table}"'.encode())
            return _ordered(cursor.fetchall())

    def head(self) -> int:
        """The end of the log, of which something is to be read."""
        self.execute("SELECT pg_logical_emit_message(true, 'end', '')")
        rows = self.server.execute("SELECT (pg_current_wal_flush_lsn() - '0/0')::bigint")
        self.execute("SELECT pg_logical_emit_message(true, 'end', '')")
        return int(rows[0][0])

    # -- the replica -----------------------------------------------------------------------------

    def replica(self, table: str) -> Rows | None:
        """The rows of a replica by a reader that is not headrace's; None: there is no such."""
        read = self._of_iceberg if self.kind == "iceberg" else self._of_delta
        rows = read(table)
        return None if rows is None else _ordered(rows)

    def _of_iceberg(self, table: str) -> Rows | None:
        if not self.lake.exists():
            return None
        catalog = SqlCatalog(
            "headrace", uri=f"sqlite:///{self.lake}/catalog.db", warehouse=str(self.lake)
        )
        try:
            return catalog.load_table(f"public.{table}").scan().to_arrow().to_pylist()
        except NoSuchTableError:
            return None
        finally:
            catalog.close()

    def _of_delta(self, table: str) -> Rows | None:
        path = self.lake / "public" / table
        if not (path / "_delta_log").exists():
            return None
        return rows_by_duckdb(path)

    def difference(self, table: str) -> str:
        """The difference; empty: the replica equals the source, names of columns and rows."""
        source, replica = self.source(table), self.replica(table)
        if replica is None:
            return f"{table}: there is no replica"
        if source == replica:
            return ""
        lacking = [row for row in source if row not in replica]
        surplus = [row for row in replica if row not in source]
        return (
            f"{table}: {len(source)} rows at the source, {len(replica)} in the replica; "
            f"{len(lacking)} not there, as {lacking[:2]}; {len(surplus)} not at the source, as "
            f"{surplus[:2]}"
        )

    def stopped(self) -> dict[str, dict[str, str]]:
        """The errors of tables that are stopped, by the tables' names."""
        errors_by_table = {}
        for path in (self.state / self.kind / "stopped").glob("*/error.json"):
            with contextlib.suppress(FileNotFoundError):
                known = json.loads(path.read_text())
                errors_by_table[known["name"]] = known
        return errors_by_table

    # -- the command -----------------------------------------------------------------------------

    @property
    def alive(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def start(self) -> None:
        """`headrace run`, until it is ended."""
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "headrace.cli", "run", str(self.file),
                 "--checkpoint", str(self.state), "--seconds", str(self.left_alone_s)],
                env=self._environment(),
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
            )  # fmt: skip
        self._sessions.append(self.process.pid)

    def _environment(self) -> dict[str, str]:
        """The outcome of a signal is in the folder of temporary files."""
        temporary = self.folder / "tmp"
        temporary.mkdir(exist_ok=True)
        folders = {"TMPDIR": str(temporary), "SPARK_LOCAL_DIRS": str(temporary)}
        return {**os.environ, **folders}

    def kill(self) -> None:
        """SIGKILL to the command and all that it started."""
        assert self.process is not None
        for process in processes_of(self.process.pid):
            with contextlib.suppress(Exception):
                process.kill()
        self.process.wait()

    def end(self) -> int:
        """SIGTERM; gives the exit status."""
        assert self.process is not None
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(300)

    def close(self) -> None:
        """Leave nothing running."""
        for session in self._sessions:
            for process in processes_of(session):
                with contextlib.suppress(Exception):
                    process.kill()
        if self.process is not None:
            self.process.wait()

    def resync(self, table: str, *words: str) -> subprocess.CompletedProcess[str]:
        """`headrace resync` of a table."""
        return self._do("resync", f"public.{table}", *words)

    def maintain(self) -> subprocess.CompletedProcess[str]:
        """`headrace maintain` of all tables."""
        return self._do("maintain")

    def _do(self, verb: str, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "headrace.cli", verb, str(self.file), *words,
             "--checkpoint", str(self.state)],
            env=self._environment(), capture_output=True, text=True, timeout=600, check=False,
        )  # fmt: skip

    def said(self) -> str:
        """The end of what it said."""
        return self.log.read_text(errors="replace")[-4000:] if self.log.exists() else ""

    def requests(self) -> list[str]:
        """Names of the tables that are being copied again."""
        return [path.stem for path in (self.state / self.kind / "resync").rglob("*.json")]

    def catch_up(self, seconds: float = 300) -> None:
        """Waits until what is committed now is in the lake, or kept beside it."""
        head = self.head()
        self.await_(lambda: self._has_reached(head), "it never caught up", seconds)

    def await_(self, condition: Any, description: str, seconds: float = 300) -> None:
        """Waits until `condition()` holds."""
        deadline = time.monotonic() + seconds
        while not condition():
            assert self.alive, f"it ended: {self.said()}"
            assert time.monotonic() < deadline, f"{description}: {self.said()}"
            time.sleep(0.1)

    def _has_reached(self, head: int) -> bool:
        checkpoint = self.state / "checkpoint"
        with contextlib.suppress(OSError, ValueError):
            newest = newest_of(checkpoint / "commits")
            text = (checkpoint / "offsets" / str(newest)).read_text()
            offset = json.loads(text.splitlines()[-1])
            return "snapshot" not in offset and int(offset.get("lsn_commit", 0)) >= head
        return False


def _ordered(rows: Rows) -> Rows:
    plain = [{name: _plain(row[name]) for name in sorted(row)} for row in rows]
    return sorted(plain, key=repr)


def _plain(value: Any) -> Any:
    """A value as the source and the replica give it alike."""
    if isinstance(value, str) and len(value) > 100:
        return f"{len(value)} characters {zlib.crc32(value.encode())}"
    if isinstance(value, dict):
        return json.dumps(value)
    if isinstance(value, UUID):
        return str(value)
    if isinstance(value, Decimal):
        return value.normalize()
    if isinstance(value, memoryview):
        return bytes(value)
    if hasattr(value, "astimezone") and getattr(value, "tzinfo", None) is not None:
        return value.timestamp()
    return value


@contextlib.contextmanager
def replicated(
    server: PostgresServer, kind: str, folder: Path, database: str, **more: str
) -> Iterator[Replicated]:
    """See Replicated; nothing is left running."""
    server.execute(f'CREATE DATABASE "{database}"')
    replica_run = Replicated(server, kind, folder, database, **more)
    try:
        yield replica_run
    finally:
        replica_run.close()
        with contextlib.suppress(psycopg.Error):
            server.drop_database(database)
