"""`python -m tests.spark.forking PLACE`: forks source processes for those that connect to the
socket at PLACE, until its standard input ends. See tests.spark.forking."""

from __future__ import annotations

import json
import os
import random
import runpy
import selectors
import signal
import socket
import struct
import sys
from contextlib import suppress
from importlib import import_module
from typing import Any

import numpy as np

from headrace.connectors.registry import built_in, has_driver
from headrace.spark.daemon import preload
from headrace.spark.query.status_files import parent_of
from headrace.spark.starting.collection import collection_paused
from headrace.spark.starting.process import RUNNER, begin


def load() -> None:
    """Imports what source processes import."""
    import_module("pyspark.sql.worker.plan_data_source_read")
    import_module("headrace.spark.source_process")
    for definition in filter(has_driver, built_in()):
        opened: Any = definition
        import_module(opened.open_function.partition(":")[0])
    preload()


class Forks:
    """The forks of this process, and the connections of those that wait for their ends."""

    def __init__(self, listener: socket.socket) -> None:
        self._listener = listener
        self._selector = selectors.DefaultSelector()
        self._waiting: dict[int, socket.socket] = {}
        self._ended, woken = socket.socketpair()
        woken.setblocking(False)
        self._woken = woken
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(woken.fileno())
        for each in (listener, self._ended, sys.stdin):
            self._selector.register(each, selectors.EVENT_READ)

    def serve(self) -> dict[str, Any] | None:
        """Returns the request for a source process, in its fork; None in this process, when its
        standard input has ended."""
        while True:
            for key, _ in self._selector.select():
                if key.fileobj is self._listener:
                    request = self._fork()
                    if request is not None:
                        return request
                elif key.fileobj is self._ended:
                    self._ended.recv(4096)
                    self._reap()
                elif key.fileobj is sys.stdin:
                    return None
                else:
                    self._forget(key.data)

    def _fork(self) -> dict[str, Any] | None:
        connection, _ = self._listener.accept()
        length, streams, _, _ = socket.recv_fds(connection, 4, 3)
        if not length:  # the process was killed
            connection.close()
            return None
        request: dict[str, Any] = json.loads(
            connection.recv(*struct.unpack(">i", length), socket.MSG_WAITALL)
        )
        fork = os.fork()
        if fork:
            for stream in streams:
                os.close(stream)
            self._waiting[fork] = connection
            self._selector.register(connection, selectors.EVENT_READ, fork)
            connection.sendall(struct.pack(">i", fork))
            return None
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        self._selector.close()
        for each in (connection, self._listener, self._ended, self._woken, *self._waiting.values()):
            each.close()
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
            os.close(stream)
        return request

    def _reap(self) -> None:
        with suppress(ChildProcessError):
            while (ended := os.waitpid(-1, os.WNOHANG)) != (0, 0):
                fork, status = ended
                code = os.waitstatus_to_exitcode(status)
                connection = self._waiting.pop(fork, None)
                if connection is not None:
                    self._selector.unregister(connection)
                    with suppress(OSError):
                        connection.sendall(struct.pack(">i", code if code >= 0 else 128 - code))
                    connection.close()

    def _forget(self, fork: int) -> None:
        """Kill the fork of a process that was killed."""
        connection = self._waiting.pop(fork, None)
        if connection is not None:
            self._selector.unregister(connection)
            connection.close()
            os.kill(fork, signal.SIGKILL)


def main(place: str) -> None:
    """Serves, and goes on as a source process in each fork."""
    with collection_paused():
        load()
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(place)
        listener.listen(64)
        request = Forks(listener).serve()
    if request is None:
        return
    os.environ.clear()
    os.environ.update(request["environment"])
    os.chdir(request["folder"])
    sys.path[:] = request["path"]
    sys.argv = [RUNNER]
    # The parent by which a source and Spark find each other is that of the process that waits.
    os.getppid = lambda: parent_of(request["process"]) or 1
    random.seed()
    np.random.seed()
    begin(RUNNER)
    runpy.run_module(RUNNER, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main(sys.argv[1])
