"""An ALTER TABLE while `headrace events` takes its initial snapshot with default settings.

    python -m tests.chaos.alter_during_snapshot --rows 1500000

For each moment after the snapshot's beginning (0.1 s, 0.5 s and 2 s) a fresh database gets a table
of so many rows and a run from the command line; the ALTER must return within
`snapshot.lock.timeout.ms` + 2 s, and the snapshot must hold every row. Prints figures; the exit
status is 1 when a moment fails.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import psycopg

from headrace.testing.embedded import PostgresServer

MOMENTS = (0.1, 0.5, 2.0)
LOCK_TIMEOUT_SECONDS = 10.0  # the default of snapshot.lock.timeout.ms
PATIENCE_SECONDS = 600.0
_LOCKS = """
SELECT a.application_name, l.mode, l.granted, a.state FROM pg_locks l
JOIN pg_stat_activity a USING (pid) WHERE l.relation = 'members'::regclass ORDER BY 1
"""


class Alteration:
    """`ALTER TABLE members RENAME COLUMN email TO mail` in a thread of its own."""

    def __init__(self, server: PostgresServer, database: str) -> None:
        self._connection = server.connect(database)
        self.seconds: float | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._begun = time.monotonic()
        self._thread.start()

    def _run(self) -> None:
        try:
            self._connection.execute("ALTER TABLE members RENAME COLUMN email TO mail")
        except psycopg.Error as error:
            print(f"  the ALTER failed: {error}", flush=True)
            return
        self.seconds = time.monotonic() - self._begun

    def returns(self, seconds: float) -> bool:
        """Whether it does within so long."""
        self._thread.join(seconds)
        return self.seconds is not None

    def end(self) -> None:
        """Cancels statements that still wait."""
        if self._thread.is_alive():
            self._connection.cancel_safe()
            self._thread.join()
        self._connection.close()


def main(arguments: list[str] | None = None) -> int:
    """The exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos.alter_during_snapshot")
    parser.add_argument("--rows", type=int, default=1_500_000)
    parser.add_argument("--moments", type=float, nargs="+", default=MOMENTS, metavar="SECONDS")
    parser.add_argument("--patience", type=float, default=PATIENCE_SECONDS, metavar="SECONDS")
    options = parser.parse_args(arguments)
    with PostgresServer() as server:
        passed = [
            _moment(server, number, moment, options.rows, options.patience)
            for number, moment in enumerate(options.moments)
        ]
    return 0 if all(passed) else 1


def _moment(server: PostgresServer, number: int, moment: float, rows: int, patience: float) -> bool:
    database = f"alter_{number}"
    server.create_database(database)
    server.execute(
        "CREATE TABLE members (id int PRIMARY KEY, email text, note text);"
        "INSERT INTO members SELECT i, i || '@example.org', repeat('x', 40)"
        f" FROM generate_series(1, {rows}) i",
        database=database,
    )
    server.execute("ANALYZE members", database=database)
    with tempfile.TemporaryDirectory() as folder:
        run = _start(server, database, Path(folder))
        try:
            return _watched(server, database, Path(folder), run, moment, rows, patience)
        finally:
            run.terminate()
            run.wait()
            server.drop_database(database)


def _start(server: PostgresServer, database: str, folder: Path) -> subprocess.Popen[bytes]:
    properties = {
        "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
        "topic.prefix": "chaos",
        "database.hostname": server.host,
        "database.port": str(server.port),
        "database.user": server.user,
        "database.password": "unused",
        "database.dbname": database,
        "plugin.name": "pgoutput",
        "slot.name": database,
        "table.include.list": "public.members",
        # As small as the file can be; it changes nothing that is looked at here.
        "key.converter.schemas.enable": "false",
        "value.converter.schemas.enable": "false",
    }
    (folder / "run.json").write_text(json.dumps(properties))
    command = [str(Path(sys.executable).with_name("headrace")), "events", "run.json"]
    command += ["--output", "events.jsonl", "--state", "state", "--idle-exit", "10"]
    with (folder / "log").open("wb") as log:
        return subprocess.Popen(
            command, cwd=folder, stdout=log, stderr=log, env=os.environ | {"PYTHONUNBUFFERED": "1"}
        )


def _watched(
    server: PostgresServer,
    database: str,
    folder: Path,
    run: subprocess.Popen[bytes],
    moment: float,
    rows: int,
    patience: float,
) -> bool:
    begins = (
        "SELECT count(*) FROM pg_stat_activity WHERE datname = %s"
        " AND application_name LIKE 'headrace snapshot ________' AND xact_start IS NOT NULL"
    )
    deadline = time.monotonic() + PATIENCE_SECONDS
    while server.execute(begins, (database,), database=database) == [(0,)]:
        if run.poll() is not None or time.monotonic() > deadline:
            print(f"at {moment:g} s: the snapshot never began\n{_tail(folder)}", flush=True)
            return False
        time.sleep(0.01)
    time.sleep(moment)
    alteration = Alteration(server, database)
    longest = min(LOCK_TIMEOUT_SECONDS + 20, patience)
    if not alteration.returns(longest):
        print(f"at {moment:g} s: the ALTER still waits after {longest:g} s; locks:", flush=True)
        for line in server.execute(_LOCKS, database=database):
            print("  ", *line, flush=True)
    alteration.end()
    try:
        status: int | None = run.wait(patience)
    except subprocess.TimeoutExpired:
        status = None
    read, mails = _read_rows(folder / "events.jsonl")
    waited = "for ever" if alteration.seconds is None else f"{alteration.seconds:.2f} s"
    in_time = (alteration.seconds or float("inf")) <= LOCK_TIMEOUT_SECONDS + 2
    whole = len(read) == rows == len(mails)
    print(
        f"at {moment:g} s: the ALTER waited {waited}, {len(read):,} of {rows:,} rows"
        f" ({sum(mails):,} under the new name), exit status {status}:"
        f" {'passed' if in_time and whole and status == 0 else 'FAILED'}",
        flush=True,
    )
    if status != 0 or not whole:
        print(_tail(folder), flush=True)
    return in_time and whole and status == 0


def _read_rows(events: Path) -> tuple[set[int], list[bool]]:
    """The keys of the rows, and of each whether it has the column's new name."""
    names: dict[int, bool] = {}
    if events.exists():
        with events.open() as lines:
            for line in lines:
                value = json.loads(line).get("value")
                value = json.loads(value) if isinstance(value, str) else value
                after = ((value or {}).get("payload", value) or {}).get("after")
                if after is not None and (after.get("mail") or after.get("email")):
                    names[int(after["id"])] = "mail" in after
    return set(names), list(names.values())


def _tail(folder: Path) -> str:
    return (folder / "log").read_text(errors="replace")[-3000:]


if __name__ == "__main__":
    sys.exit(main())
