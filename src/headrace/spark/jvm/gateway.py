"""The JVM of a session of the command line: its start, its output, and its end."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from headrace.connect.deadline import Deadline
from headrace.errors import HeadraceError
from headrace.spark.jvm.class_archive import writes_archive

END_WITHIN_S = 10.0
"""Seconds that a JVM gets to delete its temporary files and to end."""
ARCHIVE_WITHIN_S = 300.0
"""Seconds that a JVM gets to write an archive of classes before it ends. If it is killed meanwhile,
there is no archive, and every later session begins it again."""
_LOOK_S = 0.1


class DriverJvm:
    """A JVM for PySpark, started by `launch`. The standard error of it and of its child processes
    is passed to `say`, a line at a time, in a thread of its own, until `mute`. `note` is called
    with information for a user who waits for the end.

    Spark's workers, and the JVM itself, print stack traces when they are stopped during their work,
    as in an orderly end.
    """

    def __init__(
        self, say: Callable[[str], None], note: Callable[[str], None] = lambda _text: None
    ) -> None:
        self._say, self._note = say, note
        self._muted = threading.Event()
        self._writes_archive = self._is_hurried = False
        self._process: subprocess.Popen[bytes] | None = None
        self._gateway: Any = None

    def launch(self, settings: Mapping[str, str]) -> Any:
        """Return the gateway of a JVM with these settings, for `SparkContext(gateway=…)`.

        Raises HeadraceError("spark.not_started") with the JVM's last message.
        """
        from pyspark import SparkConf
        from pyspark.errors import PySparkException
        from pyspark.java_gateway import launch_gateway

        conf = SparkConf(loadDefaults=False)
        for name, value in settings.items():
            conf.set(name, value)
        self._writes_archive = any(map(writes_archive, settings.values()))
        reading, writing = os.pipe()
        last_lines: list[str] = []
        reader = threading.Thread(
            target=self._read, args=(reading, last_lines), name="headrace stderr", daemon=True
        )
        reader.start()
        launch: Any = launch_gateway
        try:
            # A group of its own: a signal that `timeout` or a shell sends to this process's group
            # ends this process, which then ends the JVM. Once the JVM runs, it ends with its
            # standard input.
            with _guarded() as group:
                self._gateway = launch(conf, {"stderr": writing, "process_group": group})
        except PySparkException:
            self.mute()
            raise HeadraceError(
                "spark.not_started",
                f"Spark's JVM ended while it started: {_cause(last_lines)}",
                "Look at JAVA_HOME, PYSPARK_SUBMIT_ARGS and the settings spark.*.",
            ) from None
        finally:
            os.close(writing)
        self._process = self._gateway.proc
        return self._gateway

    def mute(self) -> None:
        """Drop all further output."""
        self._muted.set()

    def terminate(self) -> None:
        """End the JVM now; its calls fail. It deletes its temporary files; an archive that it
        writes is given up. From any thread."""
        self.mute()
        self._is_hurried = True
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)

    def close(self) -> None:
        """Close the JVM's standard input, by which it ends, and wait for its end."""
        from pyspark import SparkContext

        self.mute()
        process = self._process
        if process is None:
            return
        with contextlib.suppress(Exception):
            self._gateway.shutdown()
        if process.stdin is not None:
            with contextlib.suppress(OSError):
                process.stdin.close()
        for number in (None, signal.SIGTERM, signal.SIGKILL):
            if number is not None:
                process.send_signal(number)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(END_WITHIN_S)
                break
            if number is None and self._writes_archive and self._has_archived(process):
                break
        context: Any = SparkContext
        if context._gateway is self._gateway:
            context._gateway = context._jvm = None

    def _has_archived(self, process: subprocess.Popen[bytes]) -> bool:
        """Return whether the JVM ends within the time for its archive of classes."""
        if not self._is_hurried:
            self._note(
                "Java writes an archive of Spark's classes, once per installation, with which later"
                " starts are faster; Ctrl-C ends it now"
            )
        deadline = Deadline(ARCHIVE_WITHIN_S)
        while not (self._is_hurried or deadline.is_over):
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(_LOOK_S)
                return True
        return False

    def _read(self, descriptor: int, last_lines: list[str]) -> None:
        traces = ClosedSocketTraces()
        with os.fdopen(descriptor, "r", encoding="utf-8", errors="replace") as lines:
            for line in lines:
                last_lines.append(line.rstrip("\n"))
                del last_lines[:-50]
                for text in traces.without(last_lines[-1]):
                    if not self._muted.is_set():
                        self._say(text)


@contextlib.contextmanager
def _guarded() -> Iterator[int]:
    """Yield the id of a process group that is killed if this process dies meanwhile: a JVM looks at
    its standard input only after Spark has started.

    A shell leads the group, and waits for a line from this process. If its standard input ends
    without the line, because this process died or the start was given up, it kills the group.
    """
    guard = subprocess.Popen(
        ["/bin/sh", "-c", "read -r _ || kill -KILL 0"],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        process_group=0,
    )
    assert guard.stdin is not None
    try:
        yield guard.pid
        guard.stdin.write(b"\n")
    finally:
        with contextlib.suppress(BrokenPipeError):  # it was killed
            guard.stdin.close()
        guard.wait()


class ClosedSocketTraces:
    """Filters the stack traces of Spark's Python workers whose socket the JVM has closed, as it
    does for every worker that it no longer needs. The daemons of workers that plan a source's read
    are PySpark's own, so their traces cannot be prevented."""

    _ANNOUNCED = "PySpark daemon failed to flush the output to the worker process:"
    _CLOSED = ("BrokenPipeError", "ConnectionResetError")

    def __init__(self) -> None:
        self._trace: list[str] = []

    def without(self, line: str) -> list[str]:
        """Return the lines that may be shown after `line`."""
        if line in (self._ANNOUNCED, "Traceback (most recent call last):"):
            before, self._trace = self._trace, [line]
            # The announcement belongs to the trace after it.
            if before == [self._ANNOUNCED]:
                self._trace = [*before, line]
                return []
            return before
        if not self._trace:
            return [line]
        self._trace.append(line)
        if line.startswith(" "):
            return []
        trace, self._trace = self._trace, []
        of_daemon = any("pyspark/daemon.py" in part for part in trace)
        return [] if of_daemon and line.startswith(self._CLOSED) else trace


def _cause(lines: list[str]) -> str:
    """Return the line that names the error: the first one of an exception, else the last."""
    said = [line.strip() for line in lines if line.strip()]
    named = [line for line in said if "Exception" in line or "rror:" in line]
    return (named or said[-1:] or ["it said nothing"])[0]
