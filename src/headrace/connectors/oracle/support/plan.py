"""Runs the queries of a support bundle on an Oracle, by the connector's connection and
statements."""

from __future__ import annotations

import sys
import time
from collections.abc import Generator

from headrace.connectors.oracle import sql
from headrace.connectors.oracle.capture import SYSTEM_SCHEMAS, Capture
from headrace.connectors.oracle.config import OracleConfig
from headrace.connectors.oracle.connection import connect, driver_version, translated_error
from headrace.connectors.oracle.errors import DriverError
from headrace.connectors.oracle.sql import redo_conditions
from headrace.connectors.oracle.support import questions, workload
from headrace.connectors.oracle.support.open_questions import OPEN
from headrace.connectors.oracle.support.redo import Asking, error_codes
from headrace.support.plan import SupportPlan
from headrace.support.recording import Recording

_MAX_TABLES = 20


def support_plan(config: OracleConfig) -> SupportPlan:
    """See ConnectorDefinition."""
    return SupportPlan(
        lambda: driver_version(config),
        questions.QUESTIONS,
        OPEN,
        lambda recording, seconds: _ask(config, recording, seconds),
        error_codes,
        workload.workload(config),
    )


def _ask(
    config: OracleConfig, recording: Recording, seconds: float
) -> Generator[tuple[str, bytes]]:
    try:
        with connect(config) as connection:
            version = ".".join(map(str, connection.version))
            recording.note("server", version=version, is_thin=connection.is_thin)
            asking = _Observing(config, connection, recording)
            asking.ask_root()
            first = asking.scn()
            time.sleep(seconds)
            asking.ask_logs()
            condition = _condition(config)
            yield from asking.mined(
                first, asking.written(), condition, "redo", lambda _name: questions.CONTENTS
            )
        # A second connection: errors that end the session of LogMiner do not affect the catalogue's
        # queries.
        with connect(config) as connection:
            asking_tables = _Observing(config, connection, recording)
            asking_tables.ask_tables()
        for question in (asking, asking_tables):
            question.check()
    except DriverError as error:
        raise translated_error(error, config, "Recording a support bundle") from None


def _condition(config: OracleConfig) -> str:
    """Return the condition on redo of the captured schemas."""
    return redo_conditions.contents_condition(
        config.container,
        [
            *redo_conditions.default_filter(SYSTEM_SCHEMAS),
            *redo_conditions.schema_filter(
                config.schema_include_list, config.schema_exclude_list, regex=False
            ),
        ],
    )


class _Observing(Asking):
    """The statements of one bundle on one connection, which only read."""

    def ask_root(self) -> None:
        """Ask about the database, and its redo."""
        self.enter(sql.ROOT)
        scn = self.scn()
        for question in (
            questions.DATABASE,
            questions.PRODUCT,
            questions.PLATFORM,
            questions.CLOCK,
            questions.CHARACTER_SETS,
            questions.MEMORY,
        ):
            self.send(question)
        self.send(questions.TIME_OF_SCN, binds={"scn": scn})
        self.send(questions.PENDING, binds={"scn": scn})
        self.ask_logs()

    def ask_logs(self) -> None:
        """Read the views of logs as they are now."""
        for question in (questions.THREADS, questions.LARGEST_LOG, questions.DESTINATIONS):
            self.send(question)
        self.send(questions.ONLINE_LOGS)
        self.send(questions.UNARCHIVED)
        if (destination := self.destination()) is not None:
            place = {"destination": destination}
            times = {"scn": 0, "hours": self._config.archive_log_hours}
            self.send(questions.ARCHIVED_LOGS, binds={**place, **times})
            self.send(questions.ARCHIVED_UNTIL, binds=place)
        for question in questions.LOG_VIEWS:
            self.send(question)

    def ask_tables(self) -> None:
        """Ask for the rights of the user, and for the catalogue's description of captured
        tables."""
        if not self.enter(self._config.container):
            return
        for question in (questions.PRIVILEGES, questions.PACKAGES):
            self.send(question)
        tables = sql.tables(self._connection.version)
        answer = self.send(questions.ALL_TABLES, tables, most=sys.maxsize)
        if answer is None:
            return
        capture = Capture(self._config)
        paths = [(str(owner), str(name)) for owner, name, *_ in answer.rows]
        captured = [path for path in paths if capture.takes(".".join(path))]
        self._recording.note("captured", tables=len(captured))
        self.run(questions.DDL_OPTIONS)
        for owner, name in captured[:_MAX_TABLES]:
            self._ask_table(owner, name)

    def _ask_table(self, owner: str, name: str) -> None:
        binds = {"owner": owner, "name": name}
        columns = self.send(questions.COLUMNS, binds=binds)
        for question in (
            questions.PRIMARY_KEY, questions.UNIQUE_INDEXES, questions.OBJECT, questions.TABLE_DDL,
        ):  # fmt: skip
            self.send(question, binds=binds)
        names = [str(row[1]) for row in columns.rows] if columns is not None else []
        if names:
            text = sql.ROWS(
                expressions=", ".join(f'"t".{sql.quoted(question)}' for question in names),
                source=f'{sql.quoted(owner, name)} "t"', where="", order="",
                page=" FETCH FIRST 3 ROWS ONLY",
            )  # fmt: skip
            self.send(questions.ROWS, text)
