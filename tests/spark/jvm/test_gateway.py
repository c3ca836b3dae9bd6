"""What a JVM and the processes under it write to standard error."""

from __future__ import annotations

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
