"""Asks a Db2 what a support bundle needs, by the connector's connection and statements."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from importlib import metadata
from typing import Any

from headrace.connectors.db2.capture import Capture
from headrace.connectors.db2.config import Db2Config
from headrace.connectors.db2.connection import Connection, connect, translated_error
from headrace.connectors.db2.errors import DriverError
from headrace.connectors.db2.sql import quoted
from headrace.connectors.db2.support.questions import OPEN, Questions
from headrace.support.plan import SupportPlan
from headrace.support.questions import Question
from headrace.support.recording import Answer, Recording

_MOST_TABLES = 20
_ROWS = 1000


def support_plan(config: Db2Config) -> SupportPlan:
    """See ConnectorDefinition."""
    return SupportPlan(
        f"ibm_db {metadata.version('ibm_db')}",
        Questions(config).all(),
        OPEN,
        lambda recording, seconds: _ask(config, recording, seconds),
        _codes,
    )


def _codes(error: Exception) -> Mapping[str, object] | None:
    if not isinstance(error, DriverError):
        return None
    return {"code": error.code, "state": error.state}


def _ask(config: Db2Config, recording: Recording, seconds: float) -> Iterator[tuple[str, bytes]]:
    try:
        with connect(config) as connection:
            _Asking(config, connection, recording).ask(seconds)
    except DriverError as error:
        raise translated_error(error, config, "Recording a support bundle") from None
    yield from ()


class _Asking:
    """The statements of one bundle on one connection, each in a transaction of its own."""

    def __init__(self, config: Db2Config, connection: Connection, recording: Recording) -> None:
        self._config, self._connection, self._recording = config, connection, recording
        self._questions = Questions(config)

    def ask(self, seconds: float) -> None:
        """All of them; Capture's progress before and after the observed time."""
        questions = self._questions
        for one in (questions.zone, questions.settings, questions.register, questions.progress):
            self._send(one)
        time.sleep(seconds)
        for one in (questions.progress, questions.newest, questions.units):
            self._send(one)
        answer = self._send(questions.registrations)
        if answer is None:
            return
        capture = Capture(self._config)
        captured = [
            [str(part).strip() for part in row[:4]]
            for row in answer.rows
            if capture.takes(f"{str(row[0]).strip()}.{str(row[1]).strip()}")
        ]
        self._recording.note("captured", tables=len(captured))
        for schema, name, change_schema, change_table in captured[:_MOST_TABLES]:
            self._describe("a captured table", schema, name)
            self._describe("its change table", change_schema, change_table)
            place = {"{change_table}": quoted(change_schema, change_table)}
            self._send(questions.changes, place)
            self._send(questions.rows, {"{table}": quoted(schema, name)})

    def _describe(self, place: str, schema: str, name: str) -> None:
        """The driver's own description of a table's columns."""

        def columns() -> Answer:
            rows = list(self._connection.metadata("columns", schema, name, None))
            keys = list(rows[0]) if rows else []
            return Answer([(key,) for key in keys], [tuple(row.values()) for row in rows])

        question = replace(self._questions.columns, place=place)
        self._recording.ask(question, columns, (schema, name))
        self._connection.rollback()

    def _send(self, question: Question, slots: Mapping[str, str] | None = None) -> Answer | None:
        text = question.text
        for slot, name in (slots or {}).items():
            text = text.replace(slot, name)
        answer = self._recording.ask(question, lambda: self._answer(text))
        self._connection.rollback()  # it has read; no lock stays
        return answer

    def _answer(self, text: str) -> Answer:
        cursor = self._connection.cursor(text)
        try:
            rows: list[Sequence[Any]] = []
            while (fetched := cursor.fetch(_ROWS)) and len(rows) < _ROWS:
                rows += fetched
            return Answer(cursor.description(), rows)
        finally:
            cursor.close()
