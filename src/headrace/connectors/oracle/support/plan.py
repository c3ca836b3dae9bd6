"""Asks an Oracle what a support bundle needs, by the connector's connection and statements."""

from __future__ import annotations

import io
import time
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any

import pyarrow as pa

from headrace.connectors.oracle import sql
from headrace.connectors.oracle.capture import SYSTEM_SCHEMAS, Capture
from headrace.connectors.oracle.catalog.redo_state import destinations
from headrace.connectors.oracle.catalog.stored_tables import StoredTables
from headrace.connectors.oracle.config import OracleConfig
from headrace.connectors.oracle.connection import (
    Connection,
    connect,
    driver_version,
    translated_error,
)
from headrace.connectors.oracle.errors import DriverError
from headrace.connectors.oracle.sql import redo_conditions
from headrace.connectors.oracle.streaming.redo_rows import REDO
from headrace.connectors.oracle.support import questions
from headrace.support.plan import SupportPlan
from headrace.support.questions import Question
from headrace.support.recording import Answer, Recording

_MOST_TABLES = 20
_MOST_LOGS = 10
_ROWS = 10_000


def support_plan(config: OracleConfig) -> SupportPlan:
    """See ConnectorDefinition."""
    return SupportPlan(
        driver_version(config),
        questions.QUESTIONS,
        questions.OPEN,
        lambda recording, seconds: _ask(config, recording, seconds),
        _codes,
    )


def _codes(error: Exception) -> Mapping[str, object] | None:
    if not isinstance(error, DriverError):
        return None
    return {"code": error.code, "full_code": error.full_code}


def _ask(config: OracleConfig, recording: Recording, seconds: float) -> Iterator[tuple[str, bytes]]:
    try:
        with connect(config) as connection:
            recording.note("server", version=".".join(map(str, connection.version)))
            asking = _Asking(config, connection, recording)
            asking.ask_root()
            first = asking.scn()
            time.sleep(seconds)
            asking.ask_logs()
            yield from asking.mined(first)
            asking.ask_tables()
    except DriverError as error:
        raise translated_error(error, config, "Recording a support bundle") from None


class _Asking:
    """The statements of one bundle on one connection."""

    def __init__(self, config: OracleConfig, connection: Connection, recording: Recording) -> None:
        self._config, self._connection, self._recording = config, connection, recording

    def ask_root(self) -> None:
        """The database, and its redo."""
        self._enter(sql.ROOT)
        scn = self.scn()
        for one in (
            questions.DATABASE,
            questions.CLOCK,
            questions.CHARACTER_SETS,
            questions.MEMORY,
        ):
            self._send(one)
        self._send(questions.TIME_OF_SCN, scn=scn)
        self._send(questions.PENDING, scn=scn)
        self.ask_logs()

    def _enter(self, container: str | None) -> None:
        """As `Connection.switch_to`; in between, the formats that the session has then."""
        if self._config.container is None or container is None:
            return
        self._send(questions.SET_CONTAINER, sql.set_container(container))
        self._send(questions.FORMATS)
        self._connection.container = container
        self._connection.set_formats()

    def scn(self) -> int:
        """The current one; 0: it may not be seen."""
        answer = self._send(questions.CURRENT_SCN)
        return int(str(answer.rows[0][0])) if answer is not None else 0

    def ask_logs(self) -> None:
        """The views of logs as they are now."""
        for one in (questions.THREADS, questions.LARGEST_LOG, questions.DESTINATIONS):
            self._send(one)
        self._send(questions.ONLINE_LOGS)
        self._send(questions.UNARCHIVED)
        if (destination := self._destination()) is not None:
            hours = self._config.archive_log_hours
            self._send(questions.ARCHIVED_LOGS, destination=destination, scn=0, hours=hours)
            self._send(questions.ARCHIVED_UNTIL, destination=destination)
        for one in questions.LOG_VIEWS:
            self._send(one)

    def _destination(self) -> str | None:
        try:
            return next(iter(destinations(self._connection, self._config)), None)
        except DriverError:
            return None  # `ask_logs` recorded why

    def mined(self, first: int) -> Iterator[tuple[str, bytes]]:
        """The redo of the captured schemas since an SCN, by rows and as Arrow."""
        answer = self._send(questions.ONLINE_LOGS)
        names = [str(row[0]) for row in answer.rows] if answer is not None else []
        names += self._archived_since(first)
        added = [self._send(questions.ADD_LOGFILE, name=name) for name in names[:_MOST_LOGS]]
        if not any(added):
            return
        binds = {"first": first, "last": self.scn()}
        started = self._send(
            questions.START_LOGMNR, sql.start_logmnr(str(self._config.log_mining_strategy)), **binds
        )
        self._send(questions.SESSION_LOGS)
        if started is not None:
            condition = redo_conditions.contents_condition(
                self._config.container,
                [
                    *redo_conditions.default_filter(SYSTEM_SCHEMAS),
                    *redo_conditions.schema_filter(
                        self._config.schema_include_list, self._config.schema_exclude_list,
                        regex=False,
                    ),
                ],
            )  # fmt: skip
            statement = sql.contents(REDO.names, condition)
            read = {"low": binds["first"], "high": binds["last"]}
            self._send(questions.CONTENTS, statement, **read)
            yield from self._as_arrow(statement, read)
        self._send(questions.END_LOGMNR)

    def _archived_since(self, first: int) -> list[str]:
        destination = self._destination()
        if destination is None:
            return []
        answer = self._send(
            questions.ARCHIVED_LOGS,
            destination=destination, scn=first, hours=self._config.archive_log_hours,
        )  # fmt: skip
        return [str(row[0]) for row in answer.rows] if answer is not None else []

    def _as_arrow(self, statement: str, binds: Mapping[str, object]) -> Iterator[tuple[str, bytes]]:
        """The rows as the stream reads them, and what they say to open questions."""
        try:
            batches = list(self._connection.batches(statement, REDO, binds, rows=_ROWS))
        except DriverError as error:
            self._recording.note("arrow", error=dict(_codes(error) or {}))
            return
        except (TypeError, ValueError, pa.ArrowException) as error:
            self._recording.note("arrow", error={"class": type(error).__name__})
            return
        table = pa.Table.from_batches(batches, REDO)
        self._recording.note("arrow", rows=len(table), types=[str(one.type) for one in REDO])
        self._recording.note("redo", **redo_facts(table))
        masked = self._masked(table)
        buffer = io.BytesIO()
        with pa.ipc.new_stream(buffer, masked.schema) as stream:
            stream.write_table(masked)
        yield "redo.arrow", buffer.getvalue()

    def _masked(self, table: pa.Table) -> pa.Table:
        columns = []
        for field in table.schema:
            column = table.column(field.name)
            if pa.types.is_string(field.type) or pa.types.is_large_string(field.type):
                cells = (
                    self._recording.cell(questions.CONTENTS, field.name, _text(cell))
                    for cell in column.cast(pa.large_binary()).to_pylist()
                )
                column = pa.array([cell[1] for cell in cells], field.type)
            columns.append(column)
        return pa.table(columns, schema=table.schema)

    def ask_tables(self) -> None:
        """The rights of the user, and what the catalogue says of captured tables."""
        self._enter(self._config.container)
        for one in (questions.PRIVILEGES, questions.PACKAGES):
            self._send(one)
        tables = sql.tables(self._connection.version)
        if self._send(questions.ALL_TABLES, tables) is None:
            return
        capture = Capture(self._config)
        captured = [
            one.path[-2:]
            for one in StoredTables(self._connection).tables()
            if capture.takes(one.name)
        ]
        self._recording.note("captured", tables=len(captured))
        self._send(questions.DDL_OPTIONS)
        for owner, name in captured[:_MOST_TABLES]:
            binds = {"owner": owner, "name": name}
            for one in (
                questions.COLUMNS, questions.PRIMARY_KEY, questions.UNIQUE_INDEXES,
                questions.OBJECT, questions.TABLE_DDL,
            ):  # fmt: skip
                self._send(one, **binds)
            columns = self._connection.rows(questions.COLUMNS.text, binds)
            expressions = ", ".join(f'"t".{sql.quoted(str(row[1]))}' for row in columns)
            if expressions:
                source = f'{sql.quoted(owner, name)} "t"'
                page = " FETCH FIRST 3 ROWS ONLY"
                text = sql.ROWS(
                    expressions=expressions, source=source, where="", order="", page=page
                )
                self._send(questions.ROWS, text)

    def _send(self, question: Question, text: str = "", **binds: object) -> Answer | None:
        statement = text or question.text
        if question.name not in _WITHOUT_ROWS:
            return self._recording.ask(question, lambda: self._answer(statement, binds), binds)

        def run() -> Answer:
            self._connection.execute(statement, binds)
            return Answer((), ())

        return self._recording.ask(question, run, binds)

    def _answer(self, statement: str, binds: Mapping[str, object]) -> Answer:
        cursor = self._connection.cursor(statement, binds)
        try:
            rows: list[Any] = []
            while (fetched := cursor.fetch(_ROWS)) and len(rows) < _ROWS:
                rows += fetched
            return Answer(cursor.description, rows)
        finally:
            cursor.close()


_WITHOUT_ROWS = frozenset(
    one.name for one in (
        sql.SET_CONTAINER, sql.ADD_LOGFILE, sql.START_LOGMNR, sql.END_LOGMNR, sql.DDL_OPTIONS,
    )
)  # fmt: skip


def redo_facts(table: pa.Table) -> dict[str, object]:
    """What rows of V$LOGMNR_CONTENTS say to the open questions, by counts: rows whose SCN is below
    the one before, parts of statements that end within a character, and each operation."""
    scns = table.column("SCN").to_pylist()
    texts = table.column("SQL_REDO").cast(pa.large_binary()).to_pylist()
    parts = table.column("CSF").to_pylist()
    codes = table.column("OPERATION_CODE").to_pylist()
    longest = max((len(one) for one in texts if one is not None), default=0)
    return {
        "rows": len(table),
        "falling_scns": sum(after < before for before, after in pairwise(scns)),
        "cut_characters": sum(
            _is_cut(text) for text, part in zip(texts, parts, strict=True) if part and text
        ),
        "parts": sum(map(bool, parts)),
        "longest_bytes": longest,
        "operations": {str(code): codes.count(code) for code in sorted(set(codes), key=str)},
        "nulls": {name: table.column(name).null_count for name in table.column_names},
    }


def _is_cut(text: bytes) -> bool:
    try:
        text.decode()
    except UnicodeDecodeError:
        return True
    return False


def _text(data: bytes | None) -> str | None:
    """What a text is, even where it is cut within a character."""
    return None if data is None else data.decode(errors="replace")
