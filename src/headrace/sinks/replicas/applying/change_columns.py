"""Columns of the changes of one table, over all of its parts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headrace.connect.rows import RowKind
from headrace.sinks.replicas.changes.part import (
    OLD_KEY,
    OPERATION,
    SEQUENCE,
    UNAVAILABLE,
    Operation,
)
from headrace.sinks.replicas.files.reading import conformed

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headrace.sinks.replicas.lake import TableSchema


class ChangeColumns:
    """The changes of one table, given as tables in any order with the columns that the module
    `changes.part` describes. Columns that changes lack, because they are older, have the value of
    `defaults`, or null; columns that `schema` lacks are left out. `table` is for messages.
    `shown_until` is that of the part of each table (see Part; empty: of no part)."""

    def __init__(
        self,
        tables: Sequence[pa.Table],
        schema: TableSchema,
        defaults: Mapping[str, object] | None = None,
        table: str = "",
        shown_until: Sequence[str] = (),
    ) -> None:
        self._tables, self._schema = tables, schema
        self._shown_until = shown_until or [""] * len(tables)
        self._defaults, self._table = defaults or {}, table
        self.count = sum(changes.num_rows for changes in tables)
        """The number of changes."""

    def column(self, name: str) -> pa.ChunkedArray:
        """Return a column of all changes, in the type of the table. Raises
        HeadraceError("replicas.value_not_taken") for values that the column cannot have."""
        kind = self.type_of(name)
        chunks: list[pa.Array] = []
        for changes in self._tables:
            if name in changes.column_names:
                chunks += conformed(changes[name], kind, name, self._table).chunks
            else:
                value = pa.scalar(self._defaults.get(name), kind)
                chunks.append(pa.repeat(value, changes.num_rows))
        return pa.chunked_array(chunks, kind)

    def has(self, name: str) -> bool:
        """Return whether a part has a column of the table."""
        return any(name in changes.column_names for changes in self._tables)

    def own(self, name: str, kind: pa.DataType) -> pa.ChunkedArray:
        """Return a column that every part has besides those of the table, as `kind`."""
        return pa.chunked_array(
            [chunk for changes in self._tables for chunk in changes[name].cast(kind).chunks], kind
        )

    def positions(self) -> pa.ChunkedArray:
        """Return the positions of the changes in the order of the source: their sequences, but for
        rows of a snapshot the place at which they were read, if that is later."""
        chunks: list[pa.Array] = []
        for changes, shown_until in zip(self._tables, self._shown_until, strict=True):
            sequences = changes[SEQUENCE].cast(pa.string())
            if shown_until:
                rest = pc.utf8_slice_codeunits(sequences, len(shown_until))
                is_later = pc.less(sequences, shown_until)
                for condition in (
                    pc.equal(changes[OPERATION], int(Operation.READ)),
                    pc.starts_with(rest, str(int(RowKind.SNAPSHOT))),
                ):
                    is_later = pc.and_(is_later, condition)
                moved = pc.binary_join_element_wise(shown_until, rest, "")
                sequences = pc.if_else(is_later, moved, sequences)
            chunks += sequences.chunks
        return pa.chunked_array(chunks, pa.string())

    def are_shown(self) -> NDArray[np.bool_]:
        """Return a mask of the changes that rows of a snapshot may show."""
        masks = [
            pc.less(changes[SEQUENCE].cast(pa.string()), shown_until).to_numpy()
            if shown_until
            else np.zeros(changes.num_rows, np.bool_)
            for changes, shown_until in zip(self._tables, self._shown_until, strict=True)
        ]
        return np.concatenate(masks) if masks else np.zeros(0, np.bool_)

    def numbers(self, name: str, kind: type) -> NDArray:
        """Return such a column of numbers."""
        arrays = [changes[name].to_numpy() for changes in self._tables]
        return np.concatenate(arrays).astype(kind, copy=False) if arrays else np.zeros(0, kind)

    def keys(self) -> pa.Table:
        """Return the columns of the key."""
        return pa.table({name: self.column(name) for name in self._schema.key})

    def former_keys(self) -> tuple[NDArray[np.int64], pa.Table]:
        """Return the rows with a former key, and these keys."""
        rows, keys, first = [np.zeros(0, np.int64)], [], 0
        kinds = {name: self.type_of(name) for name in self._schema.key}
        for changes in self._tables:
            if OLD_KEY in changes.column_names and changes[OLD_KEY].null_count < changes.num_rows:
                moved = np.flatnonzero(changes[OLD_KEY].is_valid().to_numpy())
                rows.append(first + moved)
                structs = changes[OLD_KEY].take(pa.array(moved))
                members = {
                    name: conformed(pc.struct_field(structs, name), kind, name, self._table)
                    for name, kind in kinds.items()
                }
                keys.append(pa.table(members))
            first += changes.num_rows
        empty = pa.schema(list(kinds.items())).empty_table()
        return np.concatenate(rows), pa.concat_tables([empty, *keys])

    def unavailable(self, name: str) -> NDArray[np.bool_] | None:
        """Return a mask of the changes that do not carry the value of a column; None: all do."""
        if not any(UNAVAILABLE + name in changes.column_names for changes in self._tables):
            return None
        flags = np.concatenate(
            [
                changes[UNAVAILABLE + name].to_numpy().astype(np.bool_)
                if UNAVAILABLE + name in changes.column_names
                else np.zeros(changes.num_rows, np.bool_)
                for changes in self._tables
            ]
        )
        return flags if flags.any() else None

    def order(self) -> NDArray[np.int64] | None:
        """Return the changes in the order of the log; None: they are in it. Equal places keep their
        order."""
        return log_order([changes[SEQUENCE] for changes in self._tables])

    def type_of(self, name: str) -> pa.DataType:
        """Return the type of a column of the table."""
        column = self._schema.column(name)
        assert column is not None
        return column.type


def log_order(sequences: Sequence[pa.ChunkedArray]) -> NDArray[np.int64] | None:
    """Return the rows in the order of the log; None: they are in it. Equal places keep their
    order."""
    chunks = [
        chunk.cast(pa.large_string())
        for column in sequences
        for chunk in column.chunks
        if len(chunk)
    ]
    if not chunks:
        return None
    words = _words(chunks)
    if words is None:
        ranks = pc.rank(pa.chunked_array(chunks), tiebreaker="first").to_numpy()
        return np.argsort(ranks, kind="stable")
    varying = [word for word in words.T if (word != word[0]).any()]
    later = np.zeros(sum(map(len, chunks)) - 1, np.bool_)
    equal = ~later
    for word in varying:
        later |= equal & (word[1:] > word[:-1])
        equal &= word[1:] == word[:-1]
    if (later | equal).all():
        return None
    return np.lexsort(varying[::-1])


def _words(chunks: Sequence[pa.Array]) -> NDArray[np.uint64] | None:
    """Return texts as words that compare as the texts do, one row each; None: their lengths
    differ."""
    matrices = []
    length = None
    for chunk in chunks:
        offsets = np.frombuffer(chunk.buffers()[1], np.int64)
        offsets = offsets[chunk.offset : chunk.offset + len(chunk) + 1]
        lengths = np.diff(offsets)
        length = int(lengths[0]) if length is None else length
        if not length or chunk.null_count or (lengths != length).any():
            return None
        matrix = np.zeros((len(chunk), -(-length // 8) * 8), np.uint8)
        content = np.frombuffer(chunk.buffers()[2], np.uint8)[offsets[0] : offsets[-1]]
        matrix[:, :length] = content.reshape(-1, length)
        matrices.append(matrix)
    return np.concatenate(matrices).view(">u8").astype(np.uint64)
