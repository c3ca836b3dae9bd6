"""The effects of rows of redo, as the int64 words that `hold_kernel` reads."""

from __future__ import annotations

import ctypes
import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headrace.connect.kernels.memory import PADDING, address_of
from headrace.connectors.oracle.redo.statements import RedoStatements
from headrace.connectors.oracle.streaming import frames, redo_rows
from headrace.connectors.oracle.streaming.effects import effect_kernel
from headrace.connectors.oracle.streaming.effects.effect_kernel import (
    find_tails,
    move_tails,
    put_effects,
    put_tables,
)
from headrace.connectors.oracle.streaming.effects.text_numbers import TextNumbers
from headrace.connectors.oracle.streaming.lobs import frames as lob_frames
from headrace.connectors.oracle.streaming.odd_redo import UnsupportedRows
from headrace.connectors.oracle.streaming.transactions import hold_kernel
from headrace.connectors.oracle.streaming.transactions.buffer import Names, Rows
from headrace.errors import HeadraceError

log = logging.getLogger(__name__)

_UNKNOWN = "UNKNOWN"
_MULTIPLIER, _POSITIVE = 0x9E3779B97F4A7C15, (1 << 63) - 1
_TEMPORARY = b"No SQL_REDO for temporary tables"
_DOES = {
    redo_rows.START: hold_kernel.STARTS,
    redo_rows.COMMIT: hold_kernel.COMMITS,
    redo_rows.ROLLED_BACK: hold_kernel.ENDS,
    redo_rows.REPLICATION_MARKER: hold_kernel.ENDS,
    redo_rows.INSERT: hold_kernel.CHANGES,
    redo_rows.UPDATE: hold_kernel.CHANGES,
    redo_rows.DELETE: hold_kernel.CHANGES,
    redo_rows.UNSUPPORTED: hold_kernel.LACKING_STATEMENT,
}
_TEXTS = (
    redo_rows.SEG_OWNER,
    redo_rows.TABLE_NAME,
    redo_rows.ROW_ID,
    redo_rows.RS_ID,
    redo_rows.SQL_REDO,
    redo_rows.USERNAME,
    redo_rows.CLIENT_ID,
    redo_rows.XID,
)
"""The columns of texts, in the order of `row_kernel`."""
_NUMBERS = (
    (effect_kernel.CODES, redo_rows.OPERATION_CODE),
    (effect_kernel.ROLLBACKS, redo_rows.ROLLBACK),
    (effect_kernel.STATUSES, redo_rows.STATUS),
    (effect_kernel.SCNS, redo_rows.SCN),
    (effect_kernel.THREADS, redo_rows.THREAD),
)
_LOOKED_UP = (effect_kernel.USERS, effect_kernel.CLIENTS, effect_kernel.TABLES)
_TAIL_BYTES = slice(effect_kernel.TEXTS + effect_kernel.TAIL_BYTES, None, effect_kernel.TEXT_WORDS)
_NAMED = (redo_rows.SEG_OWNER, redo_rows.TABLE_NAME, redo_rows.USERNAME, redo_rows.CLIENT_ID)


class EffectTable(Protocol):
    """A captured table, as rows of redo refer to it."""

    @property
    def path(self) -> tuple[str, str]:
        """The table's schema and name."""
        ...

    @property
    def relation(self) -> int:
        """The relation version of its records."""
        ...

    @property
    def model(self) -> int:
        """The table's number among the tables of the parser."""
        ...

    @property
    def has_apart(self) -> bool:
        """Whether the redo may store values apart from its rows."""
        ...


HeldRow = Callable[[int, str | None, str | None, int], tuple[int, bytes]]
"""The held form of a row with a value that is stored apart from its row: the kind of the frame, and
its content in place of images. Arguments: OPERATION_CODE, SQL_REDO, INFO, the model of the
table."""


@dataclass(frozen=True)
class RowOptions:
    """`shows_redo` and `shows_ssn`: source.redo_sql and source.ssn are filled. `failure`:
    event.processing.failure.handling.mode. `numbers_columns`: statements that LogMiner could not
    make have numbers instead of columns' names (log.mining.strategy=hybrid)."""

    shows_redo: bool = False
    shows_ssn: bool = False
    failure: str = "fail"
    numbers_columns: bool = False

    def failed(self, error: HeadraceError) -> None:
        """Handle an error as event.processing.failure.handling.mode says."""
        if self.failure == "fail":
            raise error
        if self.failure == "warn":
            log.warning("%s: the change is left out", error.message)

    def value_failed(self, error: HeadraceError) -> None:
        """Handle an error of a large value as event.processing.failure.handling.mode says."""
        if self.failure == "fail":
            raise error
        if self.failure == "warn":
            log.warning("%s: the value is unavailable", error.message)


class RowEffects:
    """Makes words of rows; `find` returns the captured table of a schema and a name, or None.
    `is_new`: whether `find` will record a captured table: that is done at the table's own row, the
    first one of a batch, when all rows before it are held."""

    def __init__(
        self,
        find: Callable[[str, str], EffectTable | None],
        statements: RedoStatements,
        users: Names,
        clients: Names,
        options: RowOptions,
        held_row: HeldRow | None = None,
        is_new: Callable[[str, str], bool] = lambda _schema, _name: False,
    ) -> None:
        """`statements` has the models of tables; `held_row`: values apart from their rows are
        captured (lob.enabled)."""
        self._find, self._statements, self._options = find, statements, options
        self._held_row, self._is_new = held_row, is_new
        self._unsupported = UnsupportedRows()
        self._users, self._clients = users, clients
        self.offset_us = 0
        """Microseconds by which the database's local time is ahead of UTC."""
        self._numbers = [TextNumbers() for _ in range(3)]
        self._paths: list[tuple[str, str]] = []
        self._hashes: dict[tuple[str, str], int] = {}
        self._does = np.zeros(effect_kernel.MAX_CODES, np.uint8)
        for code, does in _DOES.items():
            self._does[code] = does
        if held_row is not None:
            self._does[list(lob_frames.CODES)] = hold_kernel.APART
        self._code_bytes = np.arange(effect_kernel.MAX_CODES + PADDING).astype(np.uint8)
        self._columns = columns = np.zeros(effect_kernel.COLUMN_WORDS, np.int64)
        self._at = address_of(columns)
        for word, numbers in zip(_LOOKED_UP, self._numbers, strict=True):
            columns[word] = address_of(numbers.words)
        columns[effect_kernel.DOES] = address_of(self._does)
        columns[effect_kernel.SHOWS_REDO] = options.shows_redo
        columns[effect_kernel.UNDOES] = 0 if held_row is None else lob_frames.UNDOES
        columns[effect_kernel.CODE_BYTES] = address_of(self._code_bytes)
        columns[effect_kernel.COMMIT_CODE] = redo_rows.COMMIT
        self._effects = np.zeros((0, hold_kernel.EFFECT_WORDS), np.int64)
        self._commit_rows = np.zeros(0, np.int64)
        self._scratch, self._longest, self._of_columns = np.zeros(0, np.uint8), -1, 0
        self._kept: list[object] = []
        """The memory to which the words of the last batch point."""

    def of(self, batch: pa.RecordBatch, delivered: np.ndarray) -> Rows:
        """Return the words of a batch without DDL, or of its rows before the first one that
        describes a table; valid until the next call. `delivered`: mask of the commits that were
        delivered before. Raises HeadraceError for a statement that is not understood."""
        effects, codes = self._put(batch, delivered)
        if self._columns[effect_kernel.NEEDS_CARE]:
            self._drop_lacking(batch, codes, effects)
            self._add_apart(batch, codes, effects)
        self._unsupported.warn()
        _warn_of_gaps(codes, effects[:, hold_kernel.SCN])
        return self._rows(effects)

    def commits(self, rows: Rows) -> np.ndarray:
        """Return those of the rows that `of` returned last that are commits."""
        count = int(self._columns[effect_kernel.COMMIT_COUNT])
        places = self._commit_rows[:count]
        return rows.effects[places[places < len(rows.effects)]]

    def truncate(self, row: pa.RecordBatch, relation: int) -> Rows:
        """Return the words of the only row of a batch, a truncate of a table."""
        effects, _ = self._put(row, np.zeros(1, bool))
        effects[:, hold_kernel.ACTION] = hold_kernel.CHANGES
        effects[:, hold_kernel.KIND] = frames.TRUNCATE
        effects[:, hold_kernel.RELATION] = relation
        effects[:, hold_kernel.IMAGES_BYTES] = 0
        return self._rows(effects)

    def _rows(self, effects: np.ndarray) -> Rows:
        longest = int(self._columns[effect_kernel.LONGEST])
        if longest > self._longest or self._of_columns != self._statements.most_columns:
            self._longest, self._of_columns = longest, self._statements.most_columns
            self._scratch = self._statements.scratch(longest)
        return Rows(effects, self._scratch, self._of_columns, self._read_odd)

    # -- words ----------------------------------------------------------------------------------

    def _put(self, batch: pa.RecordBatch, delivered: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Put the words of the first rows of a batch; returns them and their operation codes."""
        count = len(batch)
        if count > len(self._effects):
            self._effects = np.zeros((count, hold_kernel.EFFECT_WORDS), np.int64)
            self._commit_rows = np.zeros(count, np.int64)
        effects, columns = self._effects[:count], self._columns
        buffers: list[object] = [batch, delivered]
        for word, name in _NUMBERS:
            columns[word], column = redo_rows.number_address(batch, name)
            buffers.append(column)
        if self._options.shows_ssn:
            columns[effect_kernel.SSNS], column = redo_rows.number_address(batch, redo_rows.SSN)
            buffers.append(column)
        times = batch.column(redo_rows.TIMESTAMP)
        if times.null_count:
            times = times.view(pa.int64()).fill_null(self.offset_us)
            buffers.append(times)
        columns[effect_kernel.TIMES] = times.buffers()[1].address + 8 * times.offset
        columns[effect_kernel.AHEAD_US] = self.offset_us
        columns[effect_kernel.DELIVERED] = address_of(delivered)
        for word in (
            effect_kernel.NEEDS_CARE,
            effect_kernel.COMMIT_COUNT,
            effect_kernel.LONGEST,
        ):
            columns[word] = 0
        columns[effect_kernel.COMMIT_ROWS] = address_of(self._commit_rows)
        first = effect_kernel.TEXTS
        for name in _TEXTS:
            column = batch.column(name)
            text_words = redo_rows.text_column(column)
            columns[first : first + len(text_words)] = text_words
            buffers.append(column)
            first += effect_kernel.TEXT_WORDS
        find_tails(self._at, count)
        size = int(columns[_TAIL_BYTES].sum()) + effect_kernel.TEXT_COLUMNS * PADDING
        tails = np.zeros(size, np.uint8)
        move_tails(self._at, address_of(tails))
        buffers.append(tails)
        self._kept = buffers
        up_to = self._put_rows(batch, effects)
        return effects[:up_to], redo_rows.numbers(batch, redo_rows.OPERATION_CODE)[:up_to]

    def _put_rows(self, batch: pa.RecordBatch, effects: np.ndarray) -> int:
        """Put the words of rows; returns the number of rows."""
        first_rows = np.zeros(len(self._paths) + 1, np.int64)
        rows_done, count = 0, len(batch)
        while True:
            self._columns[effect_kernel.FIRST_ROWS] = address_of(first_rows)
            rows_done = put_effects(self._at, rows_done, count, address_of(effects))
            if rows_done == count:
                break
            self._add_names(batch.slice(rows_done, 1))
            first_rows = np.append(
                first_rows, np.zeros(len(self._paths) + 1 - len(first_rows), np.int64)
            )
        present = np.flatnonzero(first_rows)
        present = present[np.argsort(first_rows[present])]
        for place, number in enumerate(present):
            if first_rows[number] > 1 and self._is_new(*self._paths[number]):
                present, count = present[:place], int(first_rows[number]) - 1
                break
        table_words = np.full((len(first_rows), effect_kernel.FOUND_WORDS), -1, np.int64)
        for number in present:
            table = self._find(*self._paths[number])
            if table is not None:
                address = self._statements.address_of_table(table.model)
                mark = table.has_apart and self._held_row is not None
                table_words[number] = table.relation, address, mark, self._hash_of(table.path)
        put_tables(self._at, address_of(effects), count, address_of(table_words))
        return count

    def _hash_of(self, path: tuple[str, str]) -> int:
        """Return the value that a table adds to the hashes of its row ids."""
        number = self._hashes.setdefault(path, len(self._hashes) + 1)
        return number * _MULTIPLIER & _POSITIVE

    def _add_names(self, row: pa.RecordBatch) -> None:
        """Give numbers to the names of a row that have none yet."""
        texts = {name: row.column(name)[0].as_py() for name in _NAMED}
        users, clients, tables = self._numbers
        for numbers, names, name in (
            (users, self._users, texts[redo_rows.USERNAME]),
            (clients, self._clients, texts[redo_rows.CLIENT_ID]),
        ):
            if name is not None and not numbers.has(name):
                numbers.add(name, "", -1 if name == _UNKNOWN else names.number(name))
        path = texts[redo_rows.SEG_OWNER], texts[redo_rows.TABLE_NAME]
        if None not in path and not tables.has(*path):
            tables.add(*path, len(self._paths))
            self._paths.append(path)

    # -- changes --------------------------------------------------------------------------------

    def _read_odd(self, row: np.ndarray) -> None:
        """Make the images of a row whose statement the kernel does not read."""
        text = ctypes.string_at(int(row[hold_kernel.IMAGES]), int(row[hold_kernel.IMAGES_BYTES]))
        number = self._statements.number_at(int(row[hold_kernel.TABLE]))
        row[hold_kernel.TABLE] = 0
        if _TEMPORARY in text:
            row[hold_kernel.ACTION] = hold_kernel.NOTHING
            return
        try:
            parsed = self._statements.read_odd(text, number)
        except HeadraceError as error:
            self._options.failed(error)
            row[hold_kernel.ACTION] = hold_kernel.NOTHING
            return
        row[hold_kernel.KIND] = parsed.operation
        self._put_image(row, parsed.old + parsed.new)

    def _put_image(self, row: np.ndarray, raw: bytes) -> None:
        image = np.frombuffer(raw + bytes(PADDING), np.uint8)
        self._kept.append(image)
        row[hold_kernel.IMAGES], row[hold_kernel.IMAGES_BYTES] = address_of(image), len(raw)
        row[hold_kernel.TABLE] = 0

    def _add_apart(self, batch: pa.RecordBatch, codes: np.ndarray, effects: np.ndarray) -> None:
        """Put the words of rows with values that are stored apart from their rows. They are read
        one at a time: each is a part of a large value. A row that cannot be read makes the value
        unavailable."""
        for row in np.flatnonzero(effects[:, hold_kernel.ACTION] == hold_kernel.APART):
            assert self._held_row is not None
            statement, info = (
                batch.column(name)[row].as_py() for name in (redo_rows.SQL_REDO, redo_rows.INFO)
            )
            model = self._statements.number_at(int(effects[row, hold_kernel.TABLE]))
            try:
                kind, raw = self._held_row(int(codes[row]), statement, info, model)
            except HeadraceError as error:
                self._options.value_failed(error)
                kind, raw = lob_frames.unread_row(int(codes[row]))
            effects[row, hold_kernel.ACTION] = hold_kernel.CHANGES
            effects[row, hold_kernel.KIND] = kind
            effects[row, hold_kernel.MARK] = 1
            self._put_image(effects[row], raw)

    def _drop_lacking(self, batch: pa.RecordBatch, codes: np.ndarray, effects: np.ndarray) -> None:
        """Drop rows for which LogMiner could not make a statement; those of captured tables are
        reported by an error or a warning. Unsupported operations always give a warning, as in
        Debezium."""
        actions = effects[:, hold_kernel.ACTION]
        actions[_is_sound(batch, codes, effects)] = hold_kernel.CHANGES
        lacking = np.flatnonzero(actions == hold_kernel.LACKING_STATEMENT)
        unsupported = lacking[codes[lacking] == redo_rows.UNSUPPORTED]
        if len(unsupported):
            actions[unsupported] = hold_kernel.NOTHING
            self._unsupported.add(batch, unsupported)
        for row in lacking[codes[lacking] != redo_rows.UNSUPPORTED]:
            members = batch.slice(row, 1).to_pylist()[0]
            statement = members[redo_rows.SQL_REDO] or ""
            if self._options.numbers_columns and '"COL ' in statement:
                actions[row] = hold_kernel.CHANGES
                continue
            actions[row] = hold_kernel.NOTHING
            table = f"{members[redo_rows.SEG_OWNER]}.{members[redo_rows.TABLE_NAME]}"
            scn = members[redo_rows.SCN]
            info = members[redo_rows.INFO] or "STATUS is 2"
            self._options.failed(
                HeadraceError(
                    "oracle.redo_not_reconstructed",
                    f"LogMiner returns no statement for a change of {table} at SCN {scn}: {info}",
                    "The table's columns changed since then, or have types that LogMiner does not "
                    "mine: set log.mining.strategy=hybrid, or "
                    "event.processing.failure.handling.mode=warn, which leaves out these changes.",
                )
            )


def _is_sound(batch: pa.RecordBatch, codes: np.ndarray, effects: np.ndarray) -> np.ndarray:
    """Return a mask of the rows with STATUS 2 and no reason in INFO, whose statements are good:
    LogMiner returns updates of tables with LONG columns in this way."""
    reasons = pc.utf8_trim_whitespace(batch.column(redo_rows.INFO).slice(0, len(effects)))
    has_none = pc.equal(reasons.fill_null(""), "").to_numpy(zero_copy_only=False)
    is_lacking = effects[:, hold_kernel.ACTION] == hold_kernel.LACKING_STATEMENT
    is_known = codes != redo_rows.UNSUPPORTED
    return np.asarray(
        is_lacking & is_known & has_none & (effects[:, hold_kernel.IMAGES_BYTES] > 0), bool
    )


def _warn_of_gaps(codes: np.ndarray, scns: np.ndarray) -> None:
    missing = scns[codes == redo_rows.MISSING_SCN]
    if len(missing):
        log.warning("LogMiner reports missing redo at SCN %d", int(missing[0]))
