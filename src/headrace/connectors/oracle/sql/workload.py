"""Statements of a support bundle's workload, on tables of the connecting user's schema whose names
begin with `HEADRACE_KIT_`. The connector itself sends none of them."""

from __future__ import annotations

from headrace.connectors.oracle.sql.statement import declared

KIT = "HEADRACE_KIT_"

KIT_TABLES = declared(
    "kit_tables",
    "Reference, USER_TABLES",
    f"SELECT TABLE_NAME FROM USER_TABLES WHERE TABLE_NAME LIKE '{KIT}%'",
)
"""The workload's tables that exist already."""
KIT_TYPE = declared(
    "kit_type", "SQL, CREATE TYPE", f"CREATE TYPE {KIT}POINT AS OBJECT (X NUMBER, Y NUMBER)"
)
KIT_TABLE = declared(
    "kit_table",
    "SQL, CREATE TABLE",
    f"CREATE TABLE {KIT}{{kit}} ({{kit_columns}})",
)
KIT_LOGGING = declared(
    "kit_logging",
    "SQL, ALTER TABLE, supplemental_table_logging",
    f"ALTER TABLE {KIT}{{kit}} ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS",
)
KIT_INDEX = declared(
    "kit_index",
    "SQL, CREATE INDEX, column_expression",
    f"CREATE INDEX {KIT}UPPER ON {KIT}INVISIBLES (UPPER(A))",
)
"""Adds a column that Oracle itself hides to the table."""
KIT_INSERT = declared(
    "kit_insert",
    "SQL, INSERT",
    f"INSERT INTO {KIT}{{kit}} ({{kit_names}}) VALUES ({{kit_values}})",
)
KIT_UPDATE = declared(
    "kit_update",
    "SQL, UPDATE",
    f"UPDATE {KIT}{{kit}} SET {{kit_assignments}} WHERE ID = :id",
)
KIT_DELETE = declared("kit_delete", "SQL, DELETE", f"DELETE FROM {KIT}{{kit}} WHERE ID = :id")
KIT_LOB = declared(
    "kit_lob",
    "PL/SQL, DBMS_LOB",
    f"DECLARE found CLOB; erased INTEGER := 3; BEGIN SELECT C INTO found FROM {KIT}LOBS "
    "WHERE ID = :id FOR UPDATE; DBMS_LOB.WRITEAPPEND(found, 5, 'end é'); "
    "DBMS_LOB.WRITE(found, 3, 2, 'in!'); DBMS_LOB.ERASE(found, erased, 10); "
    "DBMS_LOB.TRIM(found, 5000); END;",
)
"""Writes, erases and truncates parts of a large text."""
KIT_SAVEPOINT = declared("kit_savepoint", "SQL, SAVEPOINT", "SAVEPOINT headrace_kit")
KIT_UNDO = declared("kit_undo", "SQL, ROLLBACK", "ROLLBACK TO SAVEPOINT headrace_kit")
KIT_COLUMN = declared(
    "kit_column", "SQL, ALTER TABLE, add_column_clause", f"ALTER TABLE {KIT}ALTERED ADD (B NUMBER)"
)
KIT_DROP = declared(
    "kit_drop", "SQL, DROP TABLE", f"DROP TABLE {KIT}{{kit}} CASCADE CONSTRAINTS PURGE"
)
KIT_DROP_TYPE = declared("kit_drop_type", "SQL, DROP TYPE", f"DROP TYPE {KIT}POINT FORCE")
