"""Db2's tables in a schema history: their types as JDBC numbers them, and places of the log as
Debezium's offsets name them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headrace.connectors.db2.config import Db2Config
from headrace.connectors.db2.lsn import format_lsn, parse_lsn, place_of
from headrace.connectors.db2.position import Db2Position
from headrace.connectors.db2.types.source_type import Db2Type
from headrace.relational.history.configured import open_history
from headrace.relational.history.history import SchemaHistory, TableHistory
from headrace.relational.history.store import MemoryStore
from headrace.relational.history.tables import HistoryColumn, HistoryTable
from headrace.relational.table import Column, Table

# java.sql.Types, as IBM's driver reports Db2's types.
_JDBC_TYPES = {
    "BOOLEAN": 16,
    "SMALLINT": 5,
    "INTEGER": 4,
    "BIGINT": -5,
    "REAL": 7,
    "DOUBLE": 8,
    "FLOAT": 8,
    "DECIMAL": 3,
    "NUMERIC": 2,
    "DECFLOAT": 1111,
    "CHAR": 1,
    "NCHAR": 1,
    "GRAPHIC": 1,
    "VARCHAR": 12,
    "NVARCHAR": 12,
    "VARGRAPHIC": 12,
    "LONG VARCHAR": -1,
    "LONG VARGRAPHIC": -1,
    "CLOB": 2005,
    "NCLOB": 2005,
    "DBCLOB": 2005,
    "BLOB": 2004,
    "CHAR FOR BIT DATA": -2,
    "BINARY": -2,
    "VARCHAR FOR BIT DATA": -3,
    "VARBINARY": -3,
    "LONG VARCHAR FOR BIT DATA": -4,
    "ROWID": -8,
    "XML": 2009,
    "DATE": 91,
    "TIME": 92,
    "TIMESTAMP": 93,
    "TIMESTAMP WITH TIME ZONE": 2014,
    "TIMESTAMP WITH TIMEZONE": 2014,
}
_OTHER = 1111
_IDENTITY = "AUTOINCREMENT"
"""The default of an identity column in the driver's metadata."""
_WITHOUT_SCALE = frozenset({"REAL", "DOUBLE", "FLOAT", "DECFLOAT"})


_CHANGES = 1 << 128
"""A number above every place of a change in one commit."""


def history_place(position: Mapping[str, Any]) -> int | None:
    """Return the place in a record's position, also in one of Debezium: its commit, and its change
    in that. None: it has no place."""
    try:
        commit, change = (
            place_of(parse_lsn(text)) if isinstance(text, str) else None
            for text in (position.get("commit_lsn"), position.get("change_lsn"))
        )
    except ValueError:
        return None
    return None if commit is None else commit * _CHANGES + (change or 0)


def place_after(position: Db2Position) -> int:
    """Return the place of the records after everything that is delivered at a position."""
    if position.transaction is None or position.change is None:
        return position.committed * _CHANGES
    return position.transaction * _CHANGES + position.change.place + 1


def snapshot_position(lsn: bytes) -> dict[str, Any]:
    """Return the position in the records of a snapshot, with members in Debezium's order."""
    return {"commit_lsn": format_lsn(lsn), "snapshot": "INITIAL", "snapshot_completed": False}


def stream_position(commit_lsn: bytes, change_lsn: bytes | None) -> dict[str, Any]:
    """Return the position of a change of the log, with members in Debezium's order."""
    return {
        "event_serial_no": 1,
        "commit_lsn": format_lsn(commit_lsn),
        "change_lsn": None if change_lsn is None else format_lsn(change_lsn),
    }


def open_tables(
    config: Db2Config, position: Db2Position, memory: MemoryStore | None = None
) -> TableHistory:
    """Return the tables that were recorded up to `position`; see `db2_history`. Raises
    HeadraceError."""
    return TableHistory(db2_history(config, memory), place_after(position))


def db2_history(config: Db2Config, memory: MemoryStore | None = None) -> SchemaHistory:
    """Return the history of a configuration; see `open_history`. Raises HeadraceError."""
    return open_history(config, config.topic_prefix, history_place, memory)


def history_table(table: Table) -> HistoryTable:
    """Return a table as its history describes it. Ids have no database, as in Debezium."""
    columns = (_column(column, number) for number, column in enumerate(table.columns, 1))
    return HistoryTable(table.path, tuple(columns), table.key)


def table_of(described: HistoryTable) -> Table:
    """Return the table that `history_table` describes, without comments."""
    schema, name = described.id[-2:]
    columns = tuple(
        Column(
            column.name,
            Db2Type.of(column.type_name, column.length, column.scale),
            not column.optional,
            _IDENTITY if column.auto_incremented else column.default,
        )
        for column in described.columns
    )
    return Table(schema, name, columns, described.key)


def _column(column: Column, position: int) -> HistoryColumn:
    declared = column.type
    assert isinstance(declared, Db2Type)
    length, scale = declared.length_and_scale()
    is_identity = (column.default or "").startswith(_IDENTITY)
    default = None if is_identity else column.default
    return HistoryColumn(
        column.name,
        _JDBC_TYPES.get(declared.kind, _OTHER),
        declared.name,
        position,
        optional=not column.not_null,
        length=length,
        scale=None if declared.kind in _WITHOUT_SCALE else scale,
        auto_incremented=is_identity,
        has_default=default is not None or not column.not_null,
        default=default,
    )
