"""SQL of chunks: rows between keys, and the keys that bound them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol

from headrace.relational.reading.chunk_targets import TableTarget
from headrace.relational.reading.key_order import KeyColumn, is_beyond
from headrace.relational.table import Column
from headrace.signals.progress import Key
from headrace.snapshots.chunks import Chunk, Cut
from headrace.snapshots.incremental.source import KeyRange

_NUMBER = "headrace row number"
_ALIAS = "t"
"""Of the table that is read. It is quoted like every other name, because databases fold names that
are not quoted to different cases."""

Path = tuple[str, str]
"""Schema and table."""


class Dialect(Protocol):
    """How a database writes what is not the same in all of them."""

    def quoted(self, *names: str) -> str:
        """A name of one or more parts."""
        ...

    def literal(self, text: str, column: Column) -> str:
        """A value of a column, as it is compared with the column, out of its canonical text; see
        `headrace.connect.encoding`."""
        ...

    def as_text(self, name: str, column: Column) -> str:
        """A column, which SQL knows by `name`, as canonical text, or as what the reader of the
        statement makes it of."""
        ...

    @property
    def no_table(self) -> str:
        """What follows a SELECT that reads no table: with a space before it, or empty."""
        ...

    def source(self, table: Path, *, alone: bool) -> str:
        """A table in FROM; `alone`: without the tables that inherit from it."""
        ...

    def compared(self, columns: Sequence[str], operator: str, values: Sequence[str]) -> str:
        """A comparison of rows, none of whose values is null."""
        ...

    def from_page(self, operator: str, page: int) -> str:
        """Whether a row lies after (`>=`) or before (`<`) the begin of a page, where tables are
        cut by pages."""
        ...

    def limited(self, select: str, rows: int, after: int = 0) -> str:
        """The first `rows` rows behind `after` ones of a SELECT with ORDER BY."""
        ...


@dataclass(frozen=True)
class ChunkSql:
    """Statements in the SQL of one database. `conditions` are SQL that was checked; a `table` is
    read `alone` or with the tables that inherit from it."""

    dialect: Dialect
    counted: ClassVar[str] = "count(*)"
    """How many rows there are."""

    def source(self, table: Path) -> str:
        """A table alone, by whose name `columns` are qualified."""
        return f"{self.dialect.source(table, alone=True)} {self.dialect.quoted(_ALIAS)}"

    def columns(self, names: Iterable[str]) -> list[str]:
        """Columns of the table. They are qualified, because ORDER BY "id" would mean what the
        select list calls so."""
        return [self.dialect.quoted(_ALIAS, name) for name in names]

    def _key(self, key: Sequence[Column]) -> list[str]:
        return self.columns(column.name for column in key)

    def _bound(self, key: Sequence[Column], bound: Key) -> list[str | None]:
        literal = self.dialect.literal
        pairs = zip(bound, key, strict=True)
        return [None if value is None else literal(value, column) for value, column in pairs]

    def compared(self, key: Sequence[Column], operator: str, bound: Sequence[str]) -> str:
        """Rows before or behind `bound`; no column of the key may be null."""
        values = [str(value) for value in self._bound(key, tuple(bound))]
        return self.dialect.compared(self._key(key), operator, values)

    def is_after(self, key: Sequence[Column], bound: Key) -> str:
        """Rows behind `bound` in ORDER BY key, where nulls come last."""
        if all(column.not_null for column in key):
            return self.compared(key, ">", [str(value) for value in bound])
        return self._beyond(key, bound)

    def is_upto(self, key: Sequence[Column], bound: Key) -> str:
        """Rows up to and including `bound`."""
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
        """Rows in the order of a key; without one, in any. `columns` are expressions."""
        select = self._select(columns, table, conditions, alone=alone)
        if order:
            select += f" ORDER BY {', '.join(self._key(order))}"
        return select if limit is None else self.dialect.limited(select, limit)

    def _select(
        self, what: Sequence[str], table: Path, conditions: Sequence[str], *, alone: bool
    ) -> str:
        where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
        source, alias = self.dialect.source(table, alone=alone), self.dialect.quoted(_ALIAS)
        return f"SELECT {', '.join(what)} FROM {source} {alias}{where}"

    def _texts(self, key: Sequence[Column]) -> list[str]:
        return list(map(self.dialect.as_text, self._key(key), key))

    def key_behind(
        self,
        table: Path,
        key: Sequence[Column],
        conditions: Sequence[str],
        rows: int,
        *,
        alone: bool = True,
    ) -> str:
        """The key `rows` rows after the first, as texts."""
        select = self._select(self._texts(key), table, conditions, alone=alone)
        ordered = f"{select} ORDER BY {', '.join(self._key(key))}"
        return self.dialect.limited(ordered, 1, after=rows)

    def largest_key(
        self, table: Path, key: Sequence[Column], conditions: Sequence[str], *, alone: bool
    ) -> str:
        """The largest key, as texts; no row for an empty table."""
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
        """Every `size`-th key, `count` of them at most, as texts."""
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
        shown: Sequence[str] = (),
    ) -> str:
        """The rows of a snapshot's chunk, ordered by key where it is cut by key; `shown` are
        expressions in place of `columns`."""
        conditions = [] if condition is None else [f"({condition})"]
        for operator, bound in ((">=", chunk.lower), ("<", chunk.upper)):
            if isinstance(bound, tuple):
                conditions.append(self.compared(key, operator, bound))
            elif bound is not None:
                conditions.append(self.dialect.from_page(operator, bound))
        order = key if chunk.kind is Cut.KEY else ()
        return self.rows(leaf, shown or self.columns(columns), order, conditions)

    def filled(self, tables: Sequence[Path]) -> str:
        """The numbers, from 0 on, of the tables that have a row."""
        selects = (
            self.dialect.limited(self._select([str(number)], table, (), alone=True), 1)
            for number, table in enumerate(tables)
        )
        return " UNION ALL ".join(f"({select})" for select in selects)

    def count(self, leaves: Sequence[Path], condition: str | None) -> str:
        """What the rows of tables are in number, together."""
        conditions = [] if condition is None else [condition]
        counts = (self._select([self.counted], leaf, conditions, alone=True) for leaf in leaves)
        total = " + ".join(f"({count})" for count in counts)
        return f"SELECT {total}{self.dialect.no_table}"

    def conditions(self, keys: KeyRange[TableTarget]) -> list[str]:
        """What the rows of a range have in common."""
        target = keys.target
        conditions = self.filters(target)
        if keys.lower is not None:
            conditions.append(self.is_after(target.columns, keys.lower))
        if keys.upper is not None:
            conditions.append(self.is_upto(target.columns, keys.upper))
        return conditions

    def filters(self, target: TableTarget) -> list[str]:
        """The condition of the signal that asked for a table."""
        return [] if target.condition is None else [f"({target.condition})"]
