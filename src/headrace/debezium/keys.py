"""The columns of a record's key: `message.key.columns`, primary key, unique index."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from headrace.debezium.naming.expressions import WholeMatch
from headrace.errors import HeadraceError


@dataclass(frozen=True)
class KeyRule:
    """An entry of `message.key.columns`: the key columns of the tables whose name matches."""

    tables: WholeMatch
    columns: tuple[str, ...]


@dataclass(frozen=True)
class KeyRules:
    """The property `message.key.columns`: `tableRegex:column,column;tableRegex:column`.

    The regular expression matches the whole qualified table name, ignoring case; the first entry
    that matches applies. A comma, semicolon or colon in a name is written with a backslash before
    it.
    """

    rules: tuple[KeyRule, ...] = ()

    @staticmethod
    def parse(text: str | None) -> KeyRules:
        """Read the property; raises HeadraceError `config.invalid` on a malformed entry."""
        if not text or not text.strip():
            return KeyRules()
        return KeyRules(tuple(_rule(entry) for entry in _split(text, ";") if entry.strip()))

    @staticmethod
    def of(entries: Iterable[tuple[str, tuple[str, ...]]]) -> KeyRules:
        """The rules of (table expression, columns) pairs from a validated configuration."""
        return KeyRules(
            tuple(KeyRule(re.compile(table, re.IGNORECASE), columns) for table, columns in entries)
        )

    def columns_for(self, table: str) -> tuple[str, ...]:
        """The key columns configured for a qualified table name (`schema.table`), or an empty
        tuple."""
        return next((r.columns for r in self.rules if r.tables.fullmatch(table)), ())

    def key_columns(
        self,
        table: str,
        columns: Sequence[str],
        primary_key: Sequence[str],
        unique_indexes: Iterable[Sequence[str]] = (),
    ) -> tuple[str, ...]:
        """The key columns of a table in key order; empty when its records have no key.

        `columns` are the table's columns, `unique_indexes` the column names of its unique
        indexes without expressions. Raises HeadraceError `debezium.key_column_missing` when
        `message.key.columns` names a column that the table lacks.
        """
        named = self.columns_for(table)
        if not named:
            return tuple(primary_key) or next((tuple(i) for i in unique_indexes if i), ())
        for name in named:
            if name not in columns:
                raise HeadraceError(
                    "debezium.key_column_missing",
                    f"message.key.columns names the column {name} for {table}, "
                    "which has no such column",
                    f"Name columns among: {', '.join(columns)}.",
                )
        return named


def _split(text: str, separator: str) -> list[str]:
    return re.split(rf"(?<!\\){re.escape(separator)}", text)


def _rule(entry: str) -> KeyRule:
    table, *rest = _split(entry.strip(), ":")
    columns = tuple(
        re.sub(r"\\([,;:])", r"\1", column.strip())
        for column in _split(":".join(rest), ",")
        if column.strip()
    )
    if not table.strip() or len(rest) != 1 or not columns:
        raise HeadraceError(
            "config.invalid",
            f"message.key.columns has the malformed entry {entry.strip()!r}",
            "Write tableRegex:column,column and separate entries with a semicolon.",
        )
    expression = re.sub(r"\\([,;:])", r"\1", table.strip())
    try:
        return KeyRule(re.compile(expression, re.IGNORECASE), columns)
    except (re.error, OverflowError, RecursionError) as error:
        raise HeadraceError(
            "config.invalid",
            f"message.key.columns has the regular expression {expression!r}: {error}",
            "Correct the expression; a literal dot is written \\.",
        ) from None
