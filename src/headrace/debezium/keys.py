"""The columns of a record's key: `message.key.columns`, primary key, unique index."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from headrace.debezium.naming.expressions import WholeMatch


@dataclass(frozen=True)
class KeyRule:
    """A column of an entry of `message.key.columns`: the text `schema.table:column`, and the
    expression that matches the qualified names of the key columns, `schema.table.column`."""

    text: str
    columns: WholeMatch

    def matches(self, table: str, column: str) -> bool:
        """Whether a column of a qualified table name (`schema.table`) is a key column."""
        return bool(self.columns.fullmatch(f"{table}.{column}"))


@dataclass(frozen=True)
class KeyRules:
    """The property `message.key.columns`: `table:column,column;table:column`.

    Debezium joins the table and each column of an entry to one regular expression,
    `table.column`, which matches whole names of columns, ignoring case.
    """

    rules: tuple[KeyRule, ...] = ()

    def key_columns(
        self, table: str, columns: Sequence[str], unique: Sequence[str]
    ) -> tuple[str, ...]:
        """The key columns of a qualified table name in key order; empty when its records have no
        key.

        They are the columns that rules match, by rule and then by their place in the table;
        without a match those of `unique`, the table's primary key or unique index.
        """
        matched = dict.fromkeys(
            column for rule in self.rules for column in columns if rule.matches(table, column)
        )
        return tuple(matched) or tuple(unique)

    def unmatched(self, tables: Iterable[tuple[str, Sequence[str]]]) -> list[str]:
        """The texts of the rules that match no column of any table; `tables` are qualified names
        and columns."""
        names = [(table, column) for table, columns in tables for column in columns]
        return [
            rule.text
            for rule in self.rules
            if not any(rule.matches(table, column) for table, column in names)
        ]
