"""Runs the queries of a support bundle on a Db2, by the connector's connection and statements."""

from __future__ import annotations

import time
from collections.abc import Generator

from headrace.connectors.db2.capture import Capture
from headrace.connectors.db2.config import Db2Config
from headrace.connectors.db2.connection import connect, translated_error
from headrace.connectors.db2.errors import DriverError
from headrace.connectors.db2.sql import quoted
from headrace.connectors.db2.support.asking import Asking
from headrace.support.recording import Recording

_MAX_TABLES = 20


def ask(config: Db2Config, recording: Recording, seconds: float) -> Generator[tuple[str, bytes]]:
    """See SupportPlan."""
    try:
        with connect(config) as connection:
            asking = _Observing(config, connection, recording)
            asking.ask(seconds)
            asking.check()
    except DriverError as error:
        raise translated_error(error, config, "Recording a support bundle") from None
    yield from ()


class _Observing(Asking):
    """The statements of one bundle on one connection, which only read."""

    def ask(self, seconds: float) -> None:
        """Ask all questions; Capture's progress before and after the observed time."""
        questions = self._questions
        for question in (*questions.server, questions.zone, questions.settings, questions.register):
            self.send(question)
        for question in (*questions.control, questions.progress):
            self.send(question)
        time.sleep(seconds)
        for question in (questions.progress, questions.newest, questions.units):
            self.send(question)
        answer = self.send(questions.registrations)
        if answer is None:
            return
        capture = Capture(self._config)
        captured = [
            [str(part).strip() for part in row[:4]]
            for row in answer.rows
            if capture.takes(f"{str(row[0]).strip()}.{str(row[1]).strip()}")
        ]
        self._recording.note("captured", tables=len(captured))
        for schema, name, change_schema, change_table in captured[:_MAX_TABLES]:
            self.describe("a captured table", schema, name)
            self.describe("its change table", change_schema, change_table)
            table = quoted(change_schema, change_table)
            self.send(questions.changes, questions.changes.text.replace("{change_table}", table))
            table = quoted(schema, name)
            self.send(questions.rows, questions.rows.text.replace("{table}", table))
