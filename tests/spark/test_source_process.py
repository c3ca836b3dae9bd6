"""The process that Spark makes for a query's source."""

from __future__ import annotations

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


@pytest.mark.parametrize(("driver", "code", "output"), [("gone", 1, ""), ("there", 0, "alive")])
def test_the_process_ends_with_its_driver_whatever_it_waits_for(
    driver: str, code: int, output: str
) -> None:
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM, driver], capture_output=True, text=True, check=False
    )
    assert (run.returncode, run.stdout.strip()) == (code, output), run.stderr
