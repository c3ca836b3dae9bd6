"""The errors that leave this package."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

_PRINTED = re.compile(
    r"(?P<message>[^\n]*?) "
    r"\[(?P<code>[a-z][a-z_0-9]*(?:\.[a-z_0-9]+)+)(?P<retry>, retriable)?\]\. (?P<remedy>[^\n]*)"
)

_PLAN = re.compile(
    r"^\s*(?:=== Streaming Query ===|== (?:SQL|DataFrame)\b|(?:== )?\w+(?: \w+)* Plan(?: ==|:)"
    r"|JVM stacktrace:)",
    re.MULTILINE,
)
"""Where Spark goes on with the query: its plan shows every error that the query could raise."""
_RAISED = re.compile(r"HeadraceError: |\[USER_RAISED_EXCEPTION\] ")
"""The text before an error where it was raised, in Python and in an expression of Spark."""
_OF_SPARK = re.compile(
    r"(?::? ?(?:Caused by: |[\w.$]+(?:Error|Exception): |\[[A-Z][A-Z0-9_.]*\] "
    r"|Query \[id = [^\]]*\] terminated with exception: ))+"
)
"""Other text that Spark and Java write before a message."""
_STATES = re.compile(r"(?: SQLSTATE: \w{5})+\s*$")
"""The text that Spark writes after a message."""


class HeadraceError(Exception):
    """An error: `message` says what is wrong, `remedy` what the operator can do.

    `code` is public and stable: dotted, its first part names the folder that raises it.
    `retriable` is True when waiting and trying again may be enough.
    `parts` are the separate errors if it combines several.
    The printed form is one line, and `find_in` reads it back out of a longer text, because an
    error that crosses the JVM arrives as text only.
    """

    def __init__(
        self,
        code: str,
        message: str,
        remedy: str,
        *,
        retriable: bool = False,
        parts: Sequence[HeadraceError] = (),
    ) -> None:
        super().__init__(code, message, remedy)
        self.code = code
        self.message = " ".join(message.split())
        self.remedy = " ".join(remedy.split())
        self.retriable = retriable
        self.parts = tuple(parts)

    def __str__(self) -> str:
        mark = ", retriable" if self.retriable else ""
        return f"{self.message} [{self.code}{mark}]. {self.remedy}"

    def __reduce__(self) -> tuple[object, ...]:
        return _restore, (self.code, self.message, self.remedy, self.retriable, self.parts)

    @staticmethod
    def find_in(text: str) -> HeadraceError | None:
        """The last error printed in `text` (a traceback, a Spark exception), or None. What Spark
        writes before and after it, and the plan of the query, are not part of it."""
        plan = _PLAN.search(text)
        said = text if plan is None else text[: plan.start()]
        printed = list(_PRINTED.finditer(said)) or list(_PRINTED.finditer(text))
        if not printed:
            return None
        last = printed[-1]
        message = _RAISED.split(last["message"])[-1]
        if message == last["message"]:
            message = message[prefix.end() :] if (prefix := _OF_SPARK.match(message)) else message
        remedy = _STATES.sub("", last["remedy"])
        return HeadraceError(last["code"], message, remedy, retriable=last["retry"] is not None)


class HeadraceWarning(UserWarning):
    """A remark about a configuration that is accepted."""


def _restore(
    code: str, message: str, remedy: str, retriable: bool, parts: tuple[HeadraceError, ...]
) -> HeadraceError:
    return HeadraceError(code, message, remedy, retriable=retriable, parts=parts)


# PySpark writes the error alone where it is set; the process ends after an error in any case.
_WITHOUT_TRACE = "SPARK_HIDE_TRACEBACK"


@contextmanager
def one_sentence() -> Iterator[None]:
    """Around what Spark calls in its own processes: a HeadraceError leaves them without trace."""
    try:
        yield
    except HeadraceError:
        os.environ[_WITHOUT_TRACE] = "1"
        raise
