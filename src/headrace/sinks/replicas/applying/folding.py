"""Changes of a table folded to one row for each key that is not deleted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headrace.errors import HeadraceError
from headrace.sinks.replicas.applying.change_columns import ChangeColumns
from headrace.sinks.replicas.applying.gathering import gathered
from headrace.sinks.replicas.applying.missing_values import Histories, Sources
from headrace.sinks.replicas.changes.part import OPERATION, SEQUENCE, Operation
from headrace.sinks.replicas.files.reading import conformed
from headrace.sinks.replicas.keys import ABSENT, KeySet
from headrace.sinks.replicas.lake import DELETED

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headrace.sinks.replicas.lake import TableSchema


def fold(
    changes: Sequence[pa.Table],
    schema: TableSchema,
    stored_rows: pa.Table | None,
    truncated: str = "",
    *,
    soft_deletes: bool = False,
    defaults: Mapping[str, object] | None = None,
    table: str = "",
) -> pa.Table:
    """Return the rows that remain after changes, with the columns of `schema`; see
    `Folding.rows`."""
    folding = Folding(
        changes, schema, truncated, soft_deletes=soft_deletes, defaults=defaults, table=table
    )
    return folding.rows(stored_rows)


def touched_keys(changes: Sequence[pa.Table], schema: TableSchema) -> pa.Table:
    """Return the distinct keys of changes, former keys included."""
    return Folding(changes, schema).keys


def needed_values(
    changes: Sequence[pa.Table], schema: TableSchema
) -> tuple[pa.Table, tuple[str, ...]] | None:
    """Return the keys whose stored values `fold` needs, and the columns; None: no values are
    needed."""
    return Folding(changes, schema).needed()


class Folding:
    """The fold of the changes of one table, given as tables in any order with the columns that the
    module `changes.part` describes.

    Changes at or before `truncated` are left out. Columns that changes lack, because they are
    older, have the value of `defaults`, or null; columns that `schema` lacks are left out. With
    `soft_deletes` a deleted row stays, and DELETED is true in it. With `drops_unknown` rows with a
    value that is found nowhere are left out: for tables that are being copied, where the copy
    brings these rows. No change carries the columns in `foreign`: a row keeps its value there, and
    a new row has null. `table` is for messages, `shown_until` as for ChangeColumns.

    Raises HeadraceError("replicas.value_not_taken") for values that a column cannot have.
    """

    def __init__(
        self,
        changes: Sequence[pa.Table],
        schema: TableSchema,
        truncated: str = "",
        *,
        soft_deletes: bool = False,
        drops_unknown: bool = False,
        defaults: Mapping[str, object] | None = None,
        foreign: frozenset[str] = frozenset(),
        table: str = "",
        shown_until: Sequence[str] = (),
    ) -> None:
        self._changes = ChangeColumns(
            [_after(table_of_part, truncated) for table_of_part in changes],
            schema,
            defaults,
            table,
            shown_until,
        )
        self._schema = schema
        self._soft = soft_deletes
        self._drops_unknown = drops_unknown
        self.left_out = 0
        """The number of rows that `rows` left out."""
        self._foreign = foreign
        self._table = table
        self._count = self._changes.count
        self._operations = self._changes.numbers(OPERATION, np.int8)
        self._own_keys = self._changes.keys()
        former_rows, former = self._changes.former_keys()
        self.key_set = KeySet(pa.concat_tables([self._own_keys, former]))
        """The keys of the changes, former keys included."""
        self._keys = self.key_set.numbers[: self._count]
        self._former = np.full(self._count, ABSENT, np.int64)
        self._former[former_rows] = self.key_set.numbers[self._count :]
        self._ranks = np.arange(self._count)
        """The place of each change in the order of the log."""
        order = self._changes.order()
        if order is not None:
            self._ranks[order] = np.arange(self._count)
        self.deleted = 0
        """The number of keys that the changes delete."""
        self.upserted = 0
        """The number of keys that have a row after the changes."""
        self._rows = self._chosen(np.arange(self._count) if order is None else order)
        self._unavailable = self._unavailable_flags()
        self._sources = self._find_sources()
        self._made = self._rows
        """The changes of the rows that `rows` returned."""

    def _chosen(self, order: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the changes that become rows: the last one of each key, in the order of the keys.
        `order` are all changes in the order of the log."""
        last = np.full(len(self.key_set), ABSENT, np.int64)
        last[self._keys[order]] = order
        last = last[last != ABSENT]
        is_delete = self._operations[last] == Operation.DELETE
        self.deleted = int(is_delete.sum())
        self.upserted = len(last) - self.deleted
        last = last if self._soft else last[~is_delete]
        by_key = [(name, "ascending") for name in self._schema.key]
        of_last = pa.table({n: gathered(self._own_keys[n], last) for n in self._schema.key})
        places = pc.sort_indices(of_last, sort_keys=by_key)
        rows: NDArray[np.int64] = last[places.to_numpy()]
        return rows

    @property
    def keys(self) -> pa.Table:
        """The distinct keys of the changes, former keys included."""
        return self.key_set.keys

    @property
    def scanned(self) -> KeySet:
        """The keys by which the table is searched for rows that the changes replace."""
        return self.key_set

    def needed(self) -> tuple[pa.Table, tuple[str, ...]] | None:
        """Return the keys whose stored values are needed for the rows, and the columns; None:
        none."""
        numbers = {name: sources.numbers() for name, sources in self._sources.items()}
        numbers = {name: sources for name, sources in numbers.items() if len(sources)}
        if not numbers:
            return None
        places = np.unique(np.concatenate(list(numbers.values())))
        names = [*numbers]
        if self._soft and any((sources.own != ABSENT).any() for sources in self._sources.values()):
            names.append(DELETED)
        return self.keys.take(places), tuple(names)

    def rows(self, stored_rows: pa.Table | None) -> pa.Table:
        """Return one row for each remaining key, in the order of the keys. `stored_rows` has the
        stored values that are needed: the columns of the key, and others. A value that a change
        does not carry is the last one of the row in the changes, also under its former key, or the
        stored one.

        Raises HeadraceError("replicas.value_unknown") if it is found nowhere; with `drops_unknown`
        the row is left out instead.
        """
        stored = self._stored_rows(stored_rows)
        live = self._without_deleted(stored, stored_rows)
        places_of = {name: self._places(name, stored_rows, stored, live) for name in self._sources}
        rows = self._rows
        known = self._known(places_of)
        if known is not None:
            self.left_out = len(rows) - int(known.sum())
            rows = rows[known]
            places_of = {name: places[known] for name, places in places_of.items()}
        self._made = rows
        columns: list[pa.ChunkedArray] = []
        fields: list[pa.Field] = []
        for column in self._schema.columns:
            name = column.name
            if self._soft and name == DELETED:
                is_deleted = self._operations[rows] == Operation.DELETE
                columns.append(pa.chunked_array([pa.array(is_deleted)]))
            elif name in places_of:
                columns.append(self._filled(name, stored_rows, places_of[name]))
            else:
                columns.append(gathered(self._changes.column(name), rows))
            fields.append(pa.field(name, column.type))
        return pa.table(columns, schema=pa.schema(fields))

    def _known(self, places_of: Mapping[str, NDArray[np.int64]]) -> NDArray[np.bool_] | None:
        """Return a mask of the rows that have all their values; None: all rows. Deleted rows may
        lack some."""
        known = self._operations[self._rows] == Operation.DELETE
        must = ~known
        for name, places in places_of.items():
            if name in self._foreign:
                continue
            is_unknown = must & (places == ABSENT)
            if is_unknown.any():
                is_unknown &= ~self._may_lack_values()
            if unknown := int(is_unknown.sum()):
                raise HeadraceError(
                    "replicas.value_unknown",
                    f"{self._table or 'A table'}: the log does not carry the value of the column"
                    f" {name} in {unknown} rows, and the table does not have these rows",
                    f"Copy the table again: headrace resync FILE {self._table or 'TABLE'} "
                    "--checkpoint STATE.",
                )
            must = must & (places != ABSENT)
        known = known | must
        return None if known.all() else known

    def _may_lack_values(self) -> NDArray[np.bool_]:
        """Return a mask of the rows that are left out if a value is found nowhere."""
        return np.full(len(self._rows), self._drops_unknown)

    def _unavailable_flags(self) -> dict[str, NDArray[np.bool_]]:
        """Return masks of the changes that do not carry a value, for each column with such
        changes."""
        flags_of: dict[str, NDArray[np.bool_]] = {}
        for name in self._schema.names:
            if name in self._foreign:
                flags_of[name] = np.ones(self._count, np.bool_)
            elif name not in self._schema.key:
                flags = self._changes.unavailable(name)
                if flags is not None:
                    flags_of[name] = flags
        return flags_of

    def _find_sources(self) -> dict[str, Sources]:
        """Return the sources of values, for each column whose last changes do not have all
        values."""
        soft = self._soft and self.deleted > 0
        if not self._unavailable and not soft:
            return {}
        histories = Histories(
            self._keys, self._ranks, self._operations, self._former, self._changes.are_shown()
        )
        sources_of = {}
        for name, flags in self._unavailable.items():
            if soft or flags[self._rows].any():
                sources_of[name] = histories.sources(flags, self._rows)
        if soft:
            sources = histories.sources(np.zeros(self._count, np.bool_), self._rows)
            for name in self._schema.names:
                if name not in sources_of and name not in self._schema.key and name != DELETED:
                    sources_of[name] = sources
        return sources_of

    def _stored_rows(self, stored_rows: pa.Table | None) -> NDArray[np.int64]:
        """Return the row of `stored_rows` for each number of a key, and ABSENT for the number
        ABSENT."""
        rows_of_keys = np.full(len(self.key_set) + 1, ABSENT, np.int64)
        if stored_rows is not None and stored_rows.num_rows:
            numbers = self.key_set.numbers_of([stored_rows[name] for name in self._schema.key])
            rows = np.flatnonzero(numbers != ABSENT)
            rows_of_keys[numbers[rows]] = rows
        return rows_of_keys

    def _without_deleted(
        self, stored: NDArray[np.int64], stored_rows: pa.Table | None
    ) -> NDArray[np.int64]:
        """Return `stored` with ABSENT for rows that are marked as deleted."""
        if (
            stored_rows is None
            or not stored_rows.num_rows
            or DELETED not in stored_rows.column_names
        ):
            return stored
        is_deleted = pc.fill_null(stored_rows[DELETED], False).to_numpy()
        return np.where((stored != ABSENT) & is_deleted[stored], ABSENT, stored)

    def _places(
        self,
        name: str,
        stored_rows: pa.Table | None,
        stored: NDArray[np.int64],
        live: NDArray[np.int64],
    ) -> NDArray[np.int64]:
        """Return where each row's value of a column is: a row of the changes or, numbered after
        these, of `stored_rows`; ABSENT: nowhere. `stored` and `live` are rows of `stored_rows` by
        key, the latter without rows that are marked as deleted."""
        sources = self._sources[name]
        if stored_rows is None or name not in stored_rows.column_names:
            return sources.rows
        places = live[sources.own]
        places = np.where(places == ABSENT, stored[sources.stored], places)
        places = np.where(places == ABSENT, ABSENT, self._count + places)
        return np.where(sources.rows == ABSENT, places, sources.rows)

    def _filled(
        self, name: str, stored_rows: pa.Table | None, places: NDArray[np.int64]
    ) -> pa.ChunkedArray:
        column = self._changes.column(name)
        if stored_rows is not None and name in stored_rows.column_names:
            values = conformed(stored_rows[name], column.type, name, self._table)
            column = pa.chunked_array([*column.chunks, *values.chunks], column.type)
        return gathered(column, places, places != ABSENT)


def _after(changes: pa.Table, truncated: str) -> pa.Table:
    """Return the changes after a TRUNCATE."""
    if not truncated or not changes.num_rows:
        return changes
    return changes.filter(pc.greater(changes[SEQUENCE], pa.scalar(truncated)))
