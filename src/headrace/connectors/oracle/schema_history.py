"""Oracle's tables in a schema history: their types as JDBC numbers them, and places of the log as
Debezium's offsets name them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headrace.connectors.oracle.config import OracleConfig
from headrace.connectors.oracle.scn import format_xid, parse_scn, parse_xid, place_of
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
_WITH_PRECISION = ("NUMBER", "FLOAT")


def history_place(position: Mapping[str, Any]) -> int | None:
    """The place that a record's position names: that of a statement, or, in Debezium's records, an
    SCN. None: it has none."""
    scn, xid = position.get("scn"), position.get("txId")
    try:
        at = parse_scn(scn) if isinstance(scn, str) else None
        return None if at is None else place_of(at, parse_xid(xid) if isinstance(xid, str) else 0)
    except ValueError:
        return None


def snapshot_position(scn: int) -> dict[str, Any]:
    """The position of what a snapshot tells, in Debezium's order."""
    return {
        "snapshot_scn": str(scn),
        "snapshot": "INITIAL",
        "scn": str(scn),
        "snapshot_completed": False,
    }


def stream_position(scn: int, xid: int) -> dict[str, Any]:
    """The position of a statement in the redo."""
    return {"scn": str(scn), "txId": format_xid(xid)}


def oracle_history(config: OracleConfig, memory: MemoryStore | None = None) -> SchemaHistory:
    """The history of a configuration; see `open_history`. Raises HeadraceError."""
    return open_history(config, config.topic_prefix, history_place, memory)


def history_table(table: Table, database: str) -> HistoryTable:
    """A table as its history describes it."""
    columns = (_column(column, number) for number, column in enumerate(table.columns, 1))
    return HistoryTable((database, *table.path), tuple(columns), table.key)


def described_table(told: HistoryTable) -> Table:
    """The reverse of `history_table`."""
    schema, name = told.id[-2:]
    return Table(schema, name, tuple(map(_described, told.columns)), told.key)


def _column(column: Column, position: int) -> HistoryColumn:
    declared = column.type
    assert isinstance(declared, OracleType)
    length, scale = declared.length_and_scale()
    return HistoryColumn(
        column.name,
        _JDBC_TYPES.get(declared.kind, _OTHER),
        declared.name,
        position,
        optional=not column.not_null,
        length=length,
        scale=scale,
        has_default=column.default is not None or not column.not_null,
        default=column.default,
        comment=column.comment,
        generated=column.generated,
    )


def _described(column: HistoryColumn) -> Column:
    named = OracleType.of(column.type_name)
    length = column.length or None
    has_precision = named.kind in _WITH_PRECISION
    declared = OracleType.of(
        column.type_name, length, length if has_precision else None, column.scale
    )
    return Column(
        column.name,
        declared,
        not column.optional,
        column.default,
        column.comment,
        column.generated,
    )
