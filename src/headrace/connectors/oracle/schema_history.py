"""Oracle's tables in a schema history: their types as JDBC numbers them, and places of the log as
Debezium's offsets name them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headrace.connectors.oracle.config import OracleConfig
from headrace.connectors.oracle.position import thread_commits
from headrace.connectors.oracle.scn import parse_scn, parse_xid, place_of
from headrace.connectors.oracle.types.source_type import OracleType
from headrace.relational.history.configured import open_history
from headrace.relational.history.history import SchemaHistory
from headrace.relational.history.store import MemoryStore
from headrace.relational.history.tables import HistoryColumn, HistoryTable
from headrace.relational.table import Column, Table

# java.sql.Types and oracle.jdbc.OracleTypes, as Oracle's driver reports them.
_JDBC_TYPES = {
    "NUMBER": 2,
    "FLOAT": 6,
    "BINARY_FLOAT": 100,
    "BINARY_DOUBLE": 101,
    "CHAR": 1,
    "VARCHAR2": 12,
    "VARCHAR": 12,
    "NCHAR": -15,
    "NVARCHAR2": -9,
    "DATE": 93,
    "TIMESTAMP": 93,
    "TIMESTAMP WITH TIME ZONE": -101,
    "TIMESTAMP WITH LOCAL TIME ZONE": -102,
    "INTERVAL YEAR TO MONTH": -103,
    "INTERVAL DAY TO SECOND": -104,
    "RAW": -3,
    "LONG": -1,
    "LONG RAW": -4,
    "ROWID": -8,
    "UROWID": -8,
    "BLOB": 2004,
    "CLOB": 2005,
    "NCLOB": 2011,
    "BFILE": -13,
    "XMLTYPE": 2009,
    "BOOLEAN": 252,
}
_OTHER = 1111
_STATED_JDBC_TYPES = {"RAW": -2, "ROWID": 12}
"""JDBC numbers of types for which Debezium's parser of statements differs from the driver."""


def history_place(position: Mapping[str, Any]) -> int | None:
    """Return the place in a record's position: that of the statement, which is the last of its
    commits, or the SCN of a snapshot. None: it has no place."""
    scn, xid, commits = (position.get(name) for name in ("scn", "txId", "commit_scn"))
    try:
        if isinstance(commits, str):
            last = max(thread_commits(commits)[0], key=lambda commit: commit.scn, default=None)
            if last is not None:
                return place_of(last.scn, max(last.xids, default=0))
        at = parse_scn(scn) if isinstance(scn, str) else None
        return None if at is None else place_of(at, parse_xid(xid) if isinstance(xid, str) else 0)
    except ValueError:
        return None


def snapshot_position(scn: int) -> dict[str, Any]:
    """Return the position in the records of a snapshot, with members in Debezium's order."""
    return {
        "commit_scn": None,
        "snapshot_scn": str(scn),
        "snapshot": "INITIAL",
        "snapshot_completed": False,
        "scn": str(scn),
    }


def oracle_history(config: OracleConfig, memory: MemoryStore | None = None) -> SchemaHistory:
    """Return the history of a configuration; see `open_history`. Raises HeadraceError."""
    return open_history(config, config.topic_prefix, history_place, memory)


def history_table(table: Table, database: str) -> HistoryTable:
    """Return a table as its history describes it."""
    columns = (_column(column, number) for number, column in enumerate(table.columns, 1))
    identity = (database, *table.path)
    return HistoryTable(identity, tuple(columns), table.key, comment=table.comment)


def described_table(recorded: HistoryTable) -> Table:
    """Return the table that a history describes; the reverse of `history_table`."""
    schema, name = recorded.id[-2:]
    columns = tuple(map(_described, recorded.columns))
    return Table(schema, name, columns, recorded.key, comment=recorded.comment)


def _column(column: Column, position: int) -> HistoryColumn:
    declared = column.type
    assert isinstance(declared, OracleType)
    length, scale = declared.length_and_scale()
    return HistoryColumn(
        column.name,
        _jdbc_type(declared),
        declared.name,
        position,
        optional=not column.not_null,
        length=length,
        scale=scale,
        has_default=column.default is not None or not column.not_null or column.defaults_to_null,
        default=column.default,
        comment=column.comment,
        generated=column.generated,
    )


def _jdbc_type(declared: OracleType) -> int:
    number = _JDBC_TYPES.get(declared.kind, _OTHER)
    return _STATED_JDBC_TYPES.get(declared.kind, number) if declared.is_stated else number


def _described(column: HistoryColumn) -> Column:
    return Column(
        column.name,
        _declared(column),
        not column.optional,
        column.default,
        column.comment,
        column.generated,
        defaults_to_null=column.has_default and column.default is None and not column.optional,
    )


def _declared(column: HistoryColumn) -> OracleType:
    """Return the type that `_column` describes; the name of a stated type has no digits."""
    name, length, scale = column.type_name, column.length, column.scale
    kind = OracleType.of(name).kind
    match kind:
        case "NUMBER" | "FLOAT":
            is_plain = kind == "NUMBER" and scale is None
            precision = None if is_plain else length
            return OracleType(name, 0, precision, scale, is_stated=is_plain and bool(length))
        case "INTERVAL YEAR TO MONTH" | "INTERVAL DAY TO SECOND":
            digits = {"YEAR": length, "DAY": length, "SECOND": scale}
            return OracleType(_with_digits(name, digits), 0, length, scale, kind == name)
        case "TIMESTAMP" | "TIMESTAMP WITH TIME ZONE" | "TIMESTAMP WITH LOCAL TIME ZONE":
            digits = {"TIMESTAMP": length}
            return OracleType(_with_digits(name, digits), length or 0, None, scale, kind == name)
    is_stated = column.jdbc_type == _STATED_JDBC_TYPES.get(kind) or length is None
    return OracleType(name, length or 0, None, scale, is_stated)


def _with_digits(name: str, digits: Mapping[str, int | None]) -> str:
    """Return the name of a type with the digits after its words, if it has none yet."""
    if "(" in name:
        return name
    parts = (
        word if digits.get(word) is None else f"{word}({digits[word]})" for word in name.split()
    )
    return " ".join(parts)
