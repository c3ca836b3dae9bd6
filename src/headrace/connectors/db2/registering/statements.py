"""The statements that register a table for SQL replication, and those that remove a registration.

They do what the procedures ADDTABLE and REMOVETABLE of the usual set-up on LUW do, and need none of
them. Source: asncdcaddremove.sql of Debezium's example for Db2.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from headrace.connectors.db2.config import Db2Config
from headrace.connectors.db2.properties.modes import Db2Platform
from headrace.connectors.db2.sql import (
    CHANGE_COLUMNS,
    COLUMN_VERSIONS,
    PRUNING,
    REGISTER,
    SUBSCRIBED_COLUMNS,
    SUBSCRIBED_TABLES,
    TABLE_VERSIONS,
    control_table,
    literal,
    quoted,
)
from headrace.connectors.db2.types.declarations import LARGE
from headrace.relational.table import Column

_LSN = "VARCHAR(16) FOR BIT DATA"
_APPLY = {"TARGET_SERVER": "KAFKA", "APPLY_QUAL": "KAFKAQUAL", "SET_NAME": "SET001"}
_REGISTERED: dict[str, object] = {
    "SOURCE_VIEW_QUAL": 0, "GLOBAL_RECORD": "N", "SOURCE_STRUCTURE": 1, "SOURCE_CONDENSED": "Y",
    "SOURCE_COMPLETE": "Y", "DISABLE_REFRESH": 0, "ARCH_LEVEL": "0801", "CONFLICT_LEVEL": "0",
    "CHG_UPD_TO_DEL_INS": "Y", "CHGONLY": "N", "RECAPTURE": "Y", "OPTION_FLAGS": "NNNN",
    "STOP_ON_ERROR": "Y", "STATE": "A",
}  # fmt: skip


@dataclass(frozen=True)
class RegistrationStep:
    """A statement, without its semicolon. `is_needed`: the registration fails without it."""

    sql: str
    is_needed: bool = True


def default_change_table(schema: str, table: str) -> str:
    """Return the name that ADDTABLE gives to a change table."""
    return f"CDC_{schema}_{table}"


def is_large(column: Column) -> bool:
    """Whether SQL replication captures no values of a column."""
    return str(column.type) in LARGE


def adding(
    config: Db2Config,
    schema: str,
    table: str,
    change_table: str,
    columns: Sequence[Column] | None = None,
    *,
    log_changes: bool = True,
) -> Iterator[RegistrationStep]:
    """Yield the steps that register a table. Its change table has `columns` without the large ones,
    or all of the table's if they are not known (None). `log_changes`: Db2's log is to contain whole
    rows of the table, which SQL replication needs (DATA CAPTURE CHANGES)."""
    source, changes = quoted(schema, table), quoted(config.cdc_change_tables_schema, change_table)
    if log_changes:
        yield RegistrationStep(f"ALTER TABLE {source} DATA CAPTURE CHANGES")
    # No empty literals: with Oracle's compatibility they are null.
    lsn = f"CAST(X'00' AS {_LSN})"
    commit, intent, operation = CHANGE_COLUMNS
    source_columns = ["SOURCE.*"] if columns is None else _captured(columns)
    select_list = ", ".join(
        (
            f"{lsn} AS {commit}",
            f"{lsn} AS {intent}",
            f"CAST('I' AS CHAR(1)) AS {operation}",
            *source_columns,
        )
    )
    yield RegistrationStep(
        f"CREATE TABLE {changes} AS (SELECT {select_list} FROM {source} SOURCE) WITH NO DATA "
        "ORGANIZE BY ROW"
    )
    for column in CHANGE_COLUMNS:
        yield RegistrationStep(f"ALTER TABLE {changes} ALTER COLUMN {column} SET NOT NULL")
    index = quoted(config.cdc_change_tables_schema, f"IX{change_table}")
    yield RegistrationStep(f"CREATE UNIQUE INDEX {index} ON {changes} ({commit} ASC, {intent} ASC)")
    yield RegistrationStep(f"ALTER TABLE {changes} VOLATILE CARDINALITY", is_needed=False)
    names = {
        "SOURCE_OWNER": schema, "SOURCE_TABLE": table,
        "CD_OWNER": config.cdc_change_tables_schema, "CD_TABLE": change_table,
        "PHYS_CHANGE_OWNER": config.cdc_change_tables_schema, "PHYS_CHANGE_TABLE": change_table,
    }  # fmt: skip
    yield RegistrationStep(_insert(config, REGISTER, {**names, **_REGISTERED}))
    pruning = control_table(config, PRUNING)
    target = {
        "TARGET_OWNER": schema, "TARGET_TABLE": table, "SOURCE_OWNER": schema,
        "SOURCE_TABLE": table, "SOURCE_VIEW_QUAL": 0,
        "TARGET_STRUCTURE": 8, "PHYS_CHANGE_OWNER": config.cdc_change_tables_schema,
        "PHYS_CHANGE_TABLE": change_table,
    }  # fmt: skip
    named, values = _listed({**_APPLY, **target})
    yield RegistrationStep(
        f"INSERT INTO {pruning} ({named}, CNTL_SERVER, MAP_ID) SELECT {values}, CURRENT SERVER, "
        "RTRIM(CAST(COALESCE(MAX(INTEGER(MAP_ID)), 0) + 1 AS CHAR(10))) "
        f"FROM {pruning}"
    )


def reinitialize(config: Db2Config) -> str:
    """Return the command that makes Capture read its registrations again: a statement, if the site
    has the function; on z/OS a command of the console."""
    if config.db2_platform == Db2Platform.ZOS:
        return "MODIFY capture,REINIT."
    return f"VALUES {quoted(config.cdc_control_schema)}.ASNCDCSERVICES('reinit','asncdc');"


def removing(
    config: Db2Config, schema: str, table: str, change_table: str, *, log_changes: bool = True
) -> Iterator[RegistrationStep]:
    """Yield the steps that end a registration and drop its change table; the last registration of a
    table also removes what Capture and Apply keep of its columns. `log_changes`: Db2's log no
    longer records whole rows of the table (DATA CAPTURE NONE)."""
    source = f"SOURCE_OWNER = {literal(schema)} AND SOURCE_TABLE = {literal(table)}"
    # ADDTABLE puts quotation marks around the name there.
    names = f"{literal(change_table)}, {literal(quoted(change_table))}"
    yield RegistrationStep(
        f"DELETE FROM {control_table(config, PRUNING)} WHERE {source} "
        f"AND PHYS_CHANGE_TABLE IN ({names})"
    )
    register = control_table(config, REGISTER)
    yield RegistrationStep(
        f"DELETE FROM {register} WHERE {source} AND CD_TABLE = {literal(change_table)}"
    )
    yield RegistrationStep(f"DROP TABLE {quoted(config.cdc_change_tables_schema, change_table)}")
    is_last = f"NOT EXISTS (SELECT 1 FROM {register} WHERE {source})"
    target = f"TARGET_OWNER = {literal(schema)} AND TARGET_TABLE = {literal(table)}"
    for subscribed in (SUBSCRIBED_COLUMNS, SUBSCRIBED_TABLES):
        yield RegistrationStep(
            f"DELETE FROM {control_table(config, subscribed)} WHERE {target} AND {is_last}",
            is_needed=False,  # tables of Apply, which need not exist
        )
    versions = control_table(config, TABLE_VERSIONS)
    version = f"SOURCE_OWNER = {literal(schema)} AND SOURCE_NAME = {literal(table)}"
    yield RegistrationStep(
        f"DELETE FROM {control_table(config, COLUMN_VERSIONS)} C WHERE EXISTS (SELECT 1 FROM "
        f"{versions} T WHERE {version} AND T.TABLEID1 = C.TABLEID1 AND T.TABLEID2 = C.TABLEID2) "
        f"AND {is_last}"
    )
    yield RegistrationStep(f"DELETE FROM {versions} WHERE {version} AND {is_last}")
    if log_changes:
        yield RegistrationStep(f"ALTER TABLE {quoted(schema, table)} DATA CAPTURE NONE")


def _captured(columns: Sequence[Column]) -> Iterator[str]:
    return (f"SOURCE.{quoted(column.name)}" for column in columns if not is_large(column))


def _insert(config: Db2Config, table: str, row: dict[str, object]) -> str:
    columns, values = _listed(row)
    return f"INSERT INTO {control_table(config, table)} ({columns}) VALUES ({values})"


def _listed(row: dict[str, object]) -> tuple[str, str]:
    return ", ".join(row), ", ".join(map(literal, row.values()))
