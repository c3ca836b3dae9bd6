from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from headrace.errors import HeadraceError
from headrace.testing import embedded
from headrace.testing.embedded import PostgresServer
from tests.servers.postgresql import Database

pytestmark = pytest.mark.postgres


@pytest.mark.parametrize("postgres", [16, 18], indirect=True)
def test_the_server_decodes_logically(postgres: PostgresServer, database: Database) -> None:
    assert database.execute("SHOW wal_level") == [("logical",)]
    assert database.execute("SHOW server_version_num")[0][0].startswith(str(postgres.version))
    database.execute("SELECT pg_create_logical_replication_slot('s', 'pgoutput')")


@pytest.fixture
def reachable() -> Iterator[Path]:
    """pytest's own folders are closed to the user the server runs as when the tests run as root."""
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)


def test_a_killed_server_starts_again_with_its_committed_data(reachable: Path) -> None:
    with PostgresServer(settings={"synchronous_commit": "on"}, directory=reachable) as server:
        port = server.port
        server.execute("CREATE TABLE kept (id int)")
        server.kill()
        with pytest.raises(psycopg.OperationalError):
            server.connect()
        server.start()
        assert server.port == port
        assert server.execute("SELECT count(*) FROM kept") == [(0,)]
        server.restart()
        assert server.port == port
        assert server.execute("SELECT count(*) FROM kept") == [(0,)]
    assert (reachable / "data").exists()


def test_a_temporary_folder_is_removed() -> None:
    with PostgresServer() as server:
        assert server.data.exists()
    assert not server.directory.exists()


def test_a_wrong_setting_is_named() -> None:
    server = PostgresServer(settings={"wal_level": "nonsense"})
    with pytest.raises(HeadraceError, match="wal_level"):
        server.start()
    server.close()


def test_an_unknown_version_is_refused() -> None:
    with pytest.raises(HeadraceError, match=r"embedded\.version"):
        PostgresServer(9)


def test_dropping_a_database_drops_its_active_slot(postgres: PostgresServer) -> None:
    database = Database.create(postgres)
    database.execute("SELECT pg_create_logical_replication_slot('leftover', 'pgoutput')")
    database.drop()
    left = postgres.execute("SELECT 1 FROM pg_replication_slots WHERE slot_name = 'leftover'")
    assert left == []


def test_the_server_dies_with_the_process_that_started_it() -> None:
    program = (
        "import time; from headrace.testing.embedded import PostgresServer\n"
        "s = PostgresServer(); s.start(); print(s.port, s.directory, flush=True); time.sleep(600)"
    )
    owner = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert owner.stdout is not None
    port, directory = owner.stdout.readline().split()
    pid = int(Path(directory, "data", "postmaster.pid").read_text().splitlines()[0])
    owner.send_signal(signal.SIGKILL)
    owner.wait()
    owner.stdout.close()
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            break
        time.sleep(0.05)
    else:
        pytest.fail(f"the server on port {port} outlived its owner")
    subprocess.run(["rm", "-rf", directory], check=True)


@pytest.mark.skipif(os.geteuid() != 0, reason="needs two users")
def test_programs_in_a_folder_of_another_user_are_not_run_by_root(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / f"headrace-pginstall-{embedded._package_version()}"
    (folder / "bin").mkdir(parents=True)
    os.chown(folder, 65534, 65534)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(embedded, "_open_to_all", lambda _: False)
    with pytest.raises(HeadraceError, match=r"\[embedded\.directory\]") as caught:
        embedded._binaries(16)
    assert str(folder) in caught.value.message
