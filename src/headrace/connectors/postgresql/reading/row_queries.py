"""Finds rows by their keys, for look-ups of streamed rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import psycopg

from headrace.connect.deadline import Deadline
from headrace.connectors.postgresql.config import PostgresConfig
from headrace.connectors.postgresql.connection import connect, translate, translated
from headrace.connectors.postgresql.ddl.lock_waits import is_lock_timeout
from headrace.connectors.postgresql.ddl.patience import Patience
from headrace.connectors.postgresql.reading.dialect import SQL
from headrace.connectors.postgresql.reading.operators import Operators
from headrace.connectors.postgresql.types.resolve import types_of
from headrace.relational.events import RelationFacts
from headrace.relational.reselection import Lookup
from headrace.relational.row_lookup import Cell, RowLookup

_SECONDS = 60
"""Time limit of a query that is not patient, in seconds."""


def row_lookup(config: PostgresConfig) -> RowLookup:
    """Row look-ups in the database of a configuration."""
    return RowLookup(PostgresRows(config))


@dataclass(frozen=True)
class PostgresRows:
    """The database of a configuration, as a RowDatabase."""

    config: PostgresConfig

    def open(self, *, patient: bool) -> PostgresRowQueries:
        """See RowDatabase."""
        connection = connect(self.config, application="headrace look-up")
        if patient:
            return PostgresRowQueries(self.config, connection, float("inf"))
        connection.execute(f"SET statement_timeout = '{_SECONDS}s'".encode())
        return PostgresRowQueries(self.config, connection, _SECONDS)


class PostgresRowQueries:
    """RowQueries on one connection; waits at most `seconds` for locks of other sessions."""

    def __init__(
        self, config: PostgresConfig, connection: psycopg.Connection, seconds: float
    ) -> None:
        self._config, self._connection, self._seconds = config, connection, seconds
        self._operators = Operators(connection)

    def rows(
        self, facts: RelationFacts, lookup: Lookup, keys: Sequence[Sequence[str]]
    ) -> dict[int, list[Cell]]:
        """See RowQueries."""
        columns = [[key[place] for key in keys] for place in range(len(lookup.key))]
        with translated(self._config, "Reading rows again"):
            self._operators.find(types_of(facts))
            cursor = self._asked(_query(facts, lookup), (list(range(len(keys))), *columns))
        result = cursor.pgresult
        assert result is not None
        present: dict[int, list[Cell]] = {}
        for row in range(result.ntuples):
            number = int(result.get_value(row, 0) or b"0")
            present[number] = [result.get_value(row, 1 + i) for i in range(len(lookup.columns))]
        return present

    def _asked(self, query: str, values: Sequence[object]) -> psycopg.RawCursor:
        """Execute a query, again while another session locks the table; at most for the query's
        time limit, unless it is patient."""
        patience, deadline = Patience(self._config), Deadline(self._seconds)
        while True:
            try:
                return psycopg.RawCursor(self._connection).execute(query.encode(), values)
            except psycopg.Error as error:
                if not is_lock_timeout(error) or deadline.is_over:
                    raise
                patience.wait(translate(error, self._config, "Reading rows again"))

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()


def _query(facts: RelationFacts, lookup: Lookup) -> str:
    """The query; its parameters are the numbers of the rows, then the texts of each key column.
    They are written $1, $2, because a name may contain a per cent sign."""
    quoted = SQL.dialect.quoted
    names, arrays, conditions = ["n"], ["$1::int4[]"], []
    types = types_of(facts)
    for at, column in enumerate(lookup.key):
        kind, name = types[column], quoted("t", facts.columns[column].name)
        names.append(f"k{at}")
        arrays.append(f"${2 + at}::text[]")
        conditions.append(f"{name} = k.k{at}::{quoted(kind.schema, kind.name)}")
    columns = [quoted("t", facts.columns[column].name) for column in lookup.columns]
    return (
        f"SELECT {', '.join(['k.n', *columns])}"
        f" FROM unnest({', '.join(arrays)}) k({', '.join(names)})"
        f" JOIN {quoted(facts.schema, facts.table)} t ON {' AND '.join(conditions)}"
    )
