"""Statements of a support bundle on one connection to a Db2, whose answers are recorded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from headrace.connectors.db2.config import Db2Config
from headrace.connectors.db2.connection import Connection
from headrace.connectors.db2.errors import DriverError
from headrace.connectors.db2.support.questions import Questions
from headrace.support.questions import Question
from headrace.support.recording import Answer, Recording

_ROWS = 1000


def error_codes(error: Exception) -> Mapping[str, object] | None:
    """See SupportPlan."""
    if not isinstance(error, DriverError):
        return None
    return {"code": error.code, "state": error.state}


class Asking:
    """Queries are transactions of their own; what writes is committed by its caller."""

    def __init__(self, config: Db2Config, connection: Connection, recording: Recording) -> None:
        self._config, self._connection, self._recording = config, connection, recording
        self._questions = Questions(config)

    def send(self, question: Question, slots: Mapping[str, str] | None = None) -> Answer | None:
        """The rows of a query, `slots` of which are filled; None after an error of the database."""
        text = question.text
        for slot, name in (slots or {}).items():
            text = text.replace(slot, name)
        answer = self._recording.ask(question, lambda: self._answer(text))
        self._connection.rollback()  # it has read; no lock stays
        return answer

    def run(self, question: Question, text: str = "", values: Sequence[object] = ()) -> bool:
        """A statement that writes; False after an error of the database."""
        statement = text or question.text
        return self._recording.run(
            question, lambda: self._connection.rows(statement, values), values
        )

    def describe(self, place: str, schema: str, name: str) -> None:
        """The driver's own description of a table's columns."""

        def columns() -> Answer:
            rows = list(self._connection.metadata("columns", schema, name, None))
            keys = list(rows[0]) if rows else []
            return Answer([(key,) for key in keys], [tuple(row.values()) for row in rows])

        question = replace(self._questions.columns, place=place)
        self._recording.ask(question, columns, (schema, name))
        self._connection.rollback()

    def _answer(self, text: str) -> Answer:
        cursor = self._connection.cursor(text)
        try:
            rows: list[Sequence[Any]] = []
            while (fetched := cursor.fetch(_ROWS)) and len(rows) < _ROWS:
                rows += fetched
            return Answer(cursor.description(), rows)
        finally:
            cursor.close()
