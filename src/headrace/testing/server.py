"""The lifecycle of an embedded database server: a process on a free loopback port.

A subclass for each database defines the server's name, its programs, how it is started, and how to
check that the server that answers is this one.
"""

from __future__ import annotations

import atexit
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from abc import ABC, abstractmethod
from pathlib import Path
from types import TracebackType
from typing import Any, ClassVar, Self

from headrace.connect.deadline import Deadline
from headrace.errors import HeadraceError

_START_SECONDS = 120.0
_STOP_SECONDS = 15.0
_PORTS = 20  # ports to try if other processes take them


class Server(ABC):
    """A server on a free loopback port, which stops when this process ends, however it ends.

    `directory` keeps the data (below `directory/data`) and the log (`directory/server.log`);
    without it a temporary folder is used and removed at the end.

    Raises HeadraceError `embedded.*` when the programs are missing or the server does not start.
    """

    host = "127.0.0.1"
    # The signals that stop it in good order, and at once if that takes too long.
    stop_signal: ClassVar[int]
    quit_signal: ClassVar[int]

    def __init__(self, name: str, directory: str | os.PathLike[str] | None) -> None:
        self.name = name
        self.port = 0
        self._temporary = directory is None
        folder = f"headrace-{name.lower().replace(' ', '-')}-"
        self.directory = Path(
            tempfile.mkdtemp(prefix=folder) if directory is None else directory
        ).absolute()
        self._logged = 0  # length of the log before the last start, in characters
        self._process: subprocess.Popen[bytes] | None = None
        self._watchdog: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:  # also Ctrl-C: nothing else ends the process and removes the folder
            self.close()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, port={self.port})"

    # -- defined by each database -------------------------------------------------------------

    @abstractmethod
    def _prepare(self) -> None:
        """Find the programs, and create the data folder if it does not exist."""

    @abstractmethod
    def _command(self) -> list[str]:
        """The command line of the server, on `port`."""

    @abstractmethod
    def _check(self) -> None:
        """Raise while no server answers, or another server that took the port. Called until it
        returns; also prepares a new server for its first use."""

    @abstractmethod
    def _port_taken(self, words: str) -> bool:
        """Whether the last lines of the log say that another process has the port."""

    @abstractmethod
    def _is_error(self, line: str) -> bool:
        """Whether a line of the log contains the reason why the server ended."""

    def _surroundings(self) -> dict[str, Any]:
        """Arguments of Popen."""
        return surroundings()

    # -- lifecycle ----------------------------------------------------------------------------

    @property
    def data(self) -> Path:
        """The server's data folder."""
        return self.directory / "data"

    @property
    def running(self) -> bool:
        """Whether the server process is alive."""
        return self._process is not None and self._process.poll() is None

    @property
    def pid(self) -> int:
        """The process id of the running server."""
        assert self._process is not None
        return self._process.pid

    def start(self) -> None:
        """Starts the server (a restart keeps the port) and waits until it answers."""
        if self.running:
            return
        self.directory.mkdir(parents=True, exist_ok=True)
        self._prepare()
        keep = bool(self.port)
        for _ in range(_PORTS):
            if not keep:
                self.port = free_port()
            if self._try_start():
                atexit.register(self.close)
                return
            time.sleep(0.1)
        raise HeadraceError(
            "embedded.start",
            f"The embedded {self.name} did not start: {self._last_words()}",
            f"See its log {self.directory / 'server.log'}.",
        )

    def stop(self) -> None:
        """Stops the server and keeps its data; open sessions end."""
        process = self._end_watchdog()
        if process is None:
            return
        if process.poll() is None:
            process.send_signal(self.stop_signal)
            try:
                process.wait(_STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.send_signal(self.quit_signal)
                process.wait(_STOP_SECONDS)
        self._process = None

    def kill(self) -> None:
        """Ends all processes of the server with SIGKILL, as in a crash. The data stays."""
        process = self._end_watchdog()
        if process is None:
            return
        children = _children(process.pid)
        for pid in (process.pid, *children):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        process.wait()
        self._process = None

    def restart(self) -> None:
        """Stops and starts the server; the port stays the same."""
        self.stop()
        self.start()

    def close(self) -> None:
        """Stops the server and removes its files, unless a directory was given."""
        atexit.unregister(self.close)
        self.stop()
        if self._temporary:
            shutil.rmtree(self.directory, ignore_errors=True)

    def log(self) -> str:
        """The server's log so far."""
        path = self.directory / "server.log"
        return path.read_text(errors="replace") if path.exists() else ""

    # -- details ------------------------------------------------------------------------------

    def _try_start(self) -> bool:
        self._logged = len(self.log())
        with (self.directory / "server.log").open("ab") as log:
            self._process = subprocess.Popen(
                self._command(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                **self._surroundings(),
            )
        # Its standard input closes when this process ends, also by SIGKILL.
        self._watchdog = subprocess.Popen(
            ["/bin/sh", "-c", f"read _; kill -{int(self.quit_signal)} {self._process.pid}"],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        deadline = Deadline(_START_SECONDS)
        while self._process.poll() is None:
            try:
                self._check()
            except Exception as error:
                if deadline.is_over:
                    self.stop()
                    raise HeadraceError(
                        "embedded.start",
                        f"The embedded {self.name} does not answer: {error}",
                        f"See its log {self.directory / 'server.log'}.",
                    ) from error
                time.sleep(0.02)
            else:
                return True
        self._end_watchdog()
        self._process = None
        words = self._last_words()
        if self._port_taken(words):
            return False
        raise HeadraceError(
            "embedded.start",
            f"The embedded {self.name} did not start: {words}",
            "Correct the server settings, or look at the host's limits.",
        )

    def _end_watchdog(self) -> subprocess.Popen[bytes] | None:
        if self._watchdog is not None:
            self._watchdog.kill()
            self._watchdog.wait()
            if self._watchdog.stdin is not None:
                self._watchdog.stdin.close()
            self._watchdog = None
        return self._process

    def _last_words(self) -> str:
        lines = [line for line in self.log()[self._logged :].splitlines() if line.strip()]
        errors = [line for line in lines if self._is_error(line)]
        return " / ".join(errors[-4:] or lines[-2:])


def surroundings() -> dict[str, Any]:
    """Arguments of Popen: no terminal signals, a working folder that exists for every user, UTC."""
    return {
        "cwd": "/",
        "start_new_session": True,
        "env": {"PATH": os.environ.get("PATH", ""), "LC_ALL": "C", "TZ": "UTC"},
    }


def free_port() -> int:
    """A loopback port that is free at this moment."""
    with socket.socket() as probe:
        probe.bind((Server.host, 0))
        port: int = probe.getsockname()[1]
        return port


def _children(pid: int) -> list[int]:
    """Direct children (on Linux; elsewhere empty: they detect their parent's end themselves)."""
    try:
        return [
            int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        ]
    except OSError:
        return []
