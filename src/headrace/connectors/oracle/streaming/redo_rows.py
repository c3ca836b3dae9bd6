"""Rows of V$LOGMNR_CONTENTS as columns, whole statements in one row each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

SCN, SQL_REDO, OPERATION_CODE, TIMESTAMP, XID, CSF = (
    "SCN", "SQL_REDO", "OPERATION_CODE", "TIMESTAMP", "XID", "CSF",
)  # fmt: skip
TABLE_NAME, SEG_OWNER, ROW_ID, ROLLBACK, STATUS, INFO = (
    "TABLE_NAME", "SEG_OWNER", "ROW_ID", "ROLLBACK", "STATUS", "INFO",
)  # fmt: skip
SSN, THREAD, RS_ID, USERNAME, CLIENT_ID = "SSN", "THREAD#", "RS_ID", "USERNAME", "CLIENT_ID"
COMMIT_SCN, OBJECT, SEQUENCE = "COMMIT_SCN", "DATA_OBJ#", "SEQUENCE#"

_NUMBERS = (SCN, OPERATION_CODE, CSF, ROLLBACK, STATUS, SSN, THREAD, OBJECT, "DATA_OBJV#",
            "START_SCN", COMMIT_SCN, SEQUENCE)  # fmt: skip
_TEXTS = (TABLE_NAME, SEG_OWNER, ROW_ID, INFO, RS_ID, USERNAME, CLIENT_ID)

REDO = pa.schema(
    [
        *(pa.field(name, pa.int64()) for name in _NUMBERS),
        pa.field(TIMESTAMP, pa.timestamp("us")),
        pa.field(XID, pa.binary()),
        *(pa.field(name, pa.string()) for name in _TEXTS),
        pa.field(SQL_REDO, pa.large_string()),
    ]
)
"""The columns that are used; columns that were not read are null."""

# V$LOGMNR_CONTENTS.OPERATION_CODE
INTERNAL, INSERT, DELETE, UPDATE, DDL, START, COMMIT = 0, 1, 2, 3, 5, 6, 7
SELECT_LOB_LOCATOR, LOB_WRITE, LOB_TRIM, REPLICATION_MARKER, LOB_ERASE = 9, 10, 11, 27, 29
MISSING_SCN, ROLLED_BACK, XML_BEGIN, XML_WRITE, XML_END = 34, 36, 68, 70, 71
LONG_BEGIN, LONG_WRITE, LONG_END, UNSUPPORTED = 91, 92, 93, 255
"""LONG_… are operations on extended strings (32K_BEGIN, 32K_WRITE, 32K_END)."""

NOT_RECONSTRUCTED = 2
"""V$LOGMNR_CONTENTS.STATUS of a row for which LogMiner could not make a statement."""


def redo_batch(names: Sequence[str], rows: Sequence[Sequence[object]]) -> pa.RecordBatch:
    """Return rows of the driver, with columns of these names, as a batch. Raises
    pyarrow.ArrowException for values of other types."""
    columns = dict(zip(names, zip(*rows, strict=True), strict=True)) if rows else {}
    arrays = [
        pa.array(columns[field.name], field.type)
        if field.name in columns
        else pa.nulls(len(rows), field.type)
        for field in REDO
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=REDO)


class StatementParts:
    """Joins statements that LogMiner returns in several rows (CSF = 1: the next row continues). A
    statement whose last rows are not fetched yet is kept for the next batch."""

    def __init__(self) -> None:
        self._kept: pa.RecordBatch | None = None

    def whole(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return the rows of a batch, and the kept ones of the batch before, with whole
        statements."""
        if self._kept is not None:
            batch = pa.concat_batches([self._kept, batch])
            self._kept = None
        goes_on = numbers(batch, CSF) != 0
        if not goes_on.any():
            return batch
        if goes_on[-1]:
            ends = np.flatnonzero(~goes_on)
            first = int(ends[-1]) + 1 if len(ends) else 0
            self._kept = batch.slice(first)
            batch, goes_on = batch.slice(0, first), goes_on[:first]
            if not first:
                return batch
        firsts = np.flatnonzero(~np.append(False, goes_on[:-1]))
        return _joined(batch, firsts)

    def rest(self) -> pa.RecordBatch | None:
        """Return the kept statement, which does not continue: the window ended. None: nothing is
        kept."""
        statement, self._kept = self._kept, None
        return None if statement is None else _joined(statement, np.zeros(1, np.int64))


def _joined(batch: pa.RecordBatch, firsts: np.ndarray) -> pa.RecordBatch:
    """Return one row of each statement, its first one; `firsts` are their numbers. Parts lie one
    after the other in the memory of their column, so a statement is the bytes between its first
    part and the next statement: a part may end inside of a character."""
    texts = batch.column(SQL_REDO)
    _, offsets, values = texts.buffers()
    places = np.frombuffer(offsets, np.int64)[texts.offset : texts.offset + len(texts) + 1]
    bounds = places[np.append(firsts, len(texts))]
    has_text = texts.take(pa.array(firsts)).is_valid().to_numpy(zero_copy_only=False)
    valid = np.packbits(has_text | (np.diff(bounds) > 0), bitorder="little")
    statements = pa.LargeStringArray.from_buffers(
        len(firsts), pa.py_buffer(bounds), values or pa.py_buffer(b""), pa.py_buffer(valid)
    )
    joined = batch.take(pa.array(firsts))
    place = joined.schema.get_field_index(SQL_REDO)
    return joined.set_column(place, SQL_REDO, statements)


def numbers(batch: pa.RecordBatch, name: str) -> np.ndarray:
    """Return a column of numbers (int64), 0 where they are null."""
    column = batch.column(name)
    if column.null_count:
        column = column.fill_null(0)
    return _values(column)


def _values(column: pa.Array) -> np.ndarray:
    """Return the memory of a column of 64 bits without nulls."""
    if len(column) == 0:
        return np.zeros(0, np.int64)
    return np.frombuffer(column.buffers()[1], np.int64, len(column), 8 * column.offset)


def microseconds(batch: pa.RecordBatch, offset_us: int) -> np.ndarray:
    """Return TIMESTAMP as microseconds since 1970 UTC: it is the database's local time, which is
    `offset_us` microseconds ahead."""
    column = batch.column(TIMESTAMP).view(pa.int64())
    if column.null_count:
        column = column.fill_null(offset_us)
    return np.asarray(_values(column) - offset_us, np.int64)


def transaction_ids(batch: pa.RecordBatch, rows: np.ndarray | None = None) -> np.ndarray:
    """Return XID as numbers (int64 with the bits of the unsigned number), 0 where they are null: of
    all rows, or of those with these numbers."""
    column = batch.column(XID)
    if rows is not None:
        column = column.take(pa.array(rows, pa.int64()))
    ids = np.zeros(len(column), np.int64)
    raw = column.fill_null(bytes(8)) if column.null_count else column
    _, offsets, values = raw.buffers()
    bounds = np.frombuffer(offsets, np.int32)[raw.offset : raw.offset + len(raw) + 1]
    if len(raw) and values is not None and bool(np.all(np.diff(bounds) == ids.itemsize)):
        flat = np.frombuffer(values, np.uint8)[bounds[0] : bounds[-1]]
        return flat.view(">i8").astype(np.int64)
    for row, xid in enumerate(raw.to_pylist()):
        ids[row] = int.from_bytes(xid[:8].rjust(8, b"\0"), "big", signed=True)
    return ids


def number_address(batch: pa.RecordBatch, name: str, if_null: int = 0) -> tuple[int, pa.Array]:
    """Return the address of a column of 64 bits of a batch with rows, and the object that keeps it
    alive."""
    column = batch.column(name)
    if column.null_count:
        column = column.fill_null(if_null)
    return column.buffers()[1].address + 8 * column.offset, column


def text_column(column: pa.Array) -> tuple[int, ...]:
    """Return the words of a column of texts or bytes for `row_kernel`, without its tail; valid
    while the column lives."""
    validity, offsets, values = column.buffers()
    wide = pa.types.is_large_string(column.type)
    return (
        validity.address if column.null_count else 0,
        column.offset,
        offsets.address + (8 if wide else 4) * column.offset,
        wide,
        0 if values is None else values.address,
        0 if values is None else values.size,
    )


def runs(breaks: np.ndarray, count: int) -> Iterator[tuple[int, int]]:
    """Yield the bounds of the runs between the rows `breaks` (their numbers, in order), empty
    between two neighbours; one more than breaks."""
    first = 0
    for row in breaks:
        yield first, int(row)
        first = int(row) + 1
    yield first, count
