"""Output of a JVM and the processes under it on standard error."""

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
ANNOUNCED = "PySpark daemon failed to flush the output to the worker process:"


def shown(lines: list[str]) -> list[str]:
    traces = ClosedSocketTraces()
    return [kept for line in lines for kept in traces.without(line)]


@pytest.mark.parametrize(
    "error", ["BrokenPipeError: [Errno 32] Broken pipe", "ConnectionResetError"]
)
@pytest.mark.parametrize("before", [[], [ANNOUNCED]])
def test_the_trace_of_a_worker_whose_socket_was_closed_is_left_out(
    error: str, before: list[str]
) -> None:
    assert shown(["one", *before, *TRACE, error, "two"]) == ["one", "two"]


@pytest.mark.parametrize(
    "trace",
    [
        [*TRACE, "ValueError: broken"],
        [TRACE[0], '  File "somewhere.py", line 1, in f', "BrokenPipeError"],
        [ANNOUNCED, *TRACE, "ValueError: broken"],
    ],
)
def test_other_traces_are_shown_whole(trace: list[str]) -> None:
    assert shown(["one", *trace, *TRACE, "BrokenPipeError", *trace]) == ["one", *trace, *trace]


STARTING = """
import subprocess, sys, time
from headrace.spark.jvm.gateway import _guarded
with _guarded() as group:
    # Its standard input is open as long as it likes, as that of a JVM that does not read it yet.
    jvm = subprocess.Popen(
        [sys.executable, "-c", "import time; print('up', flush=True); time.sleep(600)"],
        process_group=group,
    )
    if sys.argv[1] == "dies":
        time.sleep(600)
print(jvm.pid, flush=True)
time.sleep(600)
"""


def test_what_starts_dies_with_the_process_that_starts_it() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", STARTING, "dies"], stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"up\n"
        process.kill()
        # The end of the pipe: nobody of the group is left who has it.
        assert process.stdout.read() == b""


def test_what_has_started_outlives_its_guard() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", STARTING, "runs"], stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        lines = sorted([process.stdout.readline(), process.stdout.readline()])
        jvm = int(lines[0])
        assert os.getpgid(jvm) not in (os.getpgid(0), process.pid)
        os.kill(jvm, 0)
        process.kill()
        os.kill(jvm, signal.SIGKILL)


_WRITING = """
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
@pytest.mark.parametrize("way", [pytest.param("patient", marks=pytest.mark.chaos), "hurried"])
def test_an_archive_of_classes_that_takes_longer_than_an_end_may_is_written_all_the_same(
    way: str, tmp_path: Path
) -> None:
    """Unless somebody asks for the end again."""
    done = subprocess.run(
        [sys.executable, "-c", _WRITING, way],
        env=os.environ | {"HEADRACE_CACHE_DIR": str(tmp_path)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    said = done.stdout.splitlines()
    if way == "patient":
        assert said[0].startswith("Java writes an archive of Spark's classes"), done.stderr
        assert said[1:] == ["True 0"], done.stderr
    else:
        assert said == [f"False {-signal.SIGKILL}"], done.stderr
