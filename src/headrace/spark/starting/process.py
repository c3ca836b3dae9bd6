"""The start of a process of Spark: before it imports anything, it connects to the JVM. The JVM
waits 10 seconds for the connection, and without a limit for the rest."""

from __future__ import annotations

import os
import socket
import struct
import sys
import time
from importlib import import_module
from typing import IO, Any

RUNNER = "pyspark.sql.streaming.python_streaming_source_runner"
"""The module that Spark runs in a source's process."""
_OF_CONNECT = "pyspark.sql.connect.streaming.worker"
_WAITED_FOR = (RUNNER, f"{_OF_CONNECT}.foreach_batch_worker", f"{_OF_CONNECT}.listener_worker")
"""Modules whose processes get 10 seconds; all connect by the same function. Those of Spark Connect
run functions of a client."""
_CONNECT_WITHIN_S = 8.0
_QUIET_S = 10.0
"""Seconds without data from the JVM, after which it has read this process's message."""
_TRIES = 3
"""Attempts to import, if memory or files are short."""
_PAUSE_S = 1.0
_EXCEPTION = -2
"""PySpark's SpecialLengths.PYTHON_EXCEPTION_THROWN."""

Connection = tuple[IO[bytes], socket.socket]


def begin(module: str) -> None:
    """Prepare a process that Spark starts for `module`; called first in it. Does not return if the
    module cannot be run: the JVM gets the reason."""
    prefer_installed(sys.path)
    if module not in _WAITED_FOR:
        return
    from headrace.spark.starting.collection import collection_paused
    from headrace.spark.starting.turns import remember_parent, turn

    remember_parent()
    connection = connect()
    try:
        with turn(), collection_paused():
            _import(_TRIES)
            _hand_over(connection)
    except Exception as error:  # noqa: BLE001 - its text is all that the JVM can be given
        _refuse(connection, module, error)


def prefer_installed(path: list[str]) -> None:
    """Take archives from a path that a process can do without: `pyspark.zip` and Py4J's where the
    same is installed in a folder of the path, and the jar of Spark's core, in which no Python is.

    A zip has no compiled modules: each process would compile PySpark again, which is more than half
    of its start, and Py4J. Whatever looks through the path, such as `importlib.metadata` for the
    version of one package, reads the directory of each archive, 4000 entries of the jar."""
    for place in [place for place in path if _is_dispensable(place, path)]:
        path.remove(place)
        sys.path_importer_cache.pop(place, None)


def _is_dispensable(place: str, path: list[str]) -> bool:
    folder, _, name = place.rpartition("/")
    if name == "pyspark.zip":
        package = folder.removesuffix("/python/lib")
        return f"{package}/python/lib" == folder and package in _installed("pyspark", path)
    if name.startswith("py4j-") and name.endswith("-src.zip"):
        release = f"{name.removesuffix('-src.zip')}.dist-info"
        places = [os.path.dirname(package) for package in _installed("py4j", path)[:1]]  # noqa: PTH120
        return any(_exists(f"{place}/{release}") for place in places)
    return name.startswith("spark-core_") and name.endswith(".jar")


def _installed(name: str, path: list[str]) -> list[str]:
    """The folders of a package in the order of the path."""
    packages = (f"{place}/{name}" for place in path)
    return [package for package in packages if _exists(f"{package}/__init__.py")]


def _exists(path: str) -> bool:
    return os.path.exists(path)  # noqa: PTH110 - pathlib takes 10 ms


def connect() -> Connection:
    """Return the connection to the JVM that started this process, as
    `pyspark.util.local_connect_and_auth` makes it. Raises OSError if it cannot be made in the time
    that the JVM waits."""
    ends = time.monotonic() + _CONNECT_WITHIN_S
    while True:
        try:
            return _connect()
        except OSError:
            if time.monotonic() >= ends:
                raise
            time.sleep(0.1)


def _connect() -> Connection:
    environment = os.environ
    wait = int(environment.get("SPARK_AUTH_SOCKET_TIMEOUT", "15"))
    path = environment.get("PYTHON_WORKER_FACTORY_SOCK_PATH")
    if path is not None:
        connection = socket.socket(socket.AF_UNIX)
        connection.settimeout(wait)
        try:
            connection.connect(path)
        except OSError:
            connection.close()
            raise
        return _file(connection), connection
    is_ipv6 = environment.get("SPARK_PREFER_IPV6", "false").lower() == "true"
    port = int(environment["PYTHON_WORKER_FACTORY_PORT"])
    connection = socket.create_connection(("::1" if is_ipv6 else "127.0.0.1", port), wait)
    file = _file(connection)
    _write(file, environment["PYTHON_WORKER_FACTORY_SECRET"].encode())
    file.flush()
    (length,) = struct.unpack(">i", file.read(4))
    if file.read(length) != b"ok":
        raise ConnectionRefusedError("the JVM does not take its own secret")
    return file, connection


def _file(connection: socket.socket) -> IO[bytes]:
    size = int(os.environ.get("SPARK_BUFFER_SIZE", "65536"))
    file: Any = connection.makefile("rwb", size)
    opened: IO[bytes] = file
    return opened


def _write(file: IO[bytes], text: bytes) -> None:
    file.write(struct.pack(">i", len(text)) + text)


def _import(tries: int) -> None:
    """Import the modules of Spark's runner. Raises the errors of PySpark."""
    for left in reversed(range(tries)):
        try:
            import_module("pyspark.sql.worker.plan_data_source_read")
            return
        except (OSError, MemoryError):
            if not left:
                raise
            time.sleep(_PAUSE_S)


def _hand_over(connection: Connection) -> None:
    """Let PySpark use this connection when it makes its first one."""
    util: Any = import_module("pyspark.util")
    of_pyspark = util.local_connect_and_auth
    left = [connection]

    def connected(*arguments: Any) -> Any:
        return left.pop() if left else of_pyspark(*arguments)

    for module in tuple(sys.modules.values()):
        if getattr(module, "__dict__", {}).get("local_connect_and_auth") is of_pyspark:
            module.local_connect_and_auth = connected  # type: ignore[attr-defined]


def _refuse(connection: Connection, module: str, error: Exception) -> None:
    """Report to the JVM why its process does not start, and end."""
    from headrace.errors import HeadraceError

    failure = HeadraceError(
        "spark.process_not_started",
        f"The process of the query that runs {module} cannot import PySpark with "
        f"{sys.executable}: {type(error).__name__}: {error}",
        "Install what is missing for that Python, or set PYSPARK_PYTHON to one that has headrace "
        "and PySpark, before the session is made.",
    )
    file, its_socket = connection
    its_socket.settimeout(_QUIET_S)
    try:
        file.write(struct.pack(">ii", os.getpid(), _EXCEPTION))
        _write(file, str(failure).encode())
        file.flush()
        # The JVM reads it after it has written all input of the process.
        its_socket.shutdown(socket.SHUT_WR)
        while its_socket.recv(65536):
            pass
    except TimeoutError:
        pass
    except OSError:
        sys.stderr.write(f"{failure}\n")
    os._exit(1)
