"""The control tables of SQL replication's Capture program, and the simulator's own objects;
statements for Derby."""

from __future__ import annotations

from collections.abc import Iterator

SIMULATOR = "CAPTURE"
"""The schema of the simulator's own objects."""
FIRST_COMMIT = 1 << 62
"""Larger than every place of a change: these are nanoseconds since the machine was started."""

_LSN = "VARCHAR(16) FOR BIT DATA"
_REGISTER = f"""
SOURCE_OWNER VARCHAR(128) NOT NULL, SOURCE_TABLE VARCHAR(128) NOT NULL,
SOURCE_VIEW_QUAL SMALLINT NOT NULL, GLOBAL_RECORD CHAR(1) NOT NULL,
SOURCE_STRUCTURE SMALLINT NOT NULL, SOURCE_CONDENSED CHAR(1) NOT NULL,
SOURCE_COMPLETE CHAR(1) NOT NULL, CD_OWNER VARCHAR(128), CD_TABLE VARCHAR(128),
PHYS_CHANGE_OWNER VARCHAR(128), PHYS_CHANGE_TABLE VARCHAR(128), CD_OLD_SYNCHPOINT {_LSN},
CD_NEW_SYNCHPOINT {_LSN}, DISABLE_REFRESH SMALLINT NOT NULL, CCD_OWNER VARCHAR(128),
CCD_TABLE VARCHAR(128), CCD_OLD_SYNCHPOINT {_LSN}, SYNCHPOINT {_LSN}, SYNCHTIME TIMESTAMP,
CCD_CONDENSED CHAR(1), CCD_COMPLETE CHAR(1), ARCH_LEVEL CHAR(4) NOT NULL, DESCRIPTION CHAR(254),
BEFORE_IMG_PREFIX VARCHAR(4), CONFLICT_LEVEL CHAR(1), CHG_UPD_TO_DEL_INS CHAR(1),
CHGONLY CHAR(1), RECAPTURE CHAR(1), OPTION_FLAGS CHAR(4) NOT NULL,
STOP_ON_ERROR CHAR(1) DEFAULT 'Y', STATE CHAR(1) DEFAULT 'I', STATE_INFO CHAR(8)
"""
_UNITS_OF_WORK = f"""
IBMSNAP_UOWID CHAR(10) FOR BIT DATA NOT NULL, IBMSNAP_COMMITSEQ {_LSN} NOT NULL PRIMARY KEY,
IBMSNAP_LOGMARKER TIMESTAMP NOT NULL, IBMSNAP_AUTHTKN VARCHAR(30) NOT NULL,
IBMSNAP_AUTHID VARCHAR(128) NOT NULL, IBMSNAP_REJ_CODE CHAR(1) NOT NULL DEFAULT '0',
IBMSNAP_APPLY_QUAL CHAR(18) NOT NULL DEFAULT ''
"""
_PRUNING = f"""
TARGET_SERVER CHAR(18) NOT NULL, TARGET_OWNER VARCHAR(128) NOT NULL,
TARGET_TABLE VARCHAR(128) NOT NULL, SYNCHTIME TIMESTAMP, SYNCHPOINT {_LSN},
SOURCE_OWNER VARCHAR(128) NOT NULL, SOURCE_TABLE VARCHAR(128) NOT NULL,
SOURCE_VIEW_QUAL SMALLINT NOT NULL, APPLY_QUAL CHAR(18) NOT NULL, SET_NAME CHAR(18) NOT NULL,
CNTL_SERVER CHAR(18) NOT NULL, TARGET_STRUCTURE SMALLINT NOT NULL, CNTL_ALIAS CHAR(8),
MAP_ID VARCHAR(10) NOT NULL, PHYS_CHANGE_OWNER VARCHAR(128), PHYS_CHANGE_TABLE VARCHAR(128)
"""
_PRUNE_SET = f"""
TARGET_SERVER CHAR(18) NOT NULL, APPLY_QUAL CHAR(18) NOT NULL, SET_NAME CHAR(18) NOT NULL,
SYNCHTIME TIMESTAMP, SYNCHPOINT {_LSN} NOT NULL
"""
_SUBSCRIBED_COLUMNS = """
APPLY_QUAL CHAR(18) NOT NULL, SET_NAME CHAR(18) NOT NULL, WHOS_ON_FIRST CHAR(1) NOT NULL,
TARGET_OWNER VARCHAR(128) NOT NULL, TARGET_TABLE VARCHAR(128) NOT NULL, COL_TYPE CHAR(1) NOT NULL,
TARGET_NAME VARCHAR(128) NOT NULL, IS_KEY CHAR(1) NOT NULL, COLNO SMALLINT NOT NULL,
EXPRESSION VARCHAR(1024) NOT NULL
"""
_SUBSCRIBED_TABLES = """
APPLY_QUAL CHAR(18) NOT NULL, SET_NAME CHAR(18) NOT NULL, WHOS_ON_FIRST CHAR(1) NOT NULL,
SOURCE_OWNER VARCHAR(128) NOT NULL, SOURCE_TABLE VARCHAR(128) NOT NULL,
SOURCE_VIEW_QUAL SMALLINT NOT NULL, TARGET_OWNER VARCHAR(128) NOT NULL,
TARGET_TABLE VARCHAR(128) NOT NULL, TARGET_CONDENSED CHAR(1) NOT NULL,
TARGET_COMPLETE CHAR(1) NOT NULL, TARGET_STRUCTURE SMALLINT NOT NULL, PREDICATES VARCHAR(1024)
"""
_COLUMN_VERSIONS = f"""
LSN {_LSN} NOT NULL, TABLEID1 SMALLINT NOT NULL, TABLEID2 SMALLINT NOT NULL,
"POSITION" SMALLINT NOT NULL, NAME VARCHAR(128) NOT NULL, TYPE SMALLINT NOT NULL,
LENGTH INTEGER NOT NULL, NULLS CHAR(1) NOT NULL, "DEFAULT" VARCHAR(1536)
"""
_TABLE_VERSIONS = f"""
LSN {_LSN} NOT NULL, TABLEID1 SMALLINT NOT NULL, TABLEID2 SMALLINT NOT NULL,
VERSION INTEGER NOT NULL, SOURCE_OWNER VARCHAR(128) NOT NULL, SOURCE_NAME VARCHAR(128) NOT NULL
"""
TABLES = {
    "IBMSNAP_REGISTER": _REGISTER,
    "IBMSNAP_UOW": _UNITS_OF_WORK,
    "IBMSNAP_PRUNCNTL": _PRUNING,
    "IBMSNAP_PRUNE_SET": _PRUNE_SET,
    "IBMSNAP_SUBS_COLS": _SUBSCRIBED_COLUMNS,
    "IBMSNAP_SUBS_MEMBR": _SUBSCRIBED_TABLES,
    "IBMQREP_COLVERSION": _COLUMN_VERSIONS,
    "IBMQREP_TABVERSION": _TABLE_VERSIONS,
}
"""The columns of the control tables, by name of the table."""


def quoted(*names: str) -> str:
    """A quoted name of one or more parts."""
    return ".".join('"' + name.replace('"', '""') + '"' for name in names)


def place(number: str, width: int) -> str:
    """The expression of an LSN of `width` bytes with the value of the expression `number`."""
    return f"X'{'00' * (width - 8)}' || {SIMULATOR}.BYTES({number})"


def installation(control: str, changes: str, width: int) -> Iterator[str]:
    """Statements that create the control tables in the schema `control`, with the global row, and
    the simulator's objects; LSNs have `width` bytes. `changes` is the schema of the change
    tables."""
    for schema in dict.fromkeys((control, changes, SIMULATOR)):
        yield f"CREATE SCHEMA {quoted(schema)}"
    for table, columns in TABLES.items():
        yield f"CREATE TABLE {quoted(control, table)} ({columns})"
    yield (
        f"CREATE FUNCTION {SIMULATOR}.BYTES(NUMBER BIGINT) RETURNS VARCHAR(8) FOR BIT DATA "
        "PARAMETER STYLE JAVA NO SQL LANGUAGE JAVA DETERMINISTIC "
        "EXTERNAL NAME 'com.google.common.primitives.Longs.toByteArray'"
    )
    yield (
        f"CREATE FUNCTION {SIMULATOR}.TICK() RETURNS BIGINT PARAMETER STYLE JAVA NO SQL "
        "LANGUAGE JAVA EXTERNAL NAME 'java.lang.System.nanoTime'"
    )
    # A transaction that changes a captured table locks this row until it ends, so commits have the
    # order of their numbers. IS_OPEN: the transaction already has its number.
    yield f"CREATE TABLE {SIMULATOR}.COMMITS (NUMBER BIGINT NOT NULL, IS_OPEN SMALLINT NOT NULL)"
    yield f"INSERT INTO {SIMULATOR}.COMMITS VALUES ({FIRST_COMMIT}, 0)"
    yield (
        f'CREATE TABLE {SIMULATOR}.DBCFG ("NAME" VARCHAR(32) NOT NULL PRIMARY KEY, '
        '"VALUE" VARCHAR(1024))'
    )
    yield f"INSERT INTO {SIMULATOR}.DBCFG VALUES ('cur_commit', 'ON')"
    # The start of a registration, until Capture writes it to the register.
    yield (
        f"CREATE TABLE {SIMULATOR}.REGISTERED (CD_OWNER VARCHAR(128) NOT NULL, "
        "CD_TABLE VARCHAR(128) NOT NULL, NUMBER BIGINT NOT NULL)"
    )
    yield (
        f"INSERT INTO {quoted(control, 'IBMSNAP_REGISTER')} (SOURCE_OWNER, SOURCE_TABLE, "
        "SOURCE_VIEW_QUAL, GLOBAL_RECORD, SOURCE_STRUCTURE, SOURCE_CONDENSED, SOURCE_COMPLETE, "
        "DISABLE_REFRESH, ARCH_LEVEL, OPTION_FLAGS, STATE, SYNCHPOINT, SYNCHTIME) VALUES ('', '', "
        f"0, 'Y', 0, 'Y', 'Y', 0, '0801', 'NNNN', 'A', {place(str(FIRST_COMMIT), width)}, "
        "CURRENT_TIMESTAMP)"
    )
    # The subscription set of registered tables: nothing is pruned before it advances.
    yield (
        f"INSERT INTO {quoted(control, 'IBMSNAP_PRUNE_SET')} (TARGET_SERVER, APPLY_QUAL, SET_NAME, "
        f"SYNCHPOINT) VALUES ('KAFKA', 'KAFKAQUAL', 'SET001', X'{'00' * width}')"
    )


def subscription(control: str) -> str:
    """The statement that maps a table to its subscription set, like ADDTABLE: schema and name of
    the table twice, then those of its change table."""
    return (
        f"INSERT INTO {quoted(control, 'IBMSNAP_PRUNCNTL')} (TARGET_SERVER, TARGET_OWNER, "
        "TARGET_TABLE, SOURCE_OWNER, SOURCE_TABLE, SOURCE_VIEW_QUAL, APPLY_QUAL, SET_NAME, "
        "CNTL_SERVER, TARGET_STRUCTURE, MAP_ID, PHYS_CHANGE_OWNER, PHYS_CHANGE_TABLE) "
        "VALUES ('KAFKA', ?, ?, ?, ?, 0, 'KAFKAQUAL', 'SET001', 'SIMULATOR', 8, '1', ?, ?)"
    )


def next_commit(condition: str = "IS_OPEN = 0", is_open: int = 0) -> str:
    """The statement that assigns a number to the next transaction."""
    return (
        f"UPDATE {SIMULATOR}.COMMITS SET NUMBER = NUMBER + 1, IS_OPEN = {is_open} WHERE {condition}"
    )


def activation(control: str, width: int) -> str:
    """The statement with which Capture records the start of active registrations that have none.
    Its parameter: the number of the last commit that Capture has read; later registrations wait."""
    register = quoted(control, "IBMSNAP_REGISTER")
    register_row = (
        f"FROM {SIMULATOR}.REGISTERED R WHERE R.CD_OWNER = {register}.CD_OWNER "
        f"AND R.CD_TABLE = {register}.CD_TABLE"
    )
    start = f"(SELECT {place('R.NUMBER', width)} {register_row})"
    return (
        f"UPDATE {register} SET CD_OLD_SYNCHPOINT = {start}, CD_NEW_SYNCHPOINT = {start} "
        "WHERE GLOBAL_RECORD = 'N' AND STATE = 'A' AND CD_OLD_SYNCHPOINT IS NULL "
        f"AND EXISTS (SELECT 1 {register_row} AND R.NUMBER <= ?)"
    )


def change_table(source: str, changes: str, columns: tuple[str, ...]) -> Iterator[str]:
    """Statements that create a table's change table with these columns, like ADDTABLE; the names of
    both tables are quoted."""
    lsn = f"CAST(X'' AS {_LSN})"
    captured = ", ".join(f"SOURCE.{quoted(column)}" for column in columns)
    yield (
        f"CREATE TABLE {changes} AS SELECT {lsn} AS IBMSNAP_COMMITSEQ, "
        f"{lsn} AS IBMSNAP_INTENTSEQ, CAST('' AS CHAR(1)) AS IBMSNAP_OPERATION, {captured} "
        f"FROM {source} SOURCE WITH NO DATA"
    )
    for column in ("COMMITSEQ", "INTENTSEQ", "OPERATION"):
        yield f"ALTER TABLE {changes} ALTER COLUMN IBMSNAP_{column} NOT NULL"


def capturing(
    source: str, changes: tuple[str, str], columns: tuple[str, ...], width: int
) -> Iterator[str]:
    """Statements that write the changes of a source table to a change table (schema and name): the
    rows of an update are a D and an I, one after the other."""
    schema, table = changes
    names = ", ".join(("IBMSNAP_COMMITSEQ", "IBMSNAP_INTENTSEQ", "IBMSNAP_OPERATION"))
    names = ", ".join((names, *map(quoted, columns)))
    commit = f"(SELECT {place('NUMBER', width)} FROM {SIMULATOR}.COMMITS)"

    def row(operation: str, image: str) -> str:
        cells = (f"{image}.{quoted(column)}" for column in columns)
        tick = place(f"{SIMULATOR}.TICK()", width)
        return f"({', '.join((commit, tick, repr(operation), *cells))})"

    written = {
        "INSERT": ("NEW AS N", row("I", "N")),
        "UPDATE": ("OLD AS O NEW AS N", f"{row('D', 'O')}, {row('I', 'N')}"),
        "DELETE": ("OLD AS O", row("D", "O")),
    }
    for change, (images, rows) in written.items():
        numbering, writing = (quoted(SIMULATOR, _trigger(table, change, kind)) for kind in "CR")
        yield f"CREATE TRIGGER {numbering} AFTER {change} ON {source} {next_commit()}"
        yield (
            f"CREATE TRIGGER {writing} AFTER {change} ON {source} "
            f"REFERENCING {images} FOR EACH ROW INSERT INTO {quoted(schema, table)} ({names}) "
            f"VALUES {rows}"
        )


def triggers(change_table: str) -> Iterator[str]:
    """The names of the triggers that `capturing` creates."""
    for change in ("INSERT", "UPDATE", "DELETE"):
        for kind in "CR":
            yield _trigger(change_table, change, kind)


def _trigger(change_table: str, change: str, kind: str) -> str:
    return f"{change_table}_{change}_{kind}"
