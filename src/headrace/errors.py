"""The errors and warnings that this package raises."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

_CODE = re.compile(r"[a-zA-Z][\w-]*(?:\.[a-z_0-9-]+)+")
"""The form of a code; its first part may be the name of a connector of another package."""
_PRINTED = re.compile(
    rf"(?P<message>[^\n]*?) \[(?P<code>{_CODE.pattern})(?P<retry>, retriable)?\]\. "
    r"(?P<remedy>[^\n]*)"
)

_PLAN = re.compile(
    r"^\s*(?:=== Streaming Query ===|== (?:SQL|DataFrame)\b|(?:== )?\w+(?: \w+)* Plan(?: ==|:)"
    r"|JVM stacktrace:)",
    re.MULTILINE,
)
"""The beginning of a query's plan in a message of Spark; a plan contains the text of every error
that the query could raise."""
_RAISED = re.compile(r"HeadraceError: |\[USER_RAISED_EXCEPTION\] ")
"""The text before an error that Python or an expression of Spark raised."""
_OF_SPARK = re.compile(
    r"(?::? ?(?:Caused by: |[\w.$]+(?:Error|Exception): |\[[A-Z][A-Z0-9_.]*\] "
    r"|Query \[id = [^\]]*\] terminated with exception: ))+"
)
"""Prefixes that Spark and Java write before a message."""
_STATES = re.compile(r"(?: SQLSTATE: \w{5})+\s*$")
"""Suffixes that Spark writes after a message."""


class HeadraceError(Exception):
    """The error of headrace: `message` says what is wrong, `remedy` what the operator can do.

    `code` is public and stable: dotted, its first part names the folder that raises it. A code of
    another form is a ValueError, because `find_in` would not find it.
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
        if _CODE.fullmatch(code) is None:
            raise ValueError(
                f"{code!r} is not a code of an error: write two or more parts with dots between "
                "them, of lower-case letters, digits, '_' and '-', such as my-sink.refused"
            )
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
        """Return the last error printed in `text` (a traceback, a Spark exception), or None.
        Spark's text before and after it, and the plan of the query, are not part of it."""
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
    """A warning about a configuration that is accepted."""


def _restore(
    code: str, message: str, remedy: str, retriable: bool, parts: tuple[HeadraceError, ...]
) -> HeadraceError:
    return HeadraceError(code, message, remedy, retriable=retriable, parts=parts)


# With this variable PySpark prints only the error; the process ends after an error in any case.
_WITHOUT_TRACE = "SPARK_HIDE_TRACEBACK"


@contextmanager
def one_sentence() -> Iterator[None]:
    """Suppress the traceback of a HeadraceError in functions that Spark calls in its own
    processes."""
    try:
        yield
    except HeadraceError:
        os.environ[_WITHOUT_TRACE] = "1"
        raise
