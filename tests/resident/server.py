"""`python -m tests.resident.server SOCKET`: runs the command lines of `client`, one
after the other, until SIGTERM."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil

from headrace.cli import main as command_line
from headrace.cli import pipeline
from headrace.cli.stopping import SIGNALS, STOP
from headrace.spark import session as sessions
from headrace.spark.jvm import gateway

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_OF_EVERY_RUN = {
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.streaming.numRecentProgressUpdates": "20",
}
_NOT_PASSED_ON = {
    "PATH", "PYTHONPATH", "PWD", "OLDPWD", "SHLVL", "_", "COLUMNS", "PYTEST_CURRENT_TEST",
}  # fmt: skip
"""Variables that no process of Spark needs: each other environment makes a daemon of its own."""
_SOURCE = "python_streaming_source_runner"
_SOURCE_ENDS_WITHIN_S = 60
_GONE = 0
"""A number in place of a signal of the caller: the caller is gone."""


class _Spark:
    """The session, and what takes the place of a session's start and end."""

    def __init__(self) -> None:
        self._say: Callable[[str], None] = print
        self._jvm = gateway.DriverJvm(lambda line: self._say(line))
        self._session = sessions.build_session("resident", settings=_OF_EVERY_RUN, jvm=self._jvm)
        self._environment = self._of_processes()
        self._inherited, self._own = dict(self._environment), dict(os.environ)
        self._set: set[str] = set()

    def _of_processes(self) -> dict[str, str]:
        context: Any = self._session.sparkContext
        environment: dict[str, str] = context.environment
        return environment

    def take_place(self) -> None:
        """Gives this session to command lines from here on."""
        spark = self

        class Jvm:
            def __init__(self, say: Callable[[str], None], _note: object = None) -> None:
                spark._say = say

            def mute(self) -> None:
                spark._say = lambda _line: None

            def terminate(self) -> None:
                os._exit(1)

            def close(self) -> None:
                self.mute()

        gateway.DriverJvm = Jvm  # type: ignore[assignment,misc]
        sessions.build_session = self._build  # type: ignore[assignment]
        pipeline.Session.close = lambda self: self.jvm.mute()  # type: ignore[method-assign]

    def _build(
        self,
        _name: str,
        *,
        jvm: object,
        go_on: Callable[[], None],
        settings: Mapping[str, str],
        master: str | None = None,
    ) -> SparkSession:
        assert jvm is not None
        go_on()
        spark_settings = {
            name: text for name, text in settings.items() if name not in _OF_EVERY_RUN
        }
        assert master is None or master.startswith("local["), "it is one process"
        assert all(name.startswith("spark.sql.") for name in spark_settings), (
            f"not of a session: {spark_settings}"
        )
        for name in self._set - spark_settings.keys():
            self._session.conf.unset(name)
        for name, text in spark_settings.items():
            self._session.conf.set(name, text)
        self._set = set(spark_settings)
        self._environment.clear()
        self._environment |= self._inherited | {
            name: text
            for name, text in os.environ.items()
            if text != self._own.get(name) and name not in _NOT_PASSED_ON
        }
        return self._session

    def close(self) -> None:
        """Stop Spark."""
        self._jvm.mute()
        self._session.stop()
        self._jvm.close()


class _Caller:
    """A `client`: what it wants, and its signals."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        _, self._streams, _, _ = socket.recv_fds(connection, 1, 3)
        text = b""
        while not text.endswith(b"\n"):
            text += connection.recv(1 << 16)
        self._request = json.loads(text)
        self._lock, self._is_done = threading.Lock(), False

    def serve(self) -> None:
        """Runs its command line."""
        threading.Thread(target=self._pass_signals, daemon=True).start()
        with self._surroundings():
            try:
                status = _run(self._request["words"])
            except SystemExit as ended:
                status = ended.code if isinstance(ended.code, int) else 1
            except Exception:  # noqa: BLE001 - as the interpreter of a command line does
                traceback.print_exc()
                status = 1
            with self._lock:
                self._is_done = True
            _await_end_of_sources()
        with contextlib.suppress(OSError):
            self._connection.sendall(f"{status}\n".encode())
            self._connection.shutdown(socket.SHUT_RDWR)

    def _pass_signals(self) -> None:
        """Passes on the signals of the caller; its end is one, too."""
        number: int | None = None
        while number != _GONE:
            (number,) = self._connection.recv(1) or (_GONE,)
            with self._lock:
                if self._is_done:
                    return
                os.kill(os.getpid(), number or signal.SIGTERM)

    @contextlib.contextmanager
    def _surroundings(self) -> Iterator[None]:
        """The caller's streams, folder and environment are those of this process."""
        descriptors = [os.dup(number) for number in range(3)]
        folder, environment = Path.cwd(), dict(os.environ)
        for number, stream in enumerate(self._streams):
            os.dup2(stream, number)
            os.close(stream)
        os.chdir(self._request["folder"])
        _set_environment(self._request["environment"])
        try:
            yield
        finally:
            for stream in (sys.stdout, sys.stderr):
                with contextlib.suppress(OSError):
                    stream.flush()
            for number, former in enumerate(descriptors):
                os.dup2(former, number)
                os.close(former)
            os.chdir(folder)
            _set_environment(environment)


def _run(words: list[str]) -> int:
    """The status of a command line, or of a module's main."""
    if "." not in "".join(words[:1]):
        return command_line(words)
    import_module(words[0]).main(*words[1:])
    return 0


def _set_environment(variables: Mapping[str, str]) -> None:
    os.environ.clear()
    os.environ.update(variables)


def _await_end_of_sources() -> None:
    """A JVM that ends takes its source with it."""
    deadline = time.monotonic() + _SOURCE_ENDS_WITHIN_S
    while any(map(_is_source, psutil.Process().children(recursive=True))):
        assert time.monotonic() < deadline, "the source of a query stays"
        time.sleep(0.01)


def _is_source(process: psutil.Process) -> bool:
    with contextlib.suppress(psutil.Error):
        return any(_SOURCE in word for word in process.cmdline())
    return False


def _end(*_: object) -> None:
    raise SystemExit


def _listen_to_signals() -> None:
    """Sets the signal handlers for the time when no command line runs: each command line has
    handlers of its own."""
    STOP.__init__()  # type: ignore[misc]
    signal.signal(signal.SIGTERM, _end)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    assert SIGNALS == (signal.SIGINT, signal.SIGTERM)


def main(path: Path) -> None:
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(path.with_name("bound")))
    listener.listen()
    path.with_name("bound").rename(path)  # who finds it is heard
    os.chdir(path.parent)
    spark = _Spark()
    try:
        spark.take_place()
        while True:
            _listen_to_signals()
            connection, _ = listener.accept()
            with connection:
                try:
                    _Caller(connection).serve()
                except BaseException:
                    path.unlink()  # before the caller hears of it: nobody calls any more
                    raise
    finally:
        spark.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
