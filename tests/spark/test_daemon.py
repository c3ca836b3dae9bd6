"""The daemon of Spark's workers: what it says when a task is stopped."""

from __future__ import annotations

import os
import signal
import socket
import struct
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from headrace.spark import session
from headrace.spark.versions.installed import is_4_0


@pytest.fixture
def sockets() -> Iterator[Path]:
    """A folder whose name is short: that of a socket has 107 bytes at most."""
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)


@pytest.mark.skipif(is_4_0(), reason="Spark 4.0 has no Unix sockets for Python's processes")
def test_a_worker_whose_task_was_stopped_ends_in_silence(sockets: Path) -> None:
    environment = {
        **os.environ,
        "PYTHON_UNIX_DOMAIN_ENABLED": "true",
        "PYTHON_WORKER_FACTORY_SOCK_DIR": str(sockets),
        "SPARK_REUSE_WORKER": "1",
    }
    command = [sys.executable, "-m", "headrace.spark.daemon", "pyspark.no_such_worker"]
    with subprocess.Popen(
        command,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        (length,) = struct.unpack(">i", process.stdout.read(4))
        path = process.stdout.read(length).decode()
        # A task that ends before its worker is there.
        os.kill(process.pid, signal.SIGSTOP)
        with socket.socket(socket.AF_UNIX) as task:
            task.connect(path)
        os.kill(process.pid, signal.SIGCONT)
        # One that waits for a worker, whose module is not there.
        with socket.socket(socket.AF_UNIX) as task:
            task.connect(path)
            assert len(task.recv(4)) == 4
            assert task.recv(1) == b""
        process.stdin.close()  # Spark's way to end it
        errors = process.stderr.read().decode()
    assert errors.count("Traceback") == 1
    assert "No module named 'pyspark.no_such_worker'" in errors


def test_workers_run_the_python_of_the_script_unless_something_else_chose_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("PYSPARK_GATEWAY_PORT", raising=False)
    monkeypatch.setenv("PYSPARK_PYTHON", "/elsewhere/python3")
    session.defaults()
    assert os.environ["PYSPARK_PYTHON"] == "/elsewhere/python3"
    monkeypatch.delenv("PYSPARK_PYTHON")
    session.defaults()
    assert os.environ["PYSPARK_PYTHON"] == sys.executable


def test_scripts_of_spark_submit_keep_the_python_of_their_cluster(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PYSPARK_GATEWAY_PORT", "4040")
    monkeypatch.setenv("PYSPARK_PYTHON", "")
    monkeypatch.delenv("PYSPARK_PYTHON")
    session.defaults()
    assert "PYSPARK_PYTHON" not in os.environ
