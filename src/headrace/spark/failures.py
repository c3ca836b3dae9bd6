"""Errors that Spark's Python processes raise, found in a query's exception.

They cross the JVM as text. One of ours is a single sentence, without a trace: the error and its
remedy are all that a user needs. Any other error keeps its trace.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from headrace.errors import HeadraceError

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery

# Texts in the query's exception after a worker, source process or sink process was killed.
_SECOND_QUERY = "CONCURRENT_STREAM_LOG_UPDATE"  # a condition of Spark
_LOST_PROCESS = re.compile(
    r"Python worker exited unexpectedly|Python worker .*crashed|EOFException|Connection reset"
    r"|Broken pipe|SocketException|ClosedChannelException|AsynchronousCloseException"
    r"|Timed out while waiting for the Python worker|SocketTimeoutException"
    r"|Python worker failed to connect back|Reached the end of the stream|ConnectException"
)
_NOT_STARTED = re.compile("connect back")
"""Spark's message about a Python process that did not connect within the 10 seconds that it
waits."""
_MOST = 300  # characters of a reason


def error(query: StreamingQuery) -> HeadraceError | None:
    """Return the error that ended `query`, as `find_failure` reads it; None while it runs, and if
    it was stopped."""
    failure = query.exception()
    return None if failure is None else find_failure(str(failure))


OF_ANY_QUERY = ("spark.query_failed", "spark.process_lost", "spark.other_run")
"""Codes of errors of queries that need not have a source of headrace."""


def find_failure(text: str) -> HeadraceError:
    """Return the error in a query's exception text.

    It is one of ours as it was raised, else ("spark.process_lost") for a process that died
    (retriable), ("spark.other_run") if Spark's log shows a second query on the same checkpoint,
    else ("spark.query_failed") with the last line that has a message.
    """
    printed = HeadraceError.find_in(text)
    if printed is not None:
        return printed
    if _LOST_PROCESS.search(text):
        return _process_lost(text)
    if _SECOND_QUERY in text:
        return HeadraceError(
            "spark.other_run",
            "Another query continues with the same checkpoint: Spark's log has a micro-batch of it",
            "Stop one of them, or give it a checkpoint of its own.",
        )
    return HeadraceError(
        "spark.query_failed",
        f"The streaming query failed: {essence(text)}",
        "Spark's log has the whole trace; the command line shows it with --debug.",
    )


def _process_lost(text: str) -> HeadraceError:
    """Return the error of a process that died, or did not start, with Spark's message."""
    reason = _reason(text)
    look = (
        "Spark waits 10 seconds for a Python process to connect: make the session with "
        "headrace.spark.session.defaults(), whose processes connect before they import anything; "
        "if this repeats, give the machine more CPU, or start fewer queries at once."
        if _NOT_STARTED.search(reason)
        else "If this repeats, look for the kernel's out-of-memory killer."
    )
    return HeadraceError(
        "spark.process_lost",
        f"A process of the running query ended unexpectedly ({reason})",
        "Start the query again with the same checkpoint: it continues where it stopped (`headrace "
        f"run` and `headrace events` do so by themselves). {look}",
        retriable=True,
    )


def _reason(text: str) -> str:
    """Return Spark's message about the process, without Java's classes; else the deepest cause that
    has a message."""
    named = [line.strip() for line in text.splitlines() if _LOST_PROCESS.search(line)]
    of_worker = [line for line in named if "Python worker" in line]
    last = (of_worker or named)[-1].removeprefix("Caused by: ")
    said = re.split(r"(?:xception|rror): ", last)[-1].strip(" .")
    return said[:_MOST]


def essence(text: str) -> str:
    """Return the most informative line of a trace: the last Python error, else the first line."""
    errors = re.findall(r"^\s*((?:\w+\.)*\w*(?:Error|Exception)\b: [^\n]+)", text, re.MULTILINE)
    line = errors[-1] if errors else next((x for x in text.splitlines() if x.strip()), "unknown")
    return line.strip()[:_MOST]
