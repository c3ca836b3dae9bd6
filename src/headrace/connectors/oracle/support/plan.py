"""Asks an Oracle what a support bundle needs, by the connector's connection and statements."""

from __future__ import annotations

import time
from collections.abc import Generator

from headrace.connectors.oracle import sql
from headrace.connectors.oracle.capture import SYSTEM_SCHEMAS, Capture
from headrace.connectors.oracle.catalog.stored_tables import StoredTables
from headrace.connectors.oracle.config import OracleConfig
from headrace.connectors.oracle.connection import connect, driver_version, translated_error
from headrace.connectors.oracle.errors import DriverError
from headrace.connectors.oracle.sql import redo_conditions
from headrace.connectors.oracle.support import questions, workload
from headrace.connectors.oracle.support.open_questions import OPEN
from headrace.connectors.oracle.support.redo import Asking, error_codes
from headrace.support.plan import SupportPlan
from headrace.support.recording import Recording

_MOST_TABLES = 20


def support_plan(config: OracleConfig) -> SupportPlan:
    """See ConnectorDefinition."""
    return SupportPlan(
        driver_version(config),
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
            recording.note("server", version=".".join(map(str, connection.version)))
            asking = _Observing(config, connection, recording)
            asking.ask_root()
            first = asking.scn()
            time.sleep(seconds)
            asking.ask_logs()
            condition = _condition(config)
            yield from asking.mined(
                first, asking.written(), condition, "redo", lambda _name: questions.CONTENTS
            )
            asking.ask_tables()
    except DriverError as error:
        raise translated_error(error, config, "Recording a support bundle") from None


def _condition(config: OracleConfig) -> str:
    """Redo of the captured schemas."""
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
        """The database, and its redo."""
        self.enter(sql.ROOT)
        scn = self.scn()
        for one in (
            questions.DATABASE,
            questions.PRODUCT,
            questions.PLATFORM,
            questions.CLOCK,
            questions.CHARACTER_SETS,
            questions.MEMORY,
        ):
            self.send(one)
        self.send(questions.TIME_OF_SCN, scn=scn)
        self.send(questions.PENDING, scn=scn)
        self.ask_logs()

    def ask_logs(self) -> None:
        """The views of logs as they are now."""
        for one in (questions.THREADS, questions.LARGEST_LOG, questions.DESTINATIONS):
            self.send(one)
        self.send(questions.ONLINE_LOGS)
        self.send(questions.UNARCHIVED)
        if (destination := self.destination()) is not None:
            hours = self._config.archive_log_hours
            self.send(questions.ARCHIVED_LOGS, destination=destination, scn=0, hours=hours)
            self.send(questions.ARCHIVED_UNTIL, destination=destination)
        for one in questions.LOG_VIEWS:
            self.send(one)

    def ask_tables(self) -> None:
        """The rights of the user, and what the catalogue says of captured tables."""
        self.enter(self._config.container)
        for one in (questions.PRIVILEGES, questions.PACKAGES):
            self.send(one)
        tables = sql.tables(self._connection.version)
        if self.send(questions.ALL_TABLES, tables) is None:
            return
        capture = Capture(self._config)
        captured = [
            one.path[-2:]
            for one in StoredTables(self._connection).tables()
            if capture.takes(one.name)
        ]
        self._recording.note("captured", tables=len(captured))
        self.run(questions.DDL_OPTIONS)
        for owner, name in captured[:_MOST_TABLES]:
            binds = {"owner": owner, "name": name}
            for one in (
                questions.COLUMNS, questions.PRIMARY_KEY, questions.UNIQUE_INDEXES,
                questions.OBJECT, questions.TABLE_DDL,
            ):  # fmt: skip
                self.send(one, **binds)
            columns = self._connection.rows(questions.COLUMNS.text, binds)
            expressions = ", ".join(f'"t".{sql.quoted(str(row[1]))}' for row in columns)
            if expressions:
                source = f'{sql.quoted(owner, name)} "t"'
                page = " FETCH FIRST 3 ROWS ONLY"
                text = sql.ROWS(
                    expressions=expressions, source=source, where="", order="", page=page
                )
                self.send(questions.ROWS, text)
