"""Changes of a table as versions of its rows: each one with the time from which and until which it
is valid."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headrace.connect.rows import DIGITS_AFTER_POSITION, EPOCH_DIGITS, RowKind
from headrace.sinks.replicas.applying.equality import equal_values
from headrace.sinks.replicas.applying.folding import Folding
from headrace.sinks.replicas.applying.gathering import gathered
from headrace.sinks.replicas.changes.part import (
    COMMIT_TIME,
    OLD_KEY,
    OPERATION,
    SEQUENCE,
    Operation,
)
from headrace.sinks.replicas.files.reading import conformed
from headrace.sinks.replicas.keys import ABSENT, KeySet
from headrace.sinks.replicas.modes.mode import Mode
from headrace.sinks.replicas.modes.own_columns import (
    FROM_PLACE,
    INSTANT,
    IS_CURRENT,
    OWN_COLUMNS,
    TO_PLACE,
    VALID_FROM,
    VALID_TO,
    current_keys,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headrace.sinks.replicas.lake import TableSchema

Truncate = tuple[str, int]
"""The sequence of a TRUNCATE, and the time of its commit (microseconds)."""


class Versions(Folding):
    """The versions that changes of one table make, given as to `Folding`. `schema` has the columns
    and the key of the source.

    Each change except a delete makes a version. It is valid from the change until the next one of
    its key, a delete and a TRUNCATE included. A row that was read by a snapshot makes none if it
    equals the version before it. The current versions that the table has of the touched keys come
    again, closed by the first change of their key, or as they are without one.

    Rows of a snapshot may have been read after changes that the log brings later (see
    `Part.shown_until`). The version of such a row begins where it was read. The first change before
    that position replaces the version instead of closing it, because nobody read what was valid
    before the change. If the table has a version of the row that the same snapshot read earlier,
    the row that was read again makes none.
    """

    def __init__(
        self,
        changes: Sequence[pa.Table],
        schema: TableSchema,
        truncates: Sequence[Truncate] = (),
        *,
        drops_unknown: bool = False,
        defaults: Mapping[str, object] | None = None,
        table: str = "",
        shown_until: Sequence[str] = (),
    ) -> None:
        deletes = [
            table_of_deletes
            for truncate in truncates
            if (table_of_deletes := _deletes(changes, schema, truncate)) is not None
        ]
        super().__init__(
            [*changes, *deletes],
            schema,
            drops_unknown=drops_unknown,
            defaults=defaults,
            table=table,
            shown_until=[*(shown_until or [""] * len(changes)), *[""] * len(deletes)],
        )

    def _chosen(self, order: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return all changes except deletes, in the order of the log."""
        chosen: NDArray[np.int64] = order[self._operations[order] != Operation.DELETE]
        return chosen

    @property
    def scanned(self) -> KeySet:
        """See Folding: the keys of current versions."""
        return KeySet(current_keys(self.keys))

    def needed(self) -> tuple[pa.Table, tuple[str, ...]] | None:
        """See Folding: all columns of all keys."""
        others = [name for name in self._schema.names if name not in self._schema.key]
        own_names = [
            column.name for column in OWN_COLUMNS[Mode.HISTORY] if column.name != IS_CURRENT
        ]
        return current_keys(self.keys), (*others, *own_names)

    def rows(self, stored_rows: pa.Table | None) -> pa.Table:
        """Return the versions, in the order of the keys and of their beginning. `stored_rows` has
        the current versions of the table. Raises as `Folding.rows`."""
        versions = super().rows(stored_rows)
        stored, numbers = self._stored(stored_rows)
        count, first = len(versions), len(versions) + len(stored)
        deletes = np.flatnonzero(self._operations == Operation.DELETE)
        # Entries are versions of changes, stored versions, and deletes, which have no row.
        keys = np.concatenate([self._keys[self._made], numbers, self._keys[deletes]])
        positions = self._changes.positions()
        places = _joined(
            [gathered(positions, self._made), stored[FROM_PLACE], gathered(positions, deletes)]
        )
        times = _joined(
            [
                gathered(self._changes.own(COMMIT_TIME, INSTANT), self._made),
                stored[VALID_FROM],
                gathered(self._changes.own(COMMIT_TIME, INSTANT), deletes),
            ]
        )
        ranks = np.concatenate(
            [self._ranks[self._made], _stored_ranks(stored), self._ranks[deletes]]
        )
        entries = np.lexsort((ranks, keys))
        if self._may_show_changes(stored):
            entries = entries[~self._superseded(entries, keys, places)]
        columns = {
            column.name: _joined([versions[column.name], stored[column.name]])
            for column in self._schema.columns
        }
        entries = entries[~self._repeats(entries, keys, columns, count, first)]
        following = np.full(len(entries), ABSENT, np.int64)
        following[:-1] = np.where(keys[entries[1:]] == keys[entries[:-1]], entries[1:], ABSENT)
        following = following[entries < first]
        entries = entries[entries < first]
        is_current = following == ABSENT
        columns_of_rows = {name: gathered(column, entries) for name, column in columns.items()}
        columns_of_rows[VALID_FROM] = gathered(times, entries)
        columns_of_rows[VALID_TO] = gathered(times, following, ~is_current)
        columns_of_rows[FROM_PLACE] = gathered(places, entries)
        columns_of_rows[TO_PLACE] = gathered(places, following, ~is_current)
        columns_of_rows[IS_CURRENT] = pa.chunked_array([pa.array(is_current)])
        self.upserted = int((entries < count).sum()) + self.left_out
        self.deleted = int((~is_current & (entries >= count)).sum())
        rows = pa.table(columns_of_rows)
        by_key = [(name, "ascending") for name in (*self._schema.key, FROM_PLACE)]
        by = pa.table([rows[name] for name, _ in by_key], names=[name for name, _ in by_key])
        in_order = pc.sort_indices(by, sort_keys=by_key).to_numpy()
        return pa.table({n: gathered(c, in_order) for n, c in columns_of_rows.items()})

    def _stored(self, stored_rows: pa.Table | None) -> tuple[pa.Table, NDArray[np.int64]]:
        """Return the stored versions of the touched keys, in the types of the table, and the
        numbers of their keys."""
        columns = (*self._schema.columns, *OWN_COLUMNS[Mode.HISTORY])
        if stored_rows is None:
            empty = pa.schema([(column.name, column.type) for column in columns]).empty_table()
            return empty, np.zeros(0, np.int64)
        numbers = self.key_set.numbers_of([stored_rows[name] for name in self._schema.key])
        rows = np.flatnonzero(numbers != ABSENT)
        stored = {
            c.name: gathered(conformed(stored_rows[c.name], c.type, c.name, self._table), rows)
            for c in columns
        }
        return pa.table(stored), numbers[rows]

    def _may_lack_values(self) -> NDArray[np.bool_]:
        """See Folding: also changes of a row that the snapshot did not find, because a later one
        deletes it."""
        are_shown = self._changes.are_shown()
        last_deletes = np.full(len(self.key_set), ABSENT, np.int64)
        deletes = np.flatnonzero(are_shown & (self._operations == Operation.DELETE))
        np.maximum.at(last_deletes, self._keys[deletes], self._ranks[deletes])
        are_deleted = self._ranks[self._rows] < last_deletes[self._keys[self._rows]]
        may_lack: NDArray[np.bool_] = super()._may_lack_values() | are_deleted
        return may_lack

    def _may_show_changes(self, stored: pa.Table) -> bool:
        """Return whether rows of a snapshot are among the changes, or among the stored versions and
        begin after the first change."""
        if (self._operations == Operation.READ).any():
            return True
        first = np.flatnonzero(self._ranks == 0)
        if not len(first) or not stored.num_rows:
            return False
        place = self._changes.own(SEQUENCE, pa.string()).take(pa.array(first))[0]
        return bool(pc.any(pc.greater(stored[FROM_PLACE], place)).as_py())

    def _superseded(
        self,
        entries: NDArray[np.int64],
        keys: NDArray[np.int64],
        places: pa.ChunkedArray,
    ) -> NDArray[np.bool_]:
        """Return which entries are rows of a snapshot that show the next entry of their key, or
        that were read again."""
        superseded = np.zeros(len(entries), np.bool_)
        is_same_key = keys[entries[:-1]] == keys[entries[1:]]
        if not is_same_key.any():
            return superseded
        ordered = gathered(places, entries)
        end = -DIGITS_AFTER_POSITION
        kinds = pc.utf8_slice_codeunits(ordered, end, end + 1)
        of_snapshot = pc.equal(kinds, str(int(RowKind.SNAPSHOT))).to_numpy()
        shows_next = pc.greater(ordered[:-1], ordered[1:]).to_numpy() & of_snapshot[:-1]
        superseded[:-1] = is_same_key & shows_next
        epochs = pc.utf8_slice_codeunits(ordered, 0, EPOCH_DIGITS)
        is_same_snapshot = pc.equal(epochs[:-1], epochs[1:]).to_numpy()
        is_same_snapshot &= of_snapshot[:-1] & of_snapshot[1:]
        superseded[1:] |= is_same_key & is_same_snapshot & ~superseded[:-1]
        return superseded

    def _repeats(
        self,
        entries: NDArray[np.int64],
        keys: NDArray[np.int64],
        columns: Mapping[str, pa.ChunkedArray],
        count: int,
        first: int,
    ) -> NDArray[np.bool_]:
        """Return which entries are rows that a snapshot read and that equal the version before
        them."""
        repeats = np.zeros(len(entries), np.bool_)
        is_read = np.zeros(len(keys), np.bool_)
        is_read[:count] = self._operations[self._made] == Operation.READ
        former, later = entries[:-1], entries[1:]
        candidates = np.flatnonzero(
            is_read[later] & (former < first) & (keys[former] == keys[later])
        )
        # A column that the source does not have, or no longer, is null in every change.
        for column in (values for name, values in columns.items() if self._changes.has(name)):
            if not len(candidates):
                break
            left = gathered(column, former[candidates]).combine_chunks()
            right = gathered(column, later[candidates]).combine_chunks()
            candidates = candidates[equal_values(_one(left), _one(right))]
        repeats[candidates + 1] = True
        return repeats


def closed(rows: pa.Table, truncate: Truncate) -> pa.Table:
    """Return current versions, closed at a TRUNCATE, or at another place in the log. A version that
    begins after this place, or after its time, ends where or when it begins."""
    place, time = truncate
    begins, begun = rows[FROM_PLACE], rows[VALID_FROM]
    end = pa.scalar(time, pa.int64()).cast(INSTANT)
    ends = {
        VALID_TO: pc.if_else(pc.greater(begun, end), begun, end),
        TO_PLACE: pc.if_else(pc.greater(begins, place), begins, pa.scalar(place, pa.string())),
        IS_CURRENT: pa.repeat(pa.scalar(False), rows.num_rows),
    }
    for name, values in ends.items():
        rows = rows.set_column(rows.column_names.index(name), name, values)
    return rows


def _deletes(
    changes: Iterable[pa.Table], schema: TableSchema, truncate: Truncate
) -> pa.Table | None:
    """Return a TRUNCATE as deletes of all keys of the changes; None: no keys."""
    folding = Folding(
        [_without_values(table_of_part, schema) for table_of_part in changes], _of_key(schema)
    )
    keys = folding.keys
    if not keys.num_rows:
        return None
    place, time = truncate
    count = keys.num_rows
    own_columns = {
        SEQUENCE: pa.repeat(pa.scalar(place, pa.large_string()), count),
        OPERATION: pa.repeat(pa.scalar(int(Operation.DELETE), pa.int8()), count),
        COMMIT_TIME: pa.repeat(pa.scalar(time, pa.int64()).cast(INSTANT), count),
    }
    return pa.table({**own_columns, **{name: keys[name] for name in keys.column_names}})


def _without_values(changes: pa.Table, schema: TableSchema) -> pa.Table:
    names = [SEQUENCE, OPERATION, *schema.key]
    return changes.select([*names, *([OLD_KEY] if OLD_KEY in changes.column_names else [])])


def _of_key(schema: TableSchema) -> TableSchema:
    return replace(schema, columns=tuple(c for c in schema.columns if c.name in schema.key))


def _stored_ranks(stored: pa.Table) -> NDArray[np.int64]:
    """Return ranks before those of all changes, in the order of the beginning."""
    order = pc.sort_indices(stored, sort_keys=[(FROM_PLACE, "ascending")]).to_numpy()
    ranks = np.empty(len(order), np.int64)
    ranks[order] = np.arange(len(order)) - len(order)
    return ranks


def _joined(columns: Sequence[pa.ChunkedArray]) -> pa.ChunkedArray:
    kind = columns[0].type
    chunks = [chunk for column in columns for chunk in column.cast(kind).chunks]
    return pa.chunked_array(chunks, kind)


def _one(array: pa.Array | pa.ChunkedArray) -> pa.Array:
    return array if isinstance(array, pa.Array) else array.chunk(0)
