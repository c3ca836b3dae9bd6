"""`headrace` of a process that is there already, with a Spark session that many command lines share
one after the other: a run takes a fifth of what one takes that starts a JVM of its own. It is for
tests of what a run says and writes. How a command starts and ends, is killed, or brings its own
settings of Spark, is a matter of tests that start it by themselves.

A first word with a dot is a module; its `main` takes the other words in place of the command line,
and `open_session` of `headrace.cli.pipeline` gives it the session."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

from tests.spark.forking import Template

_CLIENT = Path(__file__).with_name("client.py")
_SCRIPT = """#!/bin/sh
exec "{python}" -I -S "{client}" "{socket}" "$@"
"""
_SERVER = "tests.resident.server"
_ROOT = Path(__file__).parents[2]
_STARTS_WITHIN_S = 300
_ENDS_WITHIN_S = 60


class Resident:
    """`programs` is a folder with its `headrace`, for a PATH. A command line has the environment,
    the current folder, the standard streams and the signals of who calls that; Spark itself stays
    in a folder of its own, so paths for its sinks are absolute ones."""

    def __init__(self) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="headrace-resident-"))
        self._log = self._folder / "log"
        self.programs = self._folder / "bin"
        self.programs.mkdir()
        self._started: list[subprocess.Popen[str]] = []
        self._socket = self._folder / "socket"
        self.program = self.programs / "headrace"
        self.program.write_text(
            _SCRIPT.format(python=sys.executable, client=_CLIENT, socket=self._socket)
        )
        self.program.chmod(0o755)
        self._template = Template()
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", _SERVER, str(self._socket)],
                cwd=_ROOT, env=os.environ | self._template.environment,
                stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            )  # fmt: skip
        deadline = time.monotonic() + _STARTS_WITHIN_S
        while not self._socket.exists():
            assert self._process.poll() is None, self._log.read_text()
            assert time.monotonic() < deadline, self._log.read_text()
            time.sleep(0.02)

    def start(self, *words: str) -> subprocess.Popen[str]:
        """`headrace` with these words, as a process whose output is read through pipes."""
        process = subprocess.Popen(
            [self.program, *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._started.append(process)
        return process

    def run(
        self, *words: str, environment: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """`headrace` with these words, to its end."""
        return subprocess.run(
            [self.program, *words],
            env=environment,
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )

    @property
    def is_running(self) -> bool:
        """False after an error or a signal ended it; its last words are in its log."""
        return self._process.poll() is None and self._socket.exists()

    def log(self) -> str:
        """The process's own output, to its end."""
        self._process.wait(_ENDS_WITHIN_S)
        return self._log.read_text()

    def end_started(self) -> None:
        """End what `start` started and what has not ended."""
        for process in self._started:
            process.kill()
            process.wait()
        self._started.clear()

    def close(self) -> None:
        """End it, and Spark."""
        self._process.terminate()
        try:
            self._process.wait(_ENDS_WITHIN_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._template.close()
        shutil.rmtree(self._folder, ignore_errors=True)
