"""The database of the stand-in: tables, redo logs, and their V$ views.

A script (`headrace_demo.oracle.script`) defines it. It runs transactions
(`headrace_demo.oracle.transactions`), for which it writes the redo that Oracle would write.
"""

from __future__ import annotations

import datetime as dt
import random
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from headrace_demo.oracle.definitions import UNLIMITED, Column, Table
from headrace_demo.oracle.script import RedoRow, State, scn_of, time_of
from headrace_demo.oracle.store import Store, name
from headrace_demo.oracle.texts import stored
from headrace_demo.oracle.views import redo_views
from headrace_demo.oracle.views.peculiarities import Peculiarities

TABLE_SPACE = "LOGMINER_TBS"
SESSION_MEMORY = {
    "session uga memory": 2_000_000, "session uga memory max": 3_000_000,
    "session pga memory": 4_000_000, "session pga memory max": 5_000_000,
}  # fmt: skip
"""Statistics of every session, by V$STATNAME."""
_FIRST_LIFE = (1, "2024-01-01 00:00:00")
"""RESETLOGS_CHANGE# and RESETLOGS_TIME of a database that was never restored."""
PRIVILEGES = (
    "CREATE SESSION", "SET CONTAINER", "FLASHBACK ANY TABLE", "SELECT ANY TABLE",
    "SELECT ANY TRANSACTION", "LOGMINING", "CREATE TABLE", "LOCK ANY TABLE", "CREATE SEQUENCE",
)  # fmt: skip
PRODUCTS = ("Oracle Database 19c Enterprise Edition",)
ROLES = ("SELECT_CATALOG_ROLE", "EXECUTE_CATALOG_ROLE")
PACKAGES = ("DBMS_LOGMNR", "DBMS_LOGMNR_D")


_ENDS = ("COMMIT", "ROLLBACK", "DDL")
"""Redo operations whose SCN is never shared by later redo."""


class OracleError(Exception):
    """An Oracle error: ORA-`code`."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(f"ORA-{code:05d}: {text}")
        self.code = code


class _Redo(list[RedoRow]):
    """The redo of a State, which keeps only the last row: the others are in the store."""

    def __init__(self, store: Store, written: Callable[[], None]) -> None:
        super().__init__()
        self._store, self._written = store, written

    def append(self, row: RedoRow) -> None:
        self[:] = [row]
        self._store.add_redo([redo_values(row)])
        self._written()


class Database:
    """`script` is its initial state. Methods hold `lock`."""

    def __init__(self, script: Mapping[str, Any] | None = None) -> None:
        self.lock = threading.RLock()
        self._folder = tempfile.TemporaryDirectory(prefix="headrace-oracle-")
        self.state = State()
        functions: dict[str, Callable[..., Any]] = {
            "SCN_TO_TIMESTAMP": self._time_of_scn,
            "TIMESTAMP_TO_SCN": lambda text: scn_of(_time(text)),
            "SYSDATE": lambda: str(time_of(self.state.scn)),
            "SYSTIMESTAMP": self._clock,
            "LATENESS": self.lateness,
            "GET_DDL": lambda _, table, schema: self.state.tables[f"{schema}.{table}"].ddl,
        }
        self.store = Store(Path(self._folder.name) / "oracle.db", functions)
        self.privileges, self.roles = list(PRIVILEGES), list(ROLES)
        self.packages = list(PACKAGES)
        self.products = list(PRODUCTS)
        self.platform = "Linux x86 64-bit"
        self.table_rights: dict[str, list[str]] = {}
        """Rights on tables (SCHEMA.TABLE) besides the privileges: `FLASHBACK`, `SELECT` …"""
        self.logged_schemas: list[str] = []
        """Schemas for whose tables the redo has all columns."""
        self.quota: int | None = -1
        """Quota of the user in TABLE_SPACE in bytes; -1: unlimited, None: no quota."""
        self.hidden_views: set[str] = set()
        """Views that may not be read."""
        self.root_error: int | None = None
        """The ORA code with which access to the root is refused."""
        self.oldest_scn = 0
        """The oldest SCN for which undo is available."""
        self.archives = True
        """Whether logs are archived when they are switched."""
        self.destination_status = "VALID"
        """Status of the database's own archive destination: FULL and ERROR if it has no space."""
        self.pdb_is_open = True
        """Whether the pluggable database is open; otherwise it is MOUNTED."""
        self.shows_archived = True
        """Whether V$ARCHIVED_LOG shows the archived logs."""
        self.peculiarities = Peculiarities()
        self.thread_states: dict[int, dict[str, Any]] = {}
        """Values that replace those of a thread's row in V$THREAD."""
        self.statements: Counter[str] = Counter()
        """The number of executions of each statement, by name."""
        self.resetlogs: Sequence[Any] = _FIRST_LIFE
        """SCN and time of the last RESETLOGS; earlier logs belong to another incarnation."""
        self._rows = 0
        self._chance = random.Random(0)  # noqa: S311 - draws of a seed
        self._is_seen = True
        """Whether a session has read the SCN since the last change."""
        self.load(script or {})

    # -- changes --------------------------------------------------------------------------------

    def load(self, script: Mapping[str, Any]) -> None:
        """Resets the database to a script's database, tables and `setup`."""
        with self.lock:
            for full_name in self.state.tables:
                self.store.drop(full_name)
            self.store.connection.execute("DELETE FROM REDO")
            self.state = State.read(script)
            self.state.redo = _Redo(self.store, self._wrote)
            for table in self.state.tables.values():
                self._stored(table)
            self.apply(script.get("setup", ()))

    def apply(self, block: Iterable[Mapping[str, Any]]) -> None:
        """Applies lines of a script in their order."""
        with self.lock:
            for line in block:
                match line:
                    case {"redo": _}:
                        self.state.apply([line])
                    case {"table": definition}:
                        before = self.state.tables.get(definition["name"])
                        self.state.define(definition)
                        table = self.state.tables[definition["name"]]
                        table.last_ddl_scn = self.state.scn
                        if (
                            before is None
                            or before.columns != table.columns
                            or "rows" in definition
                        ):
                            self._stored(table)
                    case {"drop_table": full_name}:
                        self.store.drop(full_name)
                        del self.state.tables[full_name]
                    case {"switch": thread}:
                        self._switch(thread)
                    case {"row": full_name}:
                        self.add_rows(full_name, [line["values"]], line.get("from", self.state.scn))
                    case _:
                        self.state.apply([line])
            self.show()

    def add_rows(
        self, full_name: str, rows: Iterable[Sequence[Any]], first: int = 0, end: int = UNLIMITED
    ) -> None:
        """Adds rows to a table without redo, which are visible from one SCN until another."""
        table = self.table(full_name)
        marks = ", ".join("?" * (len(table.columns) + 3))
        columns = ", ".join(name(column.name) for column in table.columns)
        statement = (
            f'INSERT INTO {name(full_name)} ("$first", "$end", "ROWID", {columns}) VALUES ({marks})'
        )
        with self.lock:
            self.store.connection.executemany(
                statement,
                (
                    (first, end, self.new_row_id(table), *_stored_values(table.columns, row))
                    for row in rows
                ),
            )

    def table(self, full_name: str) -> Table:
        """The table SCHEMA.TABLE. Raises OracleError(942)."""
        table = self.state.tables.get(full_name)
        if table is None:
            raise OracleError(942, f'table or view "{full_name}" does not exist')
        return table

    def require_right(self, full_name: str, privilege: str, *rights: str) -> None:
        """Checks that the user has a privilege, or one of these rights on a table. Raises
        OracleError(1031)."""
        rights_on_table = self.table_rights.get(full_name, ())
        if privilege not in self.privileges and not set(rights_on_table) & set(rights):
            raise OracleError(1031, "insufficient privileges")

    def new_row_id(self, table: Table) -> str:
        """A new ROWID."""
        self._rows += 1
        return f"{_sixty_four(table.object_id, 6)}AAA{_sixty_four(self._rows, 9)}"

    def next_scn(self) -> int:
        """The SCN of the next change; advances the SCN."""
        scn = self.state.scn
        self.state.scn += 1
        return scn

    @property
    def columns(self) -> dict[str, list[Column]]:
        """The columns of every table."""
        return {full_name: table.columns for full_name, table in self.state.tables.items()}

    def close(self) -> None:
        """Remove the files."""
        self.store.connection.close()
        self._folder.cleanup()

    # -- queries of the state -------------------------------------------------------------------

    def show(self) -> None:
        """Updates the V$ views and those of the data dictionary to the current state."""
        fill, state = self.store.fill, self.state
        fill("V$PARAMETER", [("max_string_size", state.max_string_size)])
        fill(
            "NLS_DATABASE_PARAMETERS",
            [("NLS_CHARACTERSET", state.charset), ("NLS_NCHAR_CHARACTERSET", state.ncharset)],
        )
        fill("V$STATNAME", enumerate(SESSION_MEMORY))
        fill("V$MYSTAT", enumerate(SESSION_MEMORY.values()))
        fill(
            "V$ARCHIVE_DEST_STATUS",
            redo_views.destinations(self.peculiarities, self.destination_status),
        )
        fill("ALL_PROCEDURES", [("SYS", name) for name in self.packages])
        fill("SESSION_PRIVS", [(name,) for name in self.privileges])
        fill("SESSION_ROLES", [(name,) for name in self.roles])
        fill("USER_USERS", [(TABLE_SPACE,)])
        fill("USER_TS_QUOTAS", [] if self.quota is None else [(TABLE_SPACE, self.quota)])
        fill("ALL_CAPTURE_PREPARED_SCHEMAS", [(name, "IMPLICIT") for name in self.logged_schemas])
        versions = ("19.0.0.0.0", "19.3.0.0.0", "Production")
        fill("PRODUCT_COMPONENT_VERSION", [(name, *versions) for name in self.products])
        self._show_logs()
        self._show_tables()
        self.show_scn()

    def show_scn(self) -> None:
        """Updates the current SCN in V$DATABASE and V$THREAD."""
        state = self.state
        database = (
            state.name,
            state.log_mode,
            state.supplemental,
            "NO",
            state.force_logging,
            state.cdb,
            state.scn,
            *self.resetlogs,
            self.platform,
        )
        self.store.fill("V$DATABASE", [database])
        self.store.fill("V$THREAD", self._threads())

    def _threads(self) -> Iterator[tuple[Any, ...]]:
        for log in self.state.logs:
            if log.is_current:
                otherwise = self.thread_states.get(log.thread, {})
                yield redo_views.thread(self.state, log, self.peculiarities, otherwise)

    def _show_logs(self) -> None:
        fill, state, peculiarities = self.store.fill, self.state, self.peculiarities
        groups, members = redo_views.online(state, peculiarities, archives=self.archives)
        fill("V$LOG", groups)
        fill("V$LOGFILE", members)
        is_shown = self.archives and self.shows_archived
        rows = redo_views.archived(state, peculiarities, self.resetlogs) if is_shown else ()
        fill("V$ARCHIVED_LOG", rows)

    def _show_tables(self) -> None:
        views: dict[str, list[tuple[Any, ...]]] = {view: [] for view in _DICTIONARY}
        for table in self.state.tables.values():
            _describe(table, views)
        for view, rows in views.items():
            self.store.fill(view, rows)

    def _stored(self, table: Table) -> None:
        """Writes the rows of a table's definition to the store."""
        self.store.create(table.full_name, table.columns, table.key)
        for row in table.rows:
            self.add_rows(table.full_name, [row.values], row.first, row.end)
        table.rows = []

    def _clock(self) -> str:
        offset = self.state.offset
        return f"{time_of(self.state.scn)}.000000000 {offset}"

    def _time_of_scn(self, scn: int) -> str:
        if not self.oldest_scn <= scn <= self.state.scn:
            raise OracleError(8181, "specified number is not a valid system change number")
        return f"{time_of(scn)}.000000000"

    @contextmanager
    def shown(self, *, is_look: bool) -> Iterator[None]:
        """Context of a statement: the views show the current SCN, which advances with each read,
        and later commits have a larger one."""
        with self.lock:
            state, is_moved = self.state, is_look and self.state.advances
            state.scn += is_moved and self._chance.randint(1, self.peculiarities.largest_step)
            self._archive_on()
            self.show_scn()
            self._is_seen = True
            yield
            state.scn += is_moved

    def _archive_on(self) -> None:
        """Counts a statement towards the archiving of logs."""
        waiting = [log for log in self.state.logs if log.archiving]
        for log in waiting:
            log.archiving -= 1
        if waiting:
            self._show_logs()

    def _switch(self, thread: int) -> None:
        """Switches a thread's log, which is archived some statements later, but before its group is
        reused."""
        before = self.state.current_log(thread)
        self.state.switch(thread)
        drawn = self.peculiarities.of("archiving", thread, before.sequence)
        before.archiving = drawn.randint(0, self.peculiarities.archiving)
        for log in self.state.logs:
            if log.thread == thread and not redo_views.is_online(self.state, log):
                log.archiving = 0

    def redo_scn(self) -> int:
        """The SCN of a change that is made now: a new one, or that of the redo before, which shares
        it."""
        state = self.state
        if (
            self._is_seen
            or not state.redo
            or state.redo[-1].scn != state.scn - 1
            or state.redo[-1].operation in _ENDS
            or self._chance.random() >= self.peculiarities.shared_scns
        ):
            return state.scn
        return state.scn - 1

    def _wrote(self) -> None:
        self._is_seen = False

    def lateness(self, xid: bytes) -> int:
        """The number of SCNs by which LogMiner returns the rows of a transaction late."""
        return self.peculiarities.of("late", xid).randint(0, self.peculiarities.lateness)


_DICTIONARY = (
    "ALL_TABLES", "ALL_OBJECTS", "ALL_TAB_COLS", "ALL_TAB_COMMENTS", "ALL_COL_COMMENTS",
    "ALL_CONSTRAINTS", "ALL_CONS_COLUMNS", "ALL_INDEXES", "ALL_IND_COLUMNS", "ALL_LOG_GROUPS",
    "USER_TABLES", "ALL_NESTED_TABLES", "ALL_TAB_PARTITIONS", "ALL_TAB_SUBPARTITIONS", "ALL_LOBS",
    "ALL_LOB_PARTITIONS", "ALL_LOB_SUBPARTITIONS",
)  # fmt: skip


def _describe(table: Table, views: Mapping[str, list[tuple[Any, ...]]]) -> None:
    """The rows of a table in the views of the data dictionary."""
    path = (table.schema, table.name)
    at = str(time_of(table.last_ddl_scn)) if table.last_ddl_scn else "2024-01-01 00:00:00"
    is_external, is_hybrid = (
        "YES" if table.kind == kind else "NO" for kind in ("EXTERNAL", "HYBRID")
    )
    logging = None if table.partition_logging else table.logging
    views["ALL_TABLES"].append(
        (*path, "NO", None, "N", "N", is_external, is_hybrid, None, None, logging)
    )
    if table.kind == "NESTS":
        views["ALL_NESTED_TABLES"].append((table.schema, f"{table.name}_NESTED", table.name))
    views["ALL_TAB_PARTITIONS"] += [(*path, attribute) for attribute in table.partition_logging]
    views["ALL_TAB_SUBPARTITIONS"] += [
        (*path, attribute) for attribute in table.subpartition_logging
    ]
    for view, columns in table.lob_logging.items():
        views[view] += [(*path, column, logged) for column, logged in columns.items()]
    views["ALL_TAB_COMMENTS"].append((*path, "TABLE", table.comment))
    views["USER_TABLES"].append((table.name,))
    views["ALL_OBJECTS"].append((*path, "TABLE", table.object_id, table.object_id, at))
    for position, column in enumerate(table.columns, 1):
        is_text = "CHAR" in column.type
        views["ALL_TAB_COLS"].append(
            (*path, column.name, column.type, column.length, column.length if is_text else 0,
             column.precision, column.scale, "Y" if column.nullable else "N", column.default,
             "YES" if column.is_virtual else "NO",
             "YES" if column.is_hidden or column.is_invisible else "NO",
             "NO" if column.is_hidden else "YES",
             None if column.is_hidden or column.is_invisible else position, position)
        )  # fmt: skip
        if column.comment is not None:
            views["ALL_COL_COMMENTS"].append((*path, column.name, column.comment))
    if table.key:
        key_name = f"PK_{table.name}"
        views["ALL_CONSTRAINTS"].append((*path, key_name, "P"))
        for position, column_name in enumerate(table.key, 1):
            views["ALL_CONS_COLUMNS"].append((*path, key_name, column_name, position))
    for number, names in enumerate(table.unique, 1):
        index = f"UX_{table.name}_{number}"
        views["ALL_INDEXES"].append((table.schema, index, *path, "UNIQUE"))
        for position, column_name in enumerate(names, 1):
            views["ALL_IND_COLUMNS"].append((table.schema, index, column_name, position))
    for group in table.log_groups:
        views["ALL_LOG_GROUPS"].append((*path, group))


def redo_values(row: RedoRow) -> tuple[Any, ...]:
    """A row of redo in the form of the store (`store.CONTENTS`)."""
    return (
        row.scn, row.sql, row.code, str(row.time), bytes.fromhex(row.xid), row.csf, row.table,
        row.schema, row.operation, row.row_id, row.rollback, row.status, row.info, row.ssn,
        row.thread, row.object, row.version, row.object, row.start_scn, row.commit_scn,
        1, _text_of(row.start_time), _text_of(row.commit_time), row.rs_id, row.user,
        row.client, row.container, row.sequence,
    )  # fmt: skip


def _text_of(time: Any) -> str | None:
    return None if time is None else str(time)


def _stored_values(columns: Sequence[Column], row: Sequence[Any]) -> list[str | None]:
    return [stored(column, value) for column, value in zip(columns, row, strict=True)]


def _time(text: str) -> dt.datetime:
    return dt.datetime.fromisoformat(text[:19])


_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"


def _sixty_four(number: int, letters: int) -> str:
    digits = ""
    for _ in range(letters):
        number, digit = divmod(number, 64)
        digits = _LETTERS[digit] + digits
    return digits
