"""SQL of chunks: rows between keys, and the keys at their bounds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol

from headrace.relational.reading.chunk_targets import TableTarget
from headrace.relational.reading.key_order import KeyColumn, is_beyond
from headrace.relational.table import Column
from headrace.signals.progress import Key
from headrace.snapshots.chunks import Chunk, ChunkKind
from headrace.snapshots.incremental.chunk_source import KeyRange

_NUMBER = "headrace row number"
_ALIAS = "t"
"""Alias of the table that is read. It is quoted like every other name, because databases fold
unquoted names to different cases."""

Path = tuple[str, str]
"""Schema and table."""


class Dialect(Protocol):
    """The parts of SQL that differ between databases."""

    def quoted(self, *names: str) -> str:
        """Quote a name of one or more parts."""
        ...

    def literal(self, text: str, column: Column) -> str:
        """The SQL of a column's value from its canonical text, for comparisons with the column; see
        `headrace.connect.encoding`."""
        ...

    def as_text(self, name: str, column: Column) -> str:
        """The SQL that selects a column, named `name` in SQL, as canonical text, or in the form
        that the reader of the statement converts to it."""
        ...

    @property
    def no_table(self) -> str:
        """The end of a SELECT that reads no table: with a leading space, or empty."""
        ...

    def source(self, table: Path, *, alone: bool) -> str:
        """A table in FROM; `alone`: without the tables that inherit from it."""
        ...

    def compared(self, columns: Sequence[str], operator: str, values: Sequence[str]) -> str:
        """A comparison of rows, none of whose values is null."""
        ...

    def from_page(self, operator: str, page: int) -> str:
        """The condition that a row lies after (`>=`) or before (`<`) the beginning of a page, in
        databases whose tables are cut by pages."""
        ...

    def limited(self, select: str, rows: int, after: int = 0) -> str:
        """The SELECT, which has an ORDER BY, limited to `rows` rows after the first `after`
        rows."""
        ...


@dataclass(frozen=True)
class ChunkSql:
    """Statements in the SQL of one database. `conditions` are validated SQL; a `table` is read
    `alone` or with the tables that inherit from it."""

    dialect: Dialect
    counted: ClassVar[str] = "count(*)"
    """The SQL of the number of rows."""

    def source(self, table: Path) -> str:
        """A table without its inheriting tables, with the alias that qualifies `columns`."""
        return f"{self.dialect.source(table, alone=True)} {self.dialect.quoted(_ALIAS)}"

    def columns(self, names: Iterable[str]) -> list[str]:
        """Columns of the table. They are qualified, because ORDER BY "id" would otherwise refer to
        the select list."""
        return [self.dialect.quoted(_ALIAS, name) for name in names]

    def _key(self, key: Sequence[Column]) -> list[str]:
        return self.columns(column.name for column in key)

    def _bound(self, key: Sequence[Column], bound: Key) -> list[str | None]:
        literal = self.dialect.literal
        pairs = zip(bound, key, strict=True)
        return [None if value is None else literal(value, column) for value, column in pairs]

    def compared(self, key: Sequence[Column], operator: str, bound: Sequence[str]) -> str:
        """The condition of rows before or after `bound`; no column of the key may be null."""
        values = [str(value) for value in self._bound(key, tuple(bound))]
        return self.dialect.compared(self._key(key), operator, values)

    def is_after(self, key: Sequence[Column], bound: Key) -> str:
        """The condition of rows after `bound` in ORDER BY key, with nulls last."""
        if all(column.not_null for column in key):
            return self.compared(key, ">", [str(value) for value in bound])
        return self._beyond(key, bound)

    def is_upto(self, key: Sequence[Column], bound: Key) -> str:
        """The condition of rows up to and including `bound`."""
        if all(column.not_null for column in key):
            return self.compared(key, "<=", [str(value) for value in bound])
        return f"NOT {self._beyond(key, bound)}"

    def _beyond(self, key: Sequence[Column], bound: Key) -> str:
        columns = map(KeyColumn, self._key(key), (not column.not_null for column in key))
        return is_beyond(list(columns), self._bound(key, bound))

    def rows(
        self,
        table: Path,
        columns: Sequence[str],
        order: Sequence[Column],
        conditions: Sequence[str],
        *,
        alone: bool = True,
        limit: int | None = None,
    ) -> str:
        """The query of rows in the order of a key, or in any order without one. `columns` are
        expressions."""
        select = self._select(columns, table, conditions, alone=alone)
        if order:
            select += f" ORDER BY {', '.join(self._key(order))}"
        return select if limit is None else self.dialect.limited(select, limit)

    def _select(
        self, expressions: Sequence[str], table: Path, conditions: Sequence[str], *, alone: bool
    ) -> str:
        where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
        source, alias = self.dialect.source(table, alone=alone), self.dialect.quoted(_ALIAS)
        return f"SELECT {', '.join(expressions)} FROM {source} {alias}{where}"

    def _texts(self, key: Sequence[Column]) -> list[str]:
        return list(map(self.dialect.as_text, self._key(key), key))

    def key_after(
        self,
        table: Path,
        key: Sequence[Column],
        conditions: Sequence[str],
        rows: int,
        *,
        alone: bool = True,
    ) -> str:
        """The query of the key `rows` rows after the first, as texts."""
        select = self._select(self._texts(key), table, conditions, alone=alone)
        ordered = f"{select} ORDER BY {', '.join(self._key(key))}"
        return self.dialect.limited(ordered, 1, after=rows)

    def largest_key(
        self, table: Path, key: Sequence[Column], conditions: Sequence[str], *, alone: bool
    ) -> str:
        """The query of the largest key, as texts; no row for an empty table."""
        select = self._select(self._texts(key), table, conditions, alone=alone)
        backwards = ", ".join(f"{column} DESC" for column in self._key(key))
        return self.dialect.limited(f"{select} ORDER BY {backwards}", 1)

    def bounds(
        self,
        table: Path,
        key: Sequence[Column],
        conditions: Sequence[str],
        *,
        alone: bool,
        size: int,
        count: int,
    ) -> str:
        """The query of every `size`-th key, `count` at most, as texts."""
        names, number = ", ".join(self._key(key)), self.dialect.quoted(_NUMBER)
        numbered = f"row_number() OVER (ORDER BY {names}) AS {number}"
        inner = self._select([names, numbered], table, conditions, alone=alone)
        first = self.dialect.limited(f"{inner} ORDER BY {names}", size * count)
        return (
            f"SELECT {', '.join(self._texts(key))} FROM ({first}) {self.dialect.quoted(_ALIAS)}"
            f" WHERE MOD({number}, {size}) = 0 ORDER BY {number}"
        )

    def chunk(
        self,
        leaf: Path,
        columns: Sequence[str],
        key: Sequence[Column],
        chunk: Chunk,
        condition: str | None = None,
        expressions: Sequence[str] = (),
    ) -> str:
        """The query of the rows of a snapshot's chunk, ordered by key if it is cut by key;
        `expressions` are selected instead of `columns`."""
        conditions = [] if condition is None else [f"({condition})"]
        for operator, bound in ((">=", chunk.lower), ("<", chunk.upper)):
            if isinstance(bound, tuple):
                conditions.append(self.compared(key, operator, bound))
            elif bound is not None:
                conditions.append(self.dialect.from_page(operator, bound))
        order = key if chunk.kind is ChunkKind.KEY else ()
        return self.rows(leaf, expressions or self.columns(columns), order, conditions)

    def filled(self, tables: Sequence[Path]) -> str:
        """The query of the numbers, from 0 on, of the tables that have a row."""
        selects = (
            self.dialect.limited(self._select([str(number)], table, (), alone=True), 1)
            for number, table in enumerate(tables)
        )
        return " UNION ALL ".join(f"({select})" for select in selects)

    def count(self, leaves: Sequence[Path], condition: str | None) -> str:
        """The query of the total number of rows of tables."""
        conditions = [] if condition is None else [condition]
        counts = (self._select([self.counted], leaf, conditions, alone=True) for leaf in leaves)
        total = " + ".join(f"({count})" for count in counts)
        return f"SELECT {total}{self.dialect.no_table}"

    def conditions(self, keys: KeyRange[TableTarget]) -> list[str]:
        """The conditions that all rows of a range meet."""
        target = keys.target
        conditions = self.filters(target)
        if keys.lower is not None:
            conditions.append(self.is_after(target.columns, keys.lower))
        if keys.upper is not None:
            conditions.append(self.is_upto(target.columns, keys.upper))
        return conditions

    def filters(self, target: TableTarget) -> list[str]:
        """The condition in the signal for a table, as a list of at most one."""
        return [] if target.condition is None else [f"({target.condition})"]
