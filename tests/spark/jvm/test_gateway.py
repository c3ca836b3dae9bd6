"""The JVM's standard error is passed on without traces of closed sockets, and the JVM ends with the
process that started it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from headrace.spark.jvm.gateway import ClosedSocketTraces

TRACE = [
    "Traceback (most recent call last):",
    '  File "site-packages/pyspark/daemon.py", line 95, in worker',
    "    outfile.flush()",
]
ANNOUNCEMENT = "PySpark daemon failed to flush the output to the worker process:"


def without_traces(lines: list[str]) -> list[str]:
    traces = ClosedSocketTraces()
    return [kept_line for line in lines for kept_line in traces.without(line)]


@pytest.mark.parametrize(
    "error", ["BrokenPipeError: [Errno 32] Broken pipe", "ConnectionResetError"]
)
@pytest.mark.parametrize("before", [[], [ANNOUNCEMENT]])
def test_the_trace_of_a_worker_whose_socket_was_closed_is_left_out(
    error: str, before: list[str]
) -> None:
    assert without_traces(["one", *before, *TRACE, error, "two"]) == ["one", "two"]


@pytest.mark.parametrize(
    "trace",
    [
        [*TRACE, "ValueError: broken"],
        [TRACE[0], '  File "somewhere.py", line 1, in f', "BrokenPipeError"],
        [ANNOUNCEMENT, *TRACE, "ValueError: broken"],
    ],
)
def test_other_traces_are_shown_whole(trace: list[str]) -> None:
    # A trace that is left out does not affect those beside it.
    lines = ["one", *trace, *TRACE, "BrokenPipeError", *trace]
    assert without_traces(lines) == ["one", *trace, *trace]


START_SCRIPT = """
import subprocess, sys, time
from headrace.spark.jvm.gateway import _guarded
with _guarded() as group:
    # The child does not watch its standard input, like a JVM that has just started.
    jvm = subprocess.Popen(
        [sys.executable, "-c", "import time; print('up', flush=True); time.sleep(600)"],
        process_group=group,
    )
    if sys.argv[1] == "dies":
        time.sleep(600)
print(jvm.pid, flush=True)
time.sleep(600)
"""


def test_a_jvm_that_is_starting_dies_with_the_process_that_starts_it() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", START_SCRIPT, "dies"], stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"up\n"
        process.kill()
        # The end of the pipe: nobody of the group is left who has it.
        assert process.stdout.read() == b""


def test_a_jvm_that_has_started_outlives_the_guard_of_its_start() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", START_SCRIPT, "runs"], stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        lines = sorted([process.stdout.readline(), process.stdout.readline()])
        jvm = int(lines[0])
        assert os.getpgid(jvm) not in (os.getpgid(0), process.pid)
        os.kill(jvm, 0)
        process.kill()
        os.kill(jvm, signal.SIGKILL)


ARCHIVE_SCRIPT = """
import os, sys
from pathlib import Path
from headrace.cli.pipeline import Session
from headrace.java import find_java
from headrace.spark.jvm import gateway
from headrace.spark.jvm.class_archive import archive_file
from headrace.spark.session import build_session

gateway.END_WITHIN_S = 0.01  # much less than the archive takes
jvm = gateway.DriverJvm(print, print)
session = Session(build_session("archive", master="local[1]", jvm=jvm), jvm)
if sys.argv[1] == "hurried":
    jvm._note = lambda _text: jvm.terminate()
archive = archive_file(find_java(), os.environ["SPARK_HOME"])
session.close()
jvm._process.wait()
print(archive.exists() and any(archive.read_bytes()[:4]), jvm._process.returncode)
"""


@pytest.mark.spark
@pytest.mark.parametrize("closing", [pytest.param("patient", marks=pytest.mark.chaos), "hurried"])
def test_a_jvm_may_exceed_the_time_to_end_while_it_writes_its_archive_of_classes(
    closing: str, tmp_path: Path
) -> None:
    """A second request for the end (`terminate`) ends the JVM without an archive."""
    completed = subprocess.run(
        [sys.executable, "-c", ARCHIVE_SCRIPT, closing],
        env=os.environ | {"HEADRACE_CACHE_DIR": str(tmp_path)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    lines = completed.stdout.splitlines()
    if closing == "patient":
        assert lines[0].startswith("Java writes an archive of Spark's classes"), completed.stderr
        assert lines[1:] == ["True 0"], completed.stderr
    else:
        assert lines == [f"False {-signal.SIGKILL}"], completed.stderr
