"""Errors that Spark's Python processes raise, found in a query's exception.

They cross the JVM as text. One of ours is a single sentence, without a trace: the error and its
remedy are all that a user needs. Any other error keeps its trace.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pyspark

from headrace.errors import HeadraceError

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery

# Texts in the query's exception after a worker, source process or sink process was killed.
_SECOND_QUERY = "CONCURRENT_STREAM_LOG_UPDATE"  # a condition of Spark
_LOST_WORKER = re.compile(
    r"Python worker exited unexpectedly|Python worker .*crashed"
    r"|Timed out while waiting for the Python worker|Python worker failed to connect back"
)
_LOST_CONNECTION = re.compile(
    r"EOFException|Connection reset|Broken pipe|SocketException|ClosedChannelException"
    r"|AsynchronousCloseException|SocketTimeoutException|Reached the end of the stream"
    r"|ConnectException"
)
_NO_MESSAGE = re.compile(r"\Anull\s*(?:\n|\Z)|terminated with exception: +(?:null )?SQLSTATE")
"""The text of an exception without a message: in these versions of Spark, the end of the connection
to a process."""
_WITHOUT_MESSAGE = ("4.0.", "4.1.")
_FRAME = "\n\tat "
_FRAME_OF_PROCESS = re.compile(r"\tat (?:\S+/)?org\.apache\.spark\.(?:\w+\.)*python\.")
_TRACEBACK = "Traceback (most recent call last)"
_OTHER_ERROR = re.compile(
    r"(?<![\w.])(?!(?:java\.(?:io|net|nio|lang|util)|org\.apache\.spark|py4j|pyspark)\.)"
    r"(?:[a-z]\w*\.){2,}[A-Z]\w*(?:Exception|Error)\b"
)
"""An exception of a library: a sink has lost its connection, and not Spark."""
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
    if _is_lost_process(text):
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


def _is_lost_process(text: str) -> bool:
    """Return whether a query ended because a Python process of Spark did: Spark says so, or it lost
    the connection to it. A sink may lose a connection, too: then there is an exception of Python
    or of a library, or no class of Spark that talks to processes is in the trace, if it is known.
    """
    if _LOST_WORKER.search(text):
        return True
    if _NO_MESSAGE.search(text):
        return pyspark.__version__.startswith(_WITHOUT_MESSAGE)
    if not _LOST_CONNECTION.search(text) or _TRACEBACK in text or _OTHER_ERROR.search(text):
        return False
    return _FRAME not in text or _FRAME_OF_PROCESS.search(text) is not None


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
    has a message, if there is one."""
    of_worker = [line.strip() for line in text.splitlines() if _LOST_WORKER.search(line)]
    named = [line.strip() for line in text.splitlines() if _LOST_CONNECTION.search(line)]
    if not of_worker and not named:
        return "Spark gives no reason"
    last = (of_worker or named)[-1].removeprefix("Caused by: ")
    said = re.split(r"(?:xception|rror): ", last)[-1].strip(" .")
    return said[:_MOST]


def essence(text: str) -> str:
    """Return the most informative line of a trace: the last Python error, else the first line."""
    errors = re.findall(r"^\s*((?:\w+\.)*\w*(?:Error|Exception)\b: [^\n]+)", text, re.MULTILINE)
    line = errors[-1] if errors else next((x for x in text.splitlines() if x.strip()), "unknown")
    return line.strip()[:_MOST]
