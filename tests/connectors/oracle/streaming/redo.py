"""Rows of redo for tests."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from headrace.connectors.oracle.redo.forms import LiteralForm
from headrace.connectors.oracle.redo.statements import RedoStatements
from headrace.connectors.oracle.redo.tables import RedoColumn, RedoTable
from headrace.connectors.oracle.streaming import redo_rows

EPOCH = dt.datetime.fromisoformat("2026-01-02 03:04:05")
CODES = {"c": redo_rows.INSERT, "u": redo_rows.UPDATE, "d": redo_rows.DELETE}


COLUMNS = ("A", "B")
"""Columns of the tables S.T1, which has the first one, and S.T2: texts."""


def statements() -> RedoStatements:
    """The reader of the tables' statements: S.T1 has the number 0."""
    redo_statements = RedoStatements()
    for count in (1, 2):
        columns = tuple(RedoColumn(name, LiteralForm.TEXT) for name in COLUMNS[:count])
        redo_statements.add(RedoTable("S", f"T{count}", columns))
    return redo_statements


def table_of(old: Sequence[str | None] | None, new: Sequence[str | None] | None) -> str:
    """The table whose rows have as many columns."""
    return f"T{len(new or old or '?')}"


def statement(op: str, old: Sequence[str | None] | None, new: Sequence[str | None] | None) -> str:
    """The statement of a change."""
    name = f'"S"."{table_of(old, new)}"'
    conditions = " and ".join(
        f'"{column}" IS NULL' if value is None else f'"{column}" = {_quoted(value)}'
        for column, value in zip(COLUMNS, old or (), strict=False)
    )
    if op == "d":
        return f"delete from {name} where {conditions};"
    if op == "u":
        assigned = zip(COLUMNS, new or (), strict=False)
        assignments = ", ".join(f'"{column}" = {_quoted(value)}' for column, value in assigned)
        return f"update {name} set {assignments} where {conditions};"
    columns = ",".join(f'"{column}"' for column in COLUMNS[: len(new or ())])
    return f"insert into {name}({columns}) values ({','.join(map(_quoted, new or ()))});"


def _quoted(value: str | None) -> str:
    return "NULL" if value is None else "'" + value.replace("'", "''") + "'"


def row(code: int, scn: int, xid: str, **more: Any) -> dict[str, Any]:
    """A row of V$LOGMNR_CONTENTS."""
    return {
        "SCN": scn,
        "OPERATION_CODE": code,
        "XID": bytes.fromhex(xid),
        "TIMESTAMP": EPOCH + dt.timedelta(seconds=scn // 10),
        "CSF": 0,
        "ROLLBACK": 0,
        "STATUS": 0,
        "THREAD#": 1,
        "SSN": 7,
        "RS_ID": f" 0x{scn:06x}.00000001.0010 ",
        "USERNAME": "APP",
        **more,
    }


def start(scn: int, xid: str, **more: Any) -> dict[str, Any]:
    """The beginning of a transaction."""
    return row(redo_rows.START, scn, xid, **more)


def commit(scn: int, xid: str, **more: Any) -> dict[str, Any]:
    """The commit of a transaction."""
    return row(redo_rows.COMMIT, scn, xid, **more)


def rollback(scn: int, xid: str, **more: Any) -> dict[str, Any]:
    """The rollback of a transaction."""
    return row(redo_rows.ROLLED_BACK, scn, xid, **more)


def change(
    op: str,
    scn: int,
    xid: str,
    old: Sequence[str | None] | None = None,
    new: Sequence[str | None] | None = None,
    **more: Any,
) -> dict[str, Any]:
    """A change of one of the tables."""
    return row(
        CODES[op],
        scn,
        xid,
        **{
            "SEG_OWNER": "S",
            "TABLE_NAME": table_of(old, new),
            "ROW_ID": "AAAR3sAAEAAAACXAAA",
            "SQL_REDO": statement(op, old, new),
            **more,
        },
    )


def undo(
    op: str,
    scn: int,
    xid: str,
    row_id: str | None = "AAAR3sAAEAAAACXAAA",
    table: str | None = "T1",
) -> dict[str, Any]:
    """The rollback of one change."""
    return row(
        CODES[op],
        scn,
        xid,
        SEG_OWNER="S",
        TABLE_NAME=table,
        ROW_ID=row_id,
        ROLLBACK=1,
        SQL_REDO="x",
    )


def batch(rows: Sequence[Mapping[str, Any]]) -> pa.RecordBatch:
    """Rows as the connector's columns."""
    names = [column.name for column in redo_rows.REDO]
    return redo_rows.redo_batch(names, [[row.get(name) for name in names] for row in rows])
