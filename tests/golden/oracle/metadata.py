"""The metadata of tables as Oracle's JDBC driver returns it, which is where Debezium has them from.

The driver (ojdbc11 23.26) selects them from ALL_TAB_COLS with these DECODEs.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from headrace_demo.oracle.definitions import Column, Table

Answer = dict[str, Any]

_TYPES = {
    "BINARY_DOUBLE": 101, "BINARY_FLOAT": 100, "BFILE": -13, "BLOB": 2004, "BOOLEAN": 16, "CHAR": 1,
    "CLOB": 2005, "DATE": 93, "FLOAT": 6, "JSON": 2016, "LONG": -1, "LONG RAW": -4, "NCHAR": -15,
    "NCLOB": 2011, "NUMBER": 2, "NVARCHAR2": -9, "RAW": -3, "ROWID": -8, "UROWID": -8,
    "VARCHAR2": 12, "VECTOR": -105, "XMLTYPE": 2009,
}  # fmt: skip
_OBJECT = 2002
# java.sql.Types.STRUCT: all other types are objects.
_UNKNOWN_SCALE = -127
_LONGEST = 38


def jdbc_type(data_type: str) -> int:
    """The number of java.sql.Types or OracleTypes of a DATA_TYPE."""
    if data_type.startswith("TIMESTAMP"):
        if data_type.endswith("WITH LOCAL TIME ZONE"):
            return -102
        return -101 if data_type.endswith("WITH TIME ZONE") else 93
    if data_type.startswith("INTERVAL"):
        return -104 if data_type.startswith("INTERVAL DAY") else -103
    return _TYPES.get(data_type, _OBJECT)


def _size(column: Column) -> int:
    if column.precision is not None:
        return column.precision
    if column.type == "NUMBER":
        return 0 if column.scale is None else _LONGEST
    return column.length


def _scale(column: Column) -> int | None:
    if column.type == "NUMBER" and column.precision is None and column.scale is None:
        return _UNKNOWN_SCALE
    return column.scale


def answer(names: str, rows: Iterable[Iterable[Any]]) -> Answer:
    """Rows of texts and numbers; `names` are the names of their columns."""
    return {
        "columns": [[name, "VARCHAR2", 12] for name in names.split()],
        "rows": [[*row] for row in rows],
    }


def metadata(method: str, schema: str | None, table: str | None, tables: list[Table]) -> Answer:
    """The result of a method of java.sql.DatabaseMetaData. Raises ValueError for an unknown one."""
    schema, table = (name and name.replace('"', "") for name in (schema, table))
    named = [
        each
        for each in tables
        if schema in (None, "%", each.schema)
        and (table in (None, "%") or (table or "").replace("/", "") == each.name)
    ]
    match method:
        case "getTables":
            return answer(
                "TABLE_CAT TABLE_SCHEM TABLE_NAME TABLE_TYPE REMARKS",
                ((None, each.schema, each.name, "TABLE", each.comment) for each in named),
            )
        case "getColumns":
            return answer(
                "TABLE_CAT TABLE_SCHEM TABLE_NAME COLUMN_NAME DATA_TYPE TYPE_NAME COLUMN_SIZE"
                " BUFFER_LENGTH DECIMAL_DIGITS NUM_PREC_RADIX NULLABLE REMARKS COLUMN_DEF"
                " SQL_DATA_TYPE SQL_DATETIME_SUB CHAR_OCTET_LENGTH ORDINAL_POSITION IS_NULLABLE"
                " SCOPE_CATALOG SCOPE_SCHEMA SCOPE_TABLE SOURCE_DATA_TYPE IS_AUTOINCREMENT"
                " IS_GENERATEDCOLUMN",
                (row for each in named for row in _columns(each)),
            )
        case "getPrimaryKeys":
            return answer(
                "TABLE_CAT TABLE_SCHEM TABLE_NAME COLUMN_NAME KEY_SEQ PK_NAME",
                (
                    (None, each.schema, each.name, column, place, f"PK_{each.name}")
                    for each in named
                    for place, column in enumerate(each.key, 1)
                ),
            )
        case "getIndexInfo":
            return answer(
                "TABLE_CAT TABLE_SCHEM TABLE_NAME NON_UNIQUE INDEX_QUALIFIER INDEX_NAME TYPE"
                " ORDINAL_POSITION COLUMN_NAME ASC_OR_DESC CARDINALITY PAGES FILTER_CONDITION",
                (row for each in named for row in _indexes(each)),
            )
    raise ValueError(method)


def _columns(table: Table) -> Iterable[list[Any]]:
    for place, column in enumerate(table.columns, 1):
        if column.is_hidden:
            continue
        yield [
            None, table.schema, table.name, column.name, jdbc_type(column.type), column.type,
            _size(column), 0, _scale(column), 10, int(column.nullable), column.comment,
            column.default, 0, 0, column.length, place, "YES" if column.nullable else "NO",
            None, None, None, None, "YES" if column.is_identity else "NO",
            "YES" if column.is_virtual else "NO",
        ]  # fmt: skip


def _indexes(table: Table) -> Iterable[list[Any]]:
    indexes = {f"PK_{table.name}": table.key} if table.key else {}
    indexes |= {f"UX{number}_{table.name}": names for number, names in enumerate(table.unique)}
    yield [None, table.schema, table.name, 0, None, None, 0, 0, None, None, 0, 0, None]
    for name, columns in indexes.items():
        for place, column in enumerate(columns, 1):
            yield [
                None,
                table.schema,
                table.name,
                0,
                None,
                name,
                1,
                place,
                column,
                None,
                0,
                0,
                None,
            ]
