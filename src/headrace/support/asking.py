"""Statements of a support bundle on a connection, whose answers are recorded."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from headrace.support.questions import Question
from headrace.support.recording import Answer, Recording

_ROWS = 10_000
Binds = Mapping[str, object] | Sequence[object]


class AskedCursor(Protocol):
    """Rows of a running query; a class of the connector."""

    def fetch(self, rows: int, /) -> Sequence[Sequence[Any]]: ...
    def close(self) -> None: ...


class AskedSession(Protocol):
    """A connection of the connector."""

    def cursor(self, statement: str, binds: Any, /) -> Any: ...
    def rows(self, statement: str, binds: Any, /) -> object: ...


class Asking(ABC):
    """Statements on one connection. All errors are recorded; once the connection is lost, nothing
    more is sent or recorded."""

    def __init__(self, session: AskedSession, recording: Recording) -> None:
        self._session, self._recording = session, recording
        self._lost: Exception | None = None

    @abstractmethod
    def _is_lost(self, error: Exception) -> bool:
        """Whether the error means that the connection was lost."""

    @abstractmethod
    def _answer(self, cursor: Any, rows: Sequence[Sequence[Any]]) -> Answer:
        """Return the rows of an open cursor, and its description of them."""

    @property
    def is_lost(self) -> bool:
        """Whether the connection was lost."""
        return self._lost is not None

    def check(self) -> None:
        """Raises the error with which the connection was lost, if it was."""
        if self._lost is not None:
            raise self._lost

    def send(
        self, question: Question, text: str = "", binds: Binds = (), *, most: int = _ROWS
    ) -> Answer | None:
        """Return the rows of a query, not many more than `most`; None after an error."""
        statement = text or question.text
        return self.recorded(question, lambda: self._queried(statement, binds, most), binds)

    def run(self, question: Question, text: str = "", binds: Binds = ()) -> bool:
        """Run a statement without rows; returns False after an error."""
        return self.refusal(question, text, binds) is None

    def refusal(self, question: Question, text: str = "", binds: Binds = ()) -> Exception | None:
        """Run a statement without rows; returns its error, if any."""

        def sent() -> Answer:
            self._session.rows(text or question.text, binds)
            return Answer((), ())

        answer = self._recorded(question, sent, binds)
        return answer if isinstance(answer, Exception) else None

    def recorded(
        self, question: Question, send: Callable[[], Answer], binds: Binds = ()
    ) -> Answer | None:
        """Return the answer of `send`; None after an error."""
        answer = self._recorded(question, send, binds)
        return None if isinstance(answer, Exception) else answer

    def _recorded(
        self, question: Question, send: Callable[[], Answer], binds: Binds
    ) -> Answer | Exception:
        if self._lost is not None:
            return self._lost
        answer = self._recording.ask(question, send, binds)
        if isinstance(answer, Exception):
            self._notice(answer)
        return answer

    def _notice(self, error: Exception) -> None:
        if self._is_lost(error):
            self._lost = error

    def _queried(self, text: str, binds: Binds, most: int) -> Answer:
        cursor: AskedCursor = self._session.cursor(text, binds)
        try:
            rows: list[Sequence[Any]] = []
            while len(rows) < most and (fetched := cursor.fetch(_ROWS)):
                rows += fetched
            return self._answer(cursor, rows)
        finally:
            cursor.close()
