"""Apache Derby behind the bridge; IBM's driver takes the two for a small Db2.

It has no Db2 catalog (SYSCAT), no window functions, no LOBs for this driver (and no values for
parameter markers of texts that may be longer than 16,336 characters), no DECFLOAT and no GRAPHIC,
and its SQLSTATEs are its own. Derby's jars are fetched from Maven Central by the Ivy that comes
with Spark.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import sys
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headrace.errors import HeadraceError
from headrace.java import find_java
from headrace.spark.jvm.maven import NotFetched, fetch_jars, spark_jar
from headrace.testing.server import Server, free_port
from headrace_demo.db2.bridge import UTC_NAME
from headrace_demo.processes import with_sources

if TYPE_CHECKING:
    from ibm_db_dbi import Connection

_DERBY = ("org.apache.derby", "derbynet", "10.16.1.1")
_CONTROL = "org.apache.derby.drda.NetworkServerControl"
_FAST = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto")
_ZONE = "user.timezone"
_SETTINGS = {
    "derby.system.durability": "test",
    "derby.storage.pageCacheSize": "4000",
    "derby.locks.waitTimeout": "30",
    "derby.locks.deadlockTimeout": "2",
    _ZONE: UTC_NAME,
}
_ANSWER_S = 2

USER = "DB2INST1"


class DerbyServer(Server):
    """Derby on a free loopback port, and the bridge that drivers connect to. Any user may
    log in with any password, unless `settings` (Derby's properties) say otherwise; its clock shows
    UTC unless they have a `user.timezone`.

    Raises HeadraceError `embedded.not_installed` if Derby or the driver is not available.
    """

    user = USER
    stop_signal = signal.SIGKILL  # Derby always recovers from its log
    quit_signal = signal.SIGKILL

    def __init__(
        self,
        settings: Mapping[str, str] | None = None,
        directory: str | os.PathLike[str] | None = None,
        memory: str = "256m",
    ) -> None:
        super().__init__("Derby", directory)
        self.settings = {**_SETTINGS, **(settings or {})}
        self._memory = memory
        self.bridge = _BridgeServer(self)

    # -- use ----------------------------------------------------------------------------------

    def dsn(self, database: str, user: str = USER, password: str | None = None) -> str:
        """The driver's connection string."""
        return self._dsn(self.bridge.port, database, user, password)

    def connect(self, database: str, user: str = USER, password: str | None = None) -> Any:
        """A new connection in autocommit mode, like those of `ibm_db_dbi`."""
        return _connect(self.dsn(database, user, password))

    def create_database(self, name: str) -> None:
        """Creates an empty database. The name has at most 8 letters and digits."""
        _connect(self._dsn(self.bridge.creating_port, name, USER, None)).close()

    def shut_down(self, name: str) -> None:
        """Shuts down a database, so that it uses no memory of the server; the next connection
        starts it again."""
        import ibm_db_dbi

        with contextlib.suppress(ibm_db_dbi.Error):  # Derby reports the end as an error
            _connect(self._dsn(self.bridge.ending_port, name, USER, None)).close()

    def execute(
        self, database: str, statement: str, values: tuple[object, ...] = ()
    ) -> list[tuple[Any, ...]]:
        """Runs a statement on its own connection, with values for its parameter markers; returns
        the rows."""
        with closing(self.connect(database)) as connection:
            cursor = connection.cursor()
            cursor.execute(statement, values or None)
            return cursor.fetchall() if cursor.description else []

    def _dsn(self, port: int, database: str, user: str, password: str | None) -> str:
        return (
            f"DATABASE={database};HOSTNAME={self.host};PORT={port};PROTOCOL=TCPIP;"
            f"UID={user};PWD={password or 'unused'};AUTHENTICATION=SERVER;"
        )

    # -- how it is started --------------------------------------------------------------------

    def start(self) -> None:
        """Starts Derby like Server.start, and the bridge."""
        super().start()
        self.bridge.start()

    def close(self) -> None:
        """Stops Derby and the bridge like Server.close."""
        self.bridge.close()
        super().close()

    def _prepare(self) -> None:
        try:
            import ibm_db_dbi  # noqa: F401 - check that it is installed
        except ImportError as error:
            raise _not_installed(f"ibm_db cannot be used: {error}") from None
        _jars()
        self.data.mkdir(exist_ok=True)

    def _command(self) -> list[str]:
        settings = {**self.settings, "derby.system.home": self.data}
        settings["derby.stream.error.file"] = self.directory / "server.log"
        settings["derby.infolog.append"] = "true"
        return [
            str(_java()), f"-Xmx{self._memory}", *_FAST,
            *(f"-D{name}={value}" for name, value in settings.items()), "-cp", _jars(),
            _CONTROL, "start", "-h", self.host, "-p", str(self.port), "-noSecurityManager",
        ]  # fmt: skip

    def _check(self) -> None:
        with socket.create_connection((self.host, self.port), timeout=_ANSWER_S):
            # Check who has the port.
            if f"accept connections on port {self.port}" not in self.log()[self._logged :]:
                raise ConnectionError(f"somebody else has the port {self.port}")

    def _port_taken(self, words: str) -> bool:
        return "Address already in use" in words

    def _is_error(self, line: str) -> bool:
        return "rror" in line or "xception" in line


class _BridgeServer(Server):
    """The bridge's process. It keeps running when Derby is killed, and closes its connections."""

    stop_signal = signal.SIGKILL
    quit_signal = signal.SIGKILL

    def __init__(self, derby: DerbyServer) -> None:
        super().__init__("bridge to Derby", derby.directory / "bridge")
        self._derby = derby
        self.creating_port = self.ending_port = 0

    def _prepare(self) -> None:
        """Does nothing: the program is this package."""

    def _command(self) -> list[str]:
        self.creating_port, self.ending_port = free_port(), free_port()
        ports = (self.port, self.creating_port, self.ending_port, self._derby.port)
        zone = self._derby.settings[_ZONE]
        return [sys.executable, "-m", "headrace_demo.db2.bridge", *map(str, ports), zone]

    def _surroundings(self) -> dict[str, Any]:
        surroundings = super()._surroundings()
        surroundings["env"] = with_sources(surroundings["env"])
        return surroundings

    def _check(self) -> None:
        for port in (self.port, self.creating_port, self.ending_port):
            socket.create_connection((self.host, port), timeout=_ANSWER_S).close()

    def _port_taken(self, words: str) -> bool:
        return "address already in use" in words

    def _is_error(self, line: str) -> bool:
        return "Error" in line


def _connect(dsn: str) -> Connection:
    import ibm_db_dbi

    connection = ibm_db_dbi.connect(dsn, "", "")
    connection.set_autocommit(True)
    return connection


def _java() -> Path:
    return find_java() / "bin" / "java"


def _jars() -> str:
    """Derby's class path: its server, and a library with functions that the simulator calls."""
    try:
        derby = fetch_jars(_java(), _DERBY)
    except NotFetched as error:
        raise _not_installed(str(error)) from None
    return f"{derby}/*:{spark_jar('guava')}"


def _not_installed(why: str) -> HeadraceError:
    return HeadraceError(
        "embedded.not_installed",
        f"The embedded stand-in for Db2 (Apache Derby) is not available here: {why}",
        "Run: pip install 'headrace[demo-db2]', with access to Maven Central.",
    )
