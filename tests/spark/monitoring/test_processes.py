"""Whether the process of a report runs."""

from __future__ import annotations

import os
import subprocess
import sys
import time

from headrace.spark.monitoring.process import is_running, this_process

PROGRAM = (
    "import json; from headrace.spark.monitoring.process import this_process\n"
    "print(json.dumps(this_process()), flush=True); input()"
)


def test_this_process_runs() -> None:
    now = time.time()
    assert this_process()["pid"] == os.getpid()
    assert is_running(this_process(), now - 3600, now)


def test_a_process_that_ended_does_not_run_also_before_its_parent_knows() -> None:
    import json

    child = subprocess.Popen(
        [sys.executable, "-c", PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert child.stdout is not None
    identity = json.loads(child.stdout.readline())
    now = time.time()
    assert is_running(identity, now, now)
    child.kill()
    latest = time.monotonic() + 60
    while is_running(identity, now, now) and time.monotonic() < latest:
        time.sleep(0.01)
    assert not is_running(identity, now, now)  # a zombie
    child.wait()
    assert not is_running(identity, now, now)
    child.communicate()


def test_another_process_with_the_same_number_is_not_the_one() -> None:
    former = this_process() | {"began": 1}
    assert not is_running(former, time.time(), time.time())


def test_a_process_of_another_host_runs_while_its_report_is_new() -> None:
    elsewhere = this_process() | {"host": "another one"}
    assert is_running(elsewhere, 1000.0, 1020.0)
    assert not is_running(elsewhere, 1000.0, 1060.0)
