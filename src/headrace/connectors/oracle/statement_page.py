"""The page that lists every statement, with an instance of each that has slots."""

from __future__ import annotations

from headrace.connectors.oracle import sql
from headrace.connectors.oracle.reading.chunk_query import RowsQuery
from headrace.connectors.oracle.reading.dialect import PRESENT, sql_at
from headrace.connectors.oracle.sql import redo_conditions
from headrace.connectors.oracle.streaming.redo_rows import REDO
from headrace.connectors.oracle.support import kit
from headrace.connectors.oracle.types.source_type import OracleType
from headrace.relational.table import Column
from headrace.snapshots.chunks import Chunk, ChunkKind

_TABLE = ("INVENTORY", "CUSTOMERS")
_NAME = sql.quoted(*_TABLE)
_ID = Column("ID", OracleType.of("NUMBER", 22, 9, 0), not_null=True)
_AT = Column("CHANGED", OracleType.of("TIMESTAMP(6)", 11, None, 6), not_null=False)
_SCN = 2_868_000
_QUERY = f"SELECT * FROM {_NAME}{sql.as_of(_SCN)} WHERE ACTIVE = 'Y'"


def instances() -> dict[str, str]:
    """Return a text of each statement that has slots, by its name, as the connector writes it."""
    chunk = Chunk(0, 3, ChunkKind.KEY, lower=("1000",), upper=("2000",))
    whole = Chunk(0, 0, ChunkKind.WHOLE)
    statements, columns = sql_at(_SCN), (_ID, _AT)
    flush_table = sql.quoted("LOG_MINING_FLUSH")
    filters = [
        *redo_conditions.schema_filter(["INVENTORY"], [], regex=False),
        *redo_conditions.table_filter(["INVENTORY.CUSTOMERS"], [], regex=False, hybrid=True),
        *redo_conditions.user_filter("USERNAME", [], ["BATCH"]),
    ]
    condition = redo_conditions.contents_condition("ORCLPDB1", filters)
    return {
        "set_container": sql.set_container("ORCLPDB1"),
        "start_logmnr": sql.start_logmnr("online_catalog"),
        "contents": sql.contents(REDO.names, condition),
        "committed_contents": sql.contents(REDO.names, condition, committed=True),
        "flush_table_create": sql.FLUSH_TABLE_CREATE(flush_table=flush_table),
        "flush_table_rows": sql.FLUSH_TABLE_ROWS(flush_table=flush_table),
        "flush_table_scn": sql.FLUSH_TABLE_SCN(flush_table=flush_table),
        "flush_table_delete": sql.FLUSH_TABLE_DELETE(flush_table=flush_table),
        "flush_table_insert": sql.FLUSH_TABLE_INSERT(flush_table=flush_table),
        "flush_table_update": sql.FLUSH_TABLE_UPDATE(flush_table=flush_table),
        "tables": sql.tables((19,)),
        "object": sql.OBJECT(one=sql.one_table("O.OBJECT_NAME")),
        "columns": sql.COLUMNS(one=sql.one_table("C.TABLE_NAME")),
        "primary_key": sql.PRIMARY_KEY(one=sql.one_table("K.TABLE_NAME")),
        "unique_indexes": sql.UNIQUE_INDEXES(one=sql.one_table("I.TABLE_NAME")),
        "lock": sql.LOCK(table=_NAME),
        "pending": sql.PENDING(view="V$TRANSACTION"),
        "lockable": sql.LOCKABLE(table=_NAME),
        "readable": sql.READABLE(table=_NAME, as_of=sql.as_of(_SCN)),
        "rows": RowsQuery(_TABLE, columns, (_ID,), chunk, _SCN).statement(_SCN),
        "filled": statements.filled([_TABLE, ("INVENTORY", "ORDERS")]),
        "counted": PRESENT.count([_TABLE], None),
        "bounds": statements.bounds(_TABLE, (_ID,), [], alone=True, size=1000, count=50),
        "filtered": sql.FILTERED(table=_NAME, as_of=sql.as_of(_SCN), condition='"ID" > 1000'),
        "overridden": RowsQuery(_TABLE, columns, (), whole, _SCN, None, _QUERY).statement(_SCN),
        "probed": sql.PROBED(query=_QUERY),
        "insert_signal": sql.INSERT_SIGNAL(table=sql.quoted("INVENTORY", "SIGNALS")),
        "delete_signal": sql.DELETE_SIGNAL(
            table=sql.quoted("INVENTORY", "SIGNALS"), name=sql.quoted("ID")
        ),
        "heartbeat": sql.HEARTBEAT(action=f"UPDATE {_NAME} SET CHANGED = SYSTIMESTAMP"),
        "explain_heartbeat": sql.EXPLAIN_HEARTBEAT(
            action=f"UPDATE {_NAME} SET CHANGED = SYSTIMESTAMP"
        ),
        "probe": sql.PROBE(view="V$LOG"),
        "whole_view": sql.WHOLE_VIEW(view="V$THREAD", number=50),
        **_of_workload(),
    }


def _of_workload() -> dict[str, str]:
    """Return the statements of a support bundle's workload, the first one of each name."""
    texts: dict[str, str] = {}
    for step in kit.listed():
        texts.setdefault(step.name, step.text)
    return {name: text for name, text in texts.items() if name.startswith("kit_")}


def page() -> str:
    """Return the page as Markdown."""
    lines = [
        "# Statements that are sent to Oracle",
        "",
        "All of them; a test holds this page to `headrace.connectors.oracle.sql`. Those called "
        "`kit_…` are of a support bundle's workload alone. Names in braces "
        "stand for what differs, and an instance follows; names after a colon are binds. The "
        "manuals are those of Oracle Database: Reference, PL/SQL Packages and Types Reference, SQL "
        "Language Reference, Globalization Support Guide, and the chapter on LogMiner of Utilities."
        " What braces may hold is in `headrace.connectors.oracle.sql`, and the stand-in "
        "that the tests run on refuses every other text.",
    ]
    examples = instances()
    for statement in sql.STATEMENTS:
        lines += [
            "",
            f"## {statement.name}",
            "",
            f"{statement.manual}.",
            "",
            "```sql",
            statement.text,
            "```",
        ]
        if statement.slots:
            lines += ["", "For instance:", "", "```sql", examples[statement.name], "```"]
    return "\n".join(lines) + "\n"
