"""The process that Spark makes for a query's source."""

from __future__ import annotations

import socket
import subprocess
import sys

import pytest

PROGRAM = """
import sys, threading
from headrace.spark.source_process import end_with_driver
gone = threading.Event()
end_with_driver(gone.is_set)
if sys.argv[1] == "gone":
    gone.set()
    threading.Event().wait(60)
print("alive")
"""


TERMINATED = """
import os, pathlib, signal, sys
from headrace.connectors.registry import parse_options
from headrace.spark import source_process
replace = pathlib.Path.replace
def interrupted(path, target):
    if source_process._session is not None:  # its state is being written, under a lock
        pathlib.Path.replace = replace
        os.kill(os.getpid(), signal.SIGTERM)
    return replace(path, target)
pathlib.Path.replace = interrupted
try:  # as Spark's runner
    session = source_process.session(parse_options(
        {"connector.class": "postgresql", "topic.prefix": "t", "database.user": "u",
         "database.hostname": "127.0.0.1", "database.port": sys.argv[1], "database.dbname": "d"}
    ))
    session.latest_offset({"v": 1, "server": "t"})
finally:
    source_process.stop()
    print("closed", source_process._session)
"""


@pytest.mark.parametrize(("driver", "code", "output"), [("gone", 1, ""), ("there", 0, "alive")])
def test_the_process_ends_with_its_driver_whatever_it_waits_for(
    driver: str, code: int, output: str
) -> None:
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM, driver], capture_output=True, text=True, check=False
    )
    assert (run.returncode, run.stdout.strip()) == (code, output), run.stderr


def test_sigterm_closes_what_was_interrupted_under_a_lock() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]  # nobody answers there from here on
    run = subprocess.run(
        [sys.executable, "-c", TERMINATED, str(port)],
        capture_output=True, text=True, check=False, timeout=30,
    )  # fmt: skip
    assert (run.returncode, run.stdout.strip()) == (0, "closed None"), run.stderr
