"""Statements of a support bundle on one connection to a Db2, whose answers are recorded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from headrace.connectors.db2.config import Db2Config
from headrace.connectors.db2.connection import Connection, Cursor
from headrace.connectors.db2.errors import DriverError
from headrace.connectors.db2.support.questions import Questions
from headrace.support import asking
from headrace.support.questions import Question
from headrace.support.recording import Answer, Recording

_NUMBERS = ("decimal", "decfloat", "numeric")
"""Types, as the driver names them, whose values are texts."""


class Asking(asking.Asking):
    """Statements on one connection: queries are transactions of their own, the caller commits what
    writes."""

    def __init__(self, config: Db2Config, connection: Connection, recording: Recording) -> None:
        super().__init__(connection, recording)
        self._config, self._connection = config, connection
        self._questions = Questions(config)

    def _is_lost(self, error: Exception) -> bool:
        return isinstance(error, DriverError) and error.is_unreachable

    def _answer(self, cursor: Cursor, rows: Sequence[Sequence[Any]]) -> Answer:
        description = cursor.description()
        numbers = [place for place, column in enumerate(description) if column[1] in _NUMBERS]
        return Answer(description, rows, frozenset(numbers))

    def _queried(self, text: str, binds: asking.Binds, most: int) -> Answer:
        try:
            return super()._queried(text, binds, most)
        finally:
            self._connection.rollback()  # release the locks of the query

    def committed(self, question: Question) -> bool:
        """Run a statement that writes, in a transaction of its own; False after an error."""

        def sent() -> Answer:
            self._connection.rows(question.text)
            self._connection.commit()
            return Answer((), ())

        return self.recorded(question, sent) is not None

    def describe(self, place: str, schema: str, name: str) -> None:
        """Record the driver's own description of a table's columns."""

        def columns() -> Answer:
            rows = list(self._connection.metadata("columns", schema, name, None))
            self._connection.rollback()
            keys = list(rows[0]) if rows else []
            return Answer([(key,) for key in keys], [tuple(row.values()) for row in rows])

        self.recorded(replace(self._questions.columns, place=place), columns, (schema, name))
