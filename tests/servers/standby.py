"""A streaming replica of a running PostgreSQL server, on loopback."""

from __future__ import annotations

import contextlib
import os
import subprocess
import threading
import time
from collections.abc import Iterator

from headrace.testing.embedded import PostgresServer, _binaries, _nobody, _unprivileged


@contextlib.contextmanager
def standby_of(primary: PostgresServer) -> Iterator[PostgresServer]:
    """A hot standby that follows `primary`."""
    standby = PostgresServer(primary.version, {"hot_standby_feedback": "on"})
    standby.directory.chmod(0o755)
    standby.data.mkdir(mode=0o700)
    if os.geteuid() == 0:
        os.chown(standby.data, *_nobody())
    command = [_binaries(primary.version) / "pg_basebackup", "-D", standby.data, "-R"]
    command += ["-X", "stream", "-c", "fast", "-d", primary.dsn().replace(" dbname=postgres", "")]
    try:
        subprocess.run(command, check=True, capture_output=True, timeout=300, **_unprivileged())
        standby.start()
        yield standby
    finally:
        standby.close()


@contextlib.contextmanager
def running_transactions_logged(primary: PostgresServer) -> Iterator[None]:
    """A slot on a standby waits for the primary to log its running transactions, which an idle
    one does not."""
    ended = threading.Event()

    def log_snapshots() -> None:
        with primary.connect() as connection:
            while not ended.wait(0.2):
                connection.execute("SELECT pg_log_standby_snapshot()")

    thread = threading.Thread(target=log_snapshots)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def caught_up(primary: PostgresServer, standby: PostgresServer) -> None:
    """Wait until the standby shows what the primary has now."""
    (lsn,) = primary.execute("SELECT pg_current_wal_lsn()")[0]
    deadline = time.monotonic() + 120
    while not standby.execute("SELECT pg_last_wal_replay_lsn() >= %s", (lsn,))[0][0]:
        assert time.monotonic() < deadline, "the standby does not follow"
        time.sleep(0.05)
