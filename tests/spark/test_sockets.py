"""Unix sockets of a session: in a folder of this user, and removed."""

from __future__ import annotations

import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from headrace.spark.jvm.sockets import LONGEST
from headrace.spark.versions.installed import is_4_0

SESSION = """
import os, sys
from headrace.cli.messages import Messages
from headrace.cli.pipeline import open_session
session = open_session(
    "test", Messages(quiet=True), kernels={}, master="local[1]", idle_exit=None, debug=False
)
spark = session.spark
from pyspark.sql.functions import udf
spark.range(0, 1, 1, 1).select(udf(lambda x: x, "long", useArrow=False)("id")).collect()
print("ready", flush=True)
sys.stdin.readline()
session.close()
"""
FOLDER = """
import sys
from headrace.spark.jvm.sockets import socket_folder
print(socket_folder(), flush=True)
sys.stdin.readline()
"""
Start = Callable[[str], subprocess.Popen[str]]


@pytest.fixture
def temporary() -> Iterator[Path]:
    """A folder for temporary files whose path is short."""
    folder = Path(tempfile.mkdtemp(prefix="t", dir="/tmp"))
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def start(temporary: Path) -> Iterator[Start]:
    """Starts Python with some code; `temporary` is where its temporary files go."""
    running: list[subprocess.Popen[str]] = []

    def run(code: str) -> subprocess.Popen[str]:
        running.append(
            subprocess.Popen(
                [sys.executable, "-c", code],
                env=os.environ | {"TMPDIR": str(temporary)},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
        )
        return running[-1]

    yield run
    for process in running:
        process.kill()
        process.communicate()


def line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def end(process: subprocess.Popen[str]) -> None:
    process.communicate("\n", timeout=120)
    assert process.returncode == 0


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def sockets(process: psutil.Process) -> list[Path]:
    """Paths of the sockets that a process and its children have."""
    everything = [process, *process.children(recursive=True)]
    addresses = [c.laddr for p in everything for c in p.net_connections(kind="unix")]
    return [Path(path) for path in addresses if isinstance(path, str) and path.endswith(".sock")]


def test_every_process_has_a_folder_of_its_own_which_nobody_else_may_enter(start: Start) -> None:
    first, second = start(FOLDER), start(FOLDER)
    folders = [Path(line(first)), Path(line(second))]
    assert folders[0] != folders[1]
    for folder in folders:
        assert mode(folder) == mode(folder.parent) == 0o700
        assert len(str(folder)) <= LONGEST
    end(first)
    assert [folder.exists() for folder in folders] == [False, True]


def test_what_a_killed_process_left_is_swept_and_what_is_used_is_not(start: Start) -> None:
    killed, running = start(FOLDER), start(FOLDER)
    left, used = Path(line(killed)), Path(line(running))
    (left / ".1234.sock").touch()
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    assert left.exists()
    line(start(FOLDER))
    assert not left.exists()
    assert used.exists()


def test_a_folder_of_somebody_else_is_not_used(start: Start, temporary: Path) -> None:
    usable = temporary / "mine"
    usable.mkdir()
    (temporary / f"headrace-{os.geteuid()}").symlink_to(usable)
    folder = Path(line(start(FOLDER)))
    assert mode(folder) == 0o700
    assert list(usable.iterdir()) == []


def test_a_path_that_is_too_long_for_sockets_is_not_used(start: Start, temporary: Path) -> None:
    deep = temporary / ("deep" * 20)
    deep.mkdir()
    code = f"import tempfile; tempfile.tempdir = {str(deep)!r}\n{FOLDER}"
    folder = line(start(code))
    assert len(folder) <= LONGEST
    assert list(deep.iterdir()) == []


@pytest.mark.spark
@pytest.mark.skipif(is_4_0(), reason="Spark 4.0 has no Unix sockets for Python's processes")
def test_the_sockets_of_a_session_lie_in_its_folder(start: Start, temporary: Path) -> None:
    process = start(SESSION)
    assert line(process) == "ready"
    socket_paths = sockets(psutil.Process(process.pid))
    root = temporary / f"headrace-{os.geteuid()}"
    assert socket_paths
    assert {path.parent.parent for path in socket_paths} == {root}
    assert mode(root) == 0o700
    process.kill()
    process.wait()
    assert any(root.glob("s-*/.*.sock"))
    line(start(FOLDER))
    assert not any(root.glob("s-*/.*.sock"))
