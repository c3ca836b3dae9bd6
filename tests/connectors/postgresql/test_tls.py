"""The stream over TLS, on a PostgreSQL of this machine that was built with it."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from headrace.errors import HeadraceError
from tests.connectors.postgresql.harness import Reader

pytestmark = pytest.mark.postgres


def _binaries() -> Path | None:
    if not shutil.which("pg_config") or not shutil.which("openssl"):
        return None
    printed = subprocess.run(["pg_config", "--bindir"], capture_output=True, text=True, check=False)
    folder = Path(printed.stdout.strip())
    return folder if (folder / "initdb").exists() else None


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    """A server that takes TLS connections only."""
    binaries = _binaries()
    if binaries is None:
        pytest.skip("no PostgreSQL with TLS on this machine (pg_config, openssl)")
    user = {"user": "nobody"} if os.geteuid() == 0 else {}
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "data"
        if user:
            shutil.chown(folder, "nobody")
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": folder, **user}
        subprocess.run(
            [binaries / "initdb", "-D", data, "-U", "postgres", "-A", "trust"], check=True, **quiet
        )
        subprocess.run(
            ["openssl", "req", "-new", "-x509", "-nodes", "-days", "2", "-subj", "/CN=localhost",
             "-keyout", data / "server.key", "-out", data / "server.crt"], check=True, **quiet,
        )  # fmt: skip
        (data / "server.key").chmod(0o600)
        (data / "pg_hba.conf").write_text(
            "hostssl all all all trust\nhostssl replication all all trust\n"
        )
        command = [binaries / "postgres", "-D", data, "-k", folder, "-c", "ssl=on"]
        command += ["-c", "wal_level=logical", "-c", "listen_addresses=127.0.0.1"]
        for _ in range(5):  # somebody else may take a port that was free
            port = _free_port()
            server = subprocess.Popen([*command, "-p", str(port)], **quiet)
            if _answers(server, port):
                break
        try:
            yield port
        finally:
            server.terminate()
            server.wait(120)


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def _answers(server: subprocess.Popen[bytes], port: int) -> bool:
    """Wait until the server answers (True) or has ended."""
    deadline = time.monotonic() + 120
    while server.poll() is None:
        try:
            _execute(port, "SELECT 1")
        except psycopg.OperationalError:
            assert time.monotonic() < deadline
            time.sleep(0.1)
        else:
            return True
    return False


def _execute(port: int, sql: str) -> None:
    dsn = f"host=127.0.0.1 port={port} user=postgres dbname=postgres sslmode=require"
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute(sql.encode())


def _properties(port: int, mode: str) -> dict[str, str]:
    return {
        "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
        "topic.prefix": "headrace",
        "database.hostname": "127.0.0.1",
        "database.port": str(port),
        "database.user": "postgres",
        "database.password": "x",
        "database.dbname": "postgres",
        "database.sslmode": mode,
    }


def test_snapshot_and_stream_pass_over_tls(port: int) -> None:
    _execute(port, "CREATE TABLE t (id int PRIMARY KEY, v text)")
    _execute(port, "INSERT INTO t SELECT i, repeat('x', 1000) FROM generate_series(1, 500) i")
    reader = Reader(_properties(port, "require"))
    reader.drain()
    _execute(port, "UPDATE t SET v = repeat('y', 2000)")
    _execute(port, "DELETE FROM t WHERE id <= 100")
    reader.drain()
    reader.stop()
    operations = [event["op"] for event in reader.events()]
    assert operations == ["r"] * 500 + ["u"] * 500 + ["d"] * 100
    rows = reader.fold("t")
    assert len(rows) == 400
    assert {row["v"] for row in rows.values()} == {"y" * 2000}


def test_a_server_that_insists_on_tls_is_reported(port: int) -> None:
    reader = Reader(_properties(port, "disable"))
    with pytest.raises(HeadraceError, match=r"postgresql\.not_allowed"):
        reader.open().validate(None)
    reader.stop()
