"""Redo for a support bundle: a session of LogMiner, rows as the stream reads them, and their
answers to the open questions."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import pyarrow as pa

from headrace.connectors.oracle import sql
from headrace.connectors.oracle.catalog.redo_state import destinations
from headrace.connectors.oracle.config import OracleConfig
from headrace.connectors.oracle.connection import Connection, Cursor
from headrace.connectors.oracle.errors import DriverError
from headrace.connectors.oracle.streaming.redo_rows import (
    CSF,
    OPERATION_CODE,
    REDO,
    ROLLBACK,
    SQL_REDO,
    STATUS,
    TABLE_NAME,
)
from headrace.connectors.oracle.streaming.windows.logs import RedoThread
from headrace.connectors.oracle.support import questions
from headrace.errors import HeadraceError
from headrace.support import asking
from headrace.support.masking import KEPT
from headrace.support.questions import Question
from headrace.support.recording import Answer, Recording

_MAX_LOGS = 10
_ROWS = 10_000
_SAMPLES, _SAMPLE_CHARACTERS = 24, 300


def error_codes(error: Exception) -> Mapping[str, object] | None:
    """See SupportPlan."""
    if not isinstance(error, DriverError):
        return None
    return {"code": error.code, "full_code": error.full_code}


class Asking(asking.Asking):
    """Statements on one connection, whose answers are recorded."""

    def __init__(self, config: OracleConfig, connection: Connection, recording: Recording) -> None:
        super().__init__(connection, recording)
        self._config, self._connection = config, connection

    def _is_lost(self, error: Exception) -> bool:
        return isinstance(error, DriverError) and error.is_unreachable

    def _answer(self, cursor: Cursor, rows: Sequence[Sequence[Any]]) -> Answer:
        return Answer(cursor.description, rows)

    def enter(self, container: str | None) -> bool:
        """Switch to a container like `Connection.switch_to`, and record the formats that the
        session has before headrace's. False: the user may not switch."""
        if self._config.container is None or container is None:
            return True
        if not self.run(questions.SET_CONTAINER, sql.set_container(container)):
            return False
        self.send(questions.FORMATS)
        self._connection.container = container
        self.run(questions.SESSION_FORMATS)
        self.run(questions.SESSION_TIME_ZONE)
        return True

    # -- the redo, in the root ------------------------------------------------------------------

    def scn(self) -> int:
        """Return the current SCN; 0: the user may not see it."""
        answer = self.send(questions.CURRENT_SCN)
        return int(str(answer.rows[0][0])) if answer is not None else 0

    def written(self) -> int:
        """Return the SCN up to which the redo of all open threads can be mined, like the stream."""
        scn, answer = self.scn(), self.send(questions.THREADS)
        threads = [] if answer is None else [RedoThread.of(row) for row in answer.rows]
        adjustment = self._config.internal_log_mining_redo_thread_scn_adjustment
        ends = [
            thread.last_change - adjustment
            for thread in threads
            if thread.is_open and thread.last_change
        ]
        return min([scn, *ends])

    def destination(self) -> str | None:
        """Return the destination of archived logs; None: it is not known, or no destination is
        valid and local, which is recorded."""
        if self.is_lost:
            return None
        try:
            return next(iter(destinations(self._connection, self._config)), None)
        except (DriverError, HeadraceError) as error:
            self._recording.note("destination", error=self._recording.error(error))
            self._notice(error)
            return None

    def mined(
        self,
        first: int,
        last: int,
        condition: str,
        called: str,
        question_of: Callable[[str | None], Question],
    ) -> Iterator[tuple[str, bytes]]:
        """Yield the redo between two SCNs, by rows and as Arrow; `called` is the name of the notes
        and the piece. `question_of` returns, by a table's name, which parts of a row are shown."""
        answer = self.send(questions.ONLINE_LOGS)
        names = [str(row[0]) for row in answer.rows] if answer is not None else []
        names += self._archived_since(first)
        added = [
            self.run(questions.ADD_LOGFILE, binds={"name": name}) for name in names[:_MAX_LOGS]
        ]
        if not any(added):
            return
        started = self.run(questions.START_LOGMNR, binds={"first": first, "last": last})
        self.send(questions.SESSION_LOGS)
        if started:
            statement = sql.contents(REDO.names, condition)
            read = {"low": first, "high": last}
            self.send(question_of(None), statement, read)
            yield from self._as_arrow(statement, read, called, question_of)
        self.run(questions.END_LOGMNR)

    def _archived_since(self, first: int) -> list[str]:
        destination = self.destination()
        if destination is None:
            return []
        hours = self._config.archive_log_hours
        binds = {"destination": destination, "scn": first, "hours": hours}
        answer = self.send(questions.ARCHIVED_LOGS, binds=binds)
        return [str(row[0]) for row in answer.rows] if answer is not None else []

    def _as_arrow(
        self,
        statement: str,
        binds: Mapping[str, object],
        called: str,
        question_of: Callable[[str | None], Question],
    ) -> Iterator[tuple[str, bytes]]:
        """Yield the rows as the stream reads them, and record their answers to open questions."""
        if self.is_lost:
            return
        try:
            batches = list(self._connection.batches(statement, REDO, binds, rows=_ROWS))
        except Exception as error:  # noqa: BLE001 - whatever it is, it is recorded
            self._recording.note("arrow", of=called, error=self._recording.error(error))
            self._notice(error)
            return
        table = pa.Table.from_batches(batches, REDO)
        types = [str(column.type) for column in REDO]
        self._recording.note("arrow", of=called, rows=len(table), types=types)
        self._recording.note(called, **redo_facts(table))
        masked = self._masked(table, question_of)
        self._recording.note(f"{called}_samples", **samples(masked))
        buffer = io.BytesIO()
        with pa.ipc.new_stream(buffer, masked.schema) as stream:
            stream.write_table(masked)
        yield f"{called}.arrow", buffer.getvalue()

    def _masked(self, table: pa.Table, question_of: Callable[[str | None], Question]) -> pa.Table:
        names = _texts(table, TABLE_NAME)
        row_questions = [question_of(name) for name in names]
        columns = []
        for field in table.schema:
            column = table.column(field.name)
            if field.name == SQL_REDO:
                unmasked = [question.own_of(SQL_REDO) for question in row_questions]
                goes_on = table.column(CSF).to_pylist()
                texts = _texts(table, SQL_REDO)
                statements = self._recording.masks.statements(texts, goes_on, unmasked)
                column = _text_array(iter(statements), field.type)
            elif pa.types.is_string(field.type) or pa.types.is_large_string(field.type):
                cells = (
                    self._recording.cell(question, field.name, text)[1]
                    for question, text in zip(row_questions, _texts(table, field.name), strict=True)
                )
                column = _text_array(cells, field.type)
            columns.append(column)
        return pa.table(columns, schema=table.schema)


def _texts(table: pa.Table, name: str) -> list[str | None]:
    """Return the texts of a column, even if they are cut within a character."""
    cells = table.column(name).cast(pa.large_binary()).to_pylist()
    return [None if cell is None else cell.decode(errors=KEPT) for cell in cells]


def _text_array(cells: Iterator[Any], kind: pa.DataType) -> pa.Array:
    """Return texts as a column of a type; the reverse of `_texts`. No cast can do this, because the
    texts need not be UTF-8."""
    encoded = [None if cell is None else str(cell).encode(errors=KEPT) for cell in cells]
    binary = pa.array(encoded, pa.large_binary() if pa.types.is_large_string(kind) else pa.binary())
    return pa.Array.from_buffers(kind, len(binary), binary.buffers(), binary.null_count)


def samples(table: pa.Table) -> dict[str, list[list[object]]]:
    """Return the first rows by table: OPERATION_CODE, ROLLBACK, STATUS, CSF, and the beginning of
    SQL_REDO."""
    by_operation: dict[str, list[list[object]]] = {}
    words = (table.column(column).to_pylist() for column in (OPERATION_CODE, ROLLBACK, STATUS, CSF))
    rows = zip(_texts(table, TABLE_NAME), _texts(table, SQL_REDO), *words, strict=True)
    for name, text, *cells in rows:
        of_table = by_operation.setdefault(name or "", [])
        if text is not None and len(of_table) < _SAMPLES:
            start = text[:_SAMPLE_CHARACTERS].encode(errors=KEPT)
            of_table.append([*cells, start.decode(errors="backslashreplace")])
    return by_operation


def redo_facts(table: pa.Table) -> dict[str, object]:
    """Return the answers of rows of V$LOGMNR_CONTENTS to the open questions, by counts: rows whose
    SCN is below the one before, parts of statements that end within a character, and each
    operation."""
    scns = table.column("SCN").to_pylist()
    texts = table.column("SQL_REDO").cast(pa.large_binary()).to_pylist()
    parts = table.column("CSF").to_pylist()
    codes: Sequence[int] = table.column("OPERATION_CODE").to_pylist()
    longest = max((len(statement) for statement in texts if statement is not None), default=0)
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
