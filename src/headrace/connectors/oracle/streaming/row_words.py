"""What each row of redo does, as the words that `hold_kernel` reads."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headrace.connect.kernels.memory import PADDING, address_of
from headrace.connectors.oracle.streaming import frames, redo_rows
from headrace.connectors.oracle.streaming.lobs import frames as lob_frames
from headrace.connectors.oracle.streaming.transactions import hold_kernel
from headrace.connectors.oracle.streaming.transactions.buffer import Names
from headrace.errors import HeadraceError

log = logging.getLogger(__name__)

_SEPARATOR = "\0"
_UNKNOWN = "UNKNOWN"
_NO_ROW = 0
"""No row's hash: a rollback takes back changes of rows, and `lobs.merging` their values."""
_UNKNOWN_SEQUENCE = 0xFFFFFFFF
"""The last half of a transaction's id whose sequence LogMiner does not know."""
_TEMPORARY = "No SQL_REDO for temporary tables"


class RowTable(Protocol):
    """A captured table, as rows of redo see it."""

    @property
    def relation(self) -> int:
        """The relation version of its records."""
        ...

    @property
    def model(self) -> int:
        """Its number among the tables of the parser."""
        ...

    @property
    def has_apart(self) -> bool:
        """Whether the redo may hold values apart from its rows."""
        ...


class Images(Protocol):
    """Images of many statements, one behind the other: row i has the bytes from `offsets[i]` to
    `offsets[i + 1]` of `images`, and is the change `operations[i]` (c, u or d); the rows in
    `errors` are none."""

    @property
    def images(self) -> np.ndarray: ...

    @property
    def offsets(self) -> np.ndarray: ...

    @property
    def operations(self) -> np.ndarray: ...

    @property
    def errors(self) -> Mapping[int, HeadraceError]: ...


Parse = Callable[[pa.Array, np.ndarray], Images]
"""Makes images of statements; the other argument is the model of each."""
HeldRow = Callable[[int, str | None, str | None, int], tuple[int, bytes]]
"""What is held of a row that tells of a value apart from its row: the kind of the frame, and what
it has in place of images. Arguments: OPERATION_CODE, SQL_REDO, INFO, the model of the table."""


@dataclass(frozen=True)
class RowOptions:
    """`shows_redo` and `shows_ssn`: source.redo_sql and source.ssn are filled. `failure`:
    event.processing.failure.handling.mode. `numbers_columns`: statements that LogMiner could not
    make have numbers for the names of columns (log.mining.strategy=hybrid)."""

    shows_redo: bool = False
    shows_ssn: bool = False
    failure: str = "fail"
    numbers_columns: bool = False

    def failed(self, error: HeadraceError) -> None:
        """As event.processing.failure.handling.mode says."""
        if self.failure == "fail":
            raise error
        if self.failure == "warn":
            log.warning("%s: the change is left out", error.message)


class RowWords:
    """Makes words of rows; `find` gives the captured table of a schema and a name, if it is one."""

    def __init__(
        self,
        find: Callable[[str, str], RowTable | None],
        parse: Parse,
        users: Names,
        clients: Names,
        options: RowOptions,
        held_row: HeldRow | None = None,
    ) -> None:
        """`held_row`: values apart from their rows are captured (lob.enabled)."""
        self._find, self._parse, self._options = find, parse, options
        self._held_row = held_row
        self._users, self._clients = users, clients
        self.offset_us = 0
        """How far the database's local time is ahead of UTC."""
        self.kept: list[object] = []
        """What the words of the last batch point into."""

    def of(self, batch: pa.RecordBatch, delivered: np.ndarray) -> np.ndarray:
        """The words of a batch without DDL (int64, ROW_WORDS per row). `delivered`: mask of the
        commits that were delivered before. Raises HeadraceError for a statement that is not
        understood."""
        words = self._heads(batch)
        codes = redo_rows.numbers(batch, redo_rows.OPERATION_CODE)
        words[:, hold_kernel.ROW_HASH] = _hashes(batch.column(redo_rows.ROW_ID))
        actions = words[:, hold_kernel.ACTION]
        actions[codes == redo_rows.START] = hold_kernel.STARTS
        actions[codes == redo_rows.COMMIT] = hold_kernel.COMMITS
        actions[delivered] = hold_kernel.ENDS
        ends = (codes == redo_rows.ROLLED_BACK) | (codes == redo_rows.REPLICATION_MARKER)
        actions[ends] = hold_kernel.ENDS
        changes = (
            (codes == redo_rows.INSERT) | (codes == redo_rows.UPDATE) | (codes == redo_rows.DELETE)
        )
        undone = redo_rows.numbers(batch, redo_rows.ROLLBACK) != 0
        actions[changes & undone] = hold_kernel.CANCELS
        if self._held_row is not None:
            apart = np.isin(codes, lob_frames.CODES)
            words[apart, hold_kernel.ROW_HASH] = _NO_ROW
            self._add_apart(batch, np.flatnonzero(apart & ~undone), codes, self._held_row, words)
            self._add_undone(batch, np.flatnonzero(changes & undone), codes, words)
        self._add_changes(batch, np.flatnonzero(changes & ~undone), words)
        _warn_of_gaps(codes, words[:, hold_kernel.SCN])
        return words

    def truncate(self, row: pa.RecordBatch, relation: int) -> np.ndarray:
        """The words of the only row of a batch, a truncation of a table."""
        words = self._heads(row)
        words[:, hold_kernel.ACTION] = hold_kernel.CHANGES
        words[:, hold_kernel.KIND] = frames.TRUNCATE
        words[:, hold_kernel.RELATION] = relation
        self._add_texts(row, np.zeros(1, np.int64), words)
        return words

    def _heads(self, batch: pa.RecordBatch) -> np.ndarray:
        """What all rows have."""
        words = np.zeros((len(batch), hold_kernel.ROW_WORDS), np.int64)
        self.kept = [batch]
        words[:, hold_kernel.SCN] = redo_rows.numbers(batch, redo_rows.SCN)
        words[:, hold_kernel.XID] = redo_rows.transaction_ids(batch)
        words[:, hold_kernel.US] = redo_rows.microseconds(batch, self.offset_us)
        words[:, hold_kernel.THREAD] = redo_rows.numbers(batch, redo_rows.THREAD)
        words[:, hold_kernel.USER] = _numbered(batch, redo_rows.USERNAME, self._users)
        words[:, hold_kernel.CLIENT] = _numbered(batch, redo_rows.CLIENT_ID, self._clients)
        words[:, hold_kernel.SSN] = -1
        return words

    # -- changes --------------------------------------------------------------------------------

    def _add_changes(self, batch: pa.RecordBatch, rows: np.ndarray, words: np.ndarray) -> None:
        """The words of changes of captured tables; those of others stay without action."""
        if len(rows) == 0:
            return
        changed = batch if len(rows) == len(batch) else batch.take(pa.array(rows))
        relations, models, apart = self._tables_of(changed)
        texts = changed.column(redo_rows.SQL_REDO)
        sound = relations >= 0
        if texts.null_count:
            sound &= texts.is_valid().to_numpy(zero_copy_only=False)
        has_none = pc.or_(pc.equal(texts, ""), pc.match_substring(texts, _TEMPORARY))
        sound &= ~has_none.fill_null(True).to_numpy(zero_copy_only=False)
        sound &= self._are_reconstructed(changed, sound)
        if not sound.all():
            rows, relations, models, apart = (
                part[sound] for part in (rows, relations, models, apart)
            )
            changed = changed.filter(pa.array(sound))
            texts = changed.column(redo_rows.SQL_REDO)
        if len(rows) == 0:
            return
        parsed = self._parse(texts, models)
        self.kept += [changed, parsed.images, parsed.offsets]
        words[rows, hold_kernel.ACTION] = hold_kernel.CHANGES
        words[rows, hold_kernel.RELATION] = relations
        words[rows, hold_kernel.KIND] = parsed.operations
        words[rows, hold_kernel.IMAGES] = address_of(parsed.images) + parsed.offsets[:-1]
        words[rows, hold_kernel.IMAGES_BYTES] = np.diff(parsed.offsets)
        if self._held_row is not None:
            words[rows, hold_kernel.MARK] = apart
        self._add_texts(changed, rows, words)
        for row, error in parsed.errors.items():
            self._options.failed(error)
            words[rows[row], hold_kernel.ACTION] = hold_kernel.NOTHING

    def _add_texts(self, changed: pa.RecordBatch, rows: np.ndarray, words: np.ndarray) -> None:
        """What the source block shows of a row."""
        rs_ids = pc.utf8_trim_whitespace(changed.column(redo_rows.RS_ID))
        row_ids = changed.column(redo_rows.ROW_ID)
        shown = pc.if_else(pc.equal(pc.utf8_trim_whitespace(row_ids), ""), None, row_ids)
        shown = shown.cast(pa.string())
        self.kept += [rs_ids, shown]
        columns = [(hold_kernel.RS_ID, rs_ids), (hold_kernel.ROW_ID, shown)]
        if self._options.shows_redo:
            columns.append((hold_kernel.REDO, changed.column(redo_rows.SQL_REDO)))
        for word, column in columns:
            words[rows, word], words[rows, word + 1] = redo_rows.text_words(column)
        if self._options.shows_ssn:
            words[rows, hold_kernel.SSN] = redo_rows.numbers(changed, redo_rows.SSN)

    def _add_apart(
        self,
        batch: pa.RecordBatch,
        rows: np.ndarray,
        codes: np.ndarray,
        held_row: HeldRow,
        words: np.ndarray,
    ) -> None:
        """The words of rows that tell of values apart from their rows. They are read one at a time:
        each is a part of a large value."""
        if len(rows) == 0:
            return
        told = batch.take(pa.array(rows))
        relations, models, _ = self._tables_of(told)
        statements, infos = (told.column(name) for name in (redo_rows.SQL_REDO, redo_rows.INFO))
        for place in np.flatnonzero(relations >= 0):
            row, statement, info = rows[place], statements[place].as_py(), infos[place].as_py()
            try:
                kind, raw = held_row(int(codes[row]), statement, info, int(models[place]))
            except HeadraceError as error:
                self._options.failed(error)
                continue
            image = np.frombuffer(raw + bytes(PADDING), np.uint8)
            self.kept.append(image)
            words[row, hold_kernel.ACTION] = hold_kernel.CHANGES
            words[row, hold_kernel.RELATION] = relations[place]
            words[row, hold_kernel.KIND] = kind
            words[row, hold_kernel.IMAGES] = address_of(image)
            words[row, hold_kernel.IMAGES_BYTES] = len(raw)
            words[row, hold_kernel.MARK] = 1
        captured = relations >= 0
        self._add_texts(told.filter(pa.array(captured)), rows[captured], words)

    def _add_undone(
        self, batch: pa.RecordBatch, rows: np.ndarray, codes: np.ndarray, words: np.ndarray
    ) -> None:
        """The words of rows that take back changes of tables whose values the redo may hold apart:
        they are held, too, so that what they take back is found when the transaction is whole."""
        rows = rows[(words[rows, hold_kernel.XID] & _UNKNOWN_SEQUENCE) != _UNKNOWN_SEQUENCE]
        if len(rows) == 0:
            return
        undone = batch.take(pa.array(rows))
        relations, _, apart = self._tables_of(undone)
        rows, relations = rows[apart], relations[apart]
        operations = np.append(codes[rows].astype(np.uint8), np.zeros(PADDING, np.uint8))
        self.kept.append(operations)
        words[rows, hold_kernel.ACTION] = hold_kernel.CHANGES
        words[rows, hold_kernel.RELATION] = relations
        words[rows, hold_kernel.KIND] = lob_frames.UNDOES
        words[rows, hold_kernel.ROW_HASH] = _NO_ROW
        words[rows, hold_kernel.IMAGES] = address_of(operations) + np.arange(len(rows))
        words[rows, hold_kernel.IMAGES_BYTES] = 1
        words[rows, hold_kernel.MARK] = 1
        self._add_texts(undone.filter(pa.array(apart)), rows, words)

    def _tables_of(self, changed: pa.RecordBatch) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Of each row the relation version (-1: its table is not captured), the model, and whether
        the redo may hold values apart from its rows."""
        names = pc.binary_join_element_wise(
            changed.column(redo_rows.SEG_OWNER), changed.column(redo_rows.TABLE_NAME), _SEPARATOR
        )
        encoded = names.dictionary_encode()
        relations, models, apart = [-1], [-1], [False]
        for name in encoded.dictionary.to_pylist():
            table = self._find(*name.split(_SEPARATOR, 1))
            relations.append(-1 if table is None else table.relation)
            models.append(-1 if table is None else table.model)
            apart.append(table is not None and table.has_apart)
        numbers = encoded.indices.cast(pa.int64()).fill_null(-1).to_numpy(zero_copy_only=False) + 1
        return (
            np.array(relations, np.int64)[numbers],
            np.array(models, np.int32)[numbers],
            np.array(apart)[numbers],
        )

    def _are_reconstructed(self, changed: pa.RecordBatch, captured: np.ndarray) -> np.ndarray:
        """Mask of the rows whose statement LogMiner could make; an error or a warning tells of the
        others of captured tables."""
        lacking = redo_rows.numbers(changed, redo_rows.STATUS) == redo_rows.NOT_RECONSTRUCTED
        lacking &= captured
        if self._options.numbers_columns:
            statements = changed.column(redo_rows.SQL_REDO)
            has_columns = pc.match_substring(statements, '"COL ').fill_null(False)
            lacking &= ~has_columns.to_numpy(zero_copy_only=False)
        for row in np.flatnonzero(lacking):
            one = changed.slice(row, 1).to_pylist()[0]
            table = f"{one[redo_rows.SEG_OWNER]}.{one[redo_rows.TABLE_NAME]}"
            self._options.failed(
                HeadraceError(
                    "oracle.redo_not_reconstructed",
                    f"LogMiner gives no statement for a change of {table} at SCN "
                    f"{one[redo_rows.SCN]}: {one[redo_rows.INFO] or 'STATUS is 2'}",
                    "The table's columns changed since then, or have types that LogMiner does not "
                    "mine: set log.mining.strategy=hybrid, or "
                    "event.processing.failure.handling.mode=warn, which leaves such changes out.",
                )
            )
        return np.asarray(~lacking)


def _numbered(batch: pa.RecordBatch, column: str, names: Names) -> np.ndarray:
    """The numbers of names, -1 where they are null, or LogMiner does not know them."""
    encoded = batch.column(column).dictionary_encode()
    numbers = (
        -1 if name == _UNKNOWN else names.number(name) for name in encoded.dictionary.to_pylist()
    )
    own = np.array([-1, *numbers])
    places = encoded.indices.cast(pa.int64()).fill_null(-1).to_numpy(zero_copy_only=False) + 1
    return np.asarray(own[places], np.int64)


def _hashes(row_ids: pa.Array) -> np.ndarray:
    """Numbers that tell row ids apart."""
    column = row_ids.fill_null("")
    hashes = np.empty(len(column), np.int64)
    addresses, sizes = redo_rows.text_words(column)
    hold_kernel.hash_texts(
        address_of(addresses), address_of(sizes), len(column), address_of(hashes)
    )
    return hashes


def _warn_of_gaps(codes: np.ndarray, scns: np.ndarray) -> None:
    missing = scns[codes == redo_rows.MISSING_SCN]
    if len(missing):
        log.warning("LogMiner tells of redo that is missing at SCN %d", int(missing[0]))
