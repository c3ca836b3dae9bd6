"""Finds rows by their keys, for look-ups of streamed rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import psycopg
from psycopg import sql

from headrace.connectors.postgresql.config import PostgresConfig
from headrace.connectors.postgresql.connection import connect, find_operators_in, translate
from headrace.connectors.postgresql.types.resolve import types_of
from headrace.connectors.postgresql.types.type_facts import operator_schemas
from headrace.relational.events import RelationFacts
from headrace.relational.reselection import Lookup
from headrace.relational.row_lookup import Cell, RowLookup


def row_lookup(config: PostgresConfig) -> RowLookup:
    """Look-ups in the database of a configuration."""
    return RowLookup(PostgresRows(config))


@dataclass(frozen=True)
class PostgresRows:
    """The database of a configuration: a RowDatabase."""

    config: PostgresConfig

    def open(self, *, patient: bool) -> PostgresRowQueries:
        """See the protocol."""
        connection = connect(self.config, application="headrace look-up")
        if not patient:
            connection.execute("SET statement_timeout = '60s'")
        return PostgresRowQueries(self.config, connection)


class PostgresRowQueries:
    """RowQueries over one connection."""

    def __init__(self, config: PostgresConfig, connection: psycopg.Connection) -> None:
        self._config, self._connection = config, connection

    def rows(
        self, facts: RelationFacts, lookup: Lookup, keys: Sequence[Sequence[str]]
    ) -> dict[int, list[Cell]]:
        """See the protocol."""
        try:
            find_operators_in(self._connection, operator_schemas(types_of(facts)))
            columns = [[key[place] for key in keys] for place in range(len(lookup.key))]
            cursor = psycopg.RawCursor(self._connection).execute(
                _query(facts, lookup), (list(range(len(keys))), *columns)
            )
        except psycopg.Error as error:
            raise translate(error, self._config, "Reading rows again") from None
        result = cursor.pgresult
        assert result is not None
        present: dict[int, list[Cell]] = {}
        for row in range(result.ntuples):
            number = int(result.get_value(row, 0) or b"0")
            present[number] = [result.get_value(row, 1 + i) for i in range(len(lookup.columns))]
        return present

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()


def _query(facts: RelationFacts, lookup: Lookup) -> sql.Composed:
    """Parameters: numbers of the rows, then the texts of each key column. They are numbered on the
    server: a name may hold a per cent sign."""
    names, arrays, conditions = [sql.Identifier("n")], ["$1::int4[]"], []
    types = types_of(facts)
    for at, column in enumerate(lookup.key):
        kind = types[column]
        names.append(sql.Identifier(f"k{at}"))
        arrays.append(f"${2 + at}::text[]")
        conditions.append(
            sql.SQL("t.{} = k.{}::{}").format(
                sql.Identifier(facts.columns[column].name),
                sql.Identifier(f"k{at}"),
                sql.Identifier(kind.schema, kind.name),
            )
        )
    columns = (
        sql.SQL("t.{}").format(sql.Identifier(facts.columns[c].name)) for c in lookup.columns
    )
    return sql.SQL(
        "SELECT k.n, {columns} FROM unnest({arrays}) k({names}) JOIN {table} t ON {on}"
    ).format(
        columns=sql.SQL(", ").join(columns),
        arrays=sql.SQL(", ".join(arrays)),
        names=sql.SQL(", ").join(names),
        table=sql.Identifier(facts.schema, facts.table),
        on=sql.SQL(" AND ").join(conditions),
    )
