"""Scripts of an Oracle database: its tables, and its redo in the form of V$LOGMNR_CONTENTS.

A script is JSON: `database`, `tables` and blocks of lines, each of which is an event. A line is an
object with one of

- `redo`: a row of V$LOGMNR_CONTENTS, named by its OPERATION; its other members are in `RedoRow`;
- `switch`: a log switch of a redo thread; `delete_logs` (with `thread`): archived logs are deleted;
  `remove_logs` (with `thread`): their files are removed, but the views still show them;
  `open_thread`, `close_thread`: an instance of the cluster starts or stops, the log of one that
  starts again ends at the SCN at which it stopped;
- `scn`: the database's SCN advances; `table`, `drop_table`: a definition; `row`: a row of a table;
- `error` (with `when`, `times`): calls that fail with ORA-… .
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from headrace_demo.oracle.definitions import UNLIMITED, Table

_NEARLY = 5
"""The last statements before a log is archived, during which V$LOG already shows it as archived."""
FIRST_SCN = 1_000_000
"""The SCN at `EPOCH`; the SCN advances by one per second."""
EPOCH = dt.datetime(2024, 1, 1)  # noqa: DTZ001 (the clock of the database)

OPERATION_CODES = {
    "INTERNAL": 0, "INSERT": 1, "DELETE": 2, "UPDATE": 3, "DDL": 5, "START": 6, "COMMIT": 7,
    "SELECT_LOB_LOCATOR": 9, "LOB_WRITE": 10, "LOB_TRIM": 11, "SELECT_FOR_UPDATE": 25,
    "REPLICATION_MARKER": 27, "LOB_ERASE": 29, "MISSING_SCN": 34, "ROLLBACK": 36,
    "XML DOC BEGIN": 68, "XML DOC WRITE": 70, "XML DOC END": 71, "32K BEGIN": 91, "32K WRITE": 92,
    "32K END": 93, "UNSUPPORTED": 255,
}  # fmt: skip
"""OPERATION_CODE by OPERATION, see V$LOGMNR_CONTENTS in the Oracle Database Reference."""

_SPELLINGS = {
    "XML_BEGIN": "XML DOC BEGIN", "XML_WRITE": "XML DOC WRITE", "XML_END": "XML DOC END",
    "32K_BEGIN": "32K BEGIN", "32K_WRITE": "32K WRITE", "32K_END": "32K END",
}  # fmt: skip


def time_of(scn: int) -> dt.datetime:
    """The time of an SCN on the database's clock."""
    return EPOCH + dt.timedelta(seconds=scn - FIRST_SCN)


def scn_of(time: dt.datetime) -> int:
    """The SCN at a time of the database's clock."""
    return FIRST_SCN + int((time - EPOCH).total_seconds())


@dataclass(frozen=True)
class RedoRow:
    """A row of V$LOGMNR_CONTENTS; members that a script omits have these values, or those from
    `State.apply`."""

    scn: int
    operation: str
    xid: str
    time: dt.datetime
    rs_id: str
    code: int
    sequence: int
    container: str
    schema: str | None = None
    table: str | None = None
    sql: str | bytes | None = None
    row_id: str | None = None
    thread: int = 1
    csf: int = 0
    rollback: int = 0
    status: int = 0
    info: str | None = None
    ssn: int = 0
    user: str | None = "APP"
    client: str | None = None
    object: int | None = None
    version: int = 1
    start_scn: int | None = None
    commit_scn: int | None = None
    start_time: dt.datetime | None = None
    commit_time: dt.datetime | None = None


_ROW_MEMBERS = {member.name for member in fields(RedoRow)} - {"operation", "schema"} | {"redo"}


@dataclass
class LogFile:
    """A redo log: its changes have `first` <= SCN < `next`; `next` is `UNLIMITED` while the log is
    the current one of its thread."""

    thread: int
    sequence: int
    first: int
    next: int = UNLIMITED
    is_deleted: bool = False
    is_removed: bool = False
    has_dictionary: bool = False
    archiving: int = 0
    """Statements until it is archived, after it was switched."""

    @property
    def is_current(self) -> bool:
        return self.next == UNLIMITED

    @property
    def is_archived(self) -> bool:
        return not self.archiving

    @property
    def is_nearly_archived(self) -> bool:
        """Whether V$LOG shows it as archived, before V$ARCHIVED_LOG does."""
        return self.archiving <= _NEARLY

    @property
    def group(self) -> int:
        """GROUP# of the online log."""
        return self.thread * 10 + self.sequence % 3

    @property
    def online_name(self) -> str:
        return f"/opt/oracle/oradata/ORCLCDB/redo{self.group:02d}.log"

    @property
    def archived_name(self) -> str:
        return f"/opt/oracle/archive/{self.thread}_{self.sequence}_1154906117.dbf"


@dataclass
class Fault:
    """The next `times` calls with the name `when` fail with ORA-`code`, each after `after` calls
    that succeed."""

    code: int
    when: str
    times: int = 1
    after: int = 0
    passed: int = 0


@dataclass
class State:
    """The current database of a script, after the lines applied so far."""

    name: str = "ORCLCDB"
    pdb: str = "ORCLPDB1"
    charset: str = "AL32UTF8"
    ncharset: str = "AL16UTF16"
    offset: str = "+00:00"
    log_mode: str = "ARCHIVELOG"
    max_string_size: str = "STANDARD"
    supplemental: str = "YES"
    force_logging: str = "YES"
    cdb: str = "YES"
    log_bytes: int = 209_715_200
    scn: int = FIRST_SCN
    advances: bool = True
    """Whether each read advances the SCN, as on a real server."""
    by_arrival: bool = False
    """Whether LogMiner returns rows in the order of writing, instead of by SCN."""
    tables: dict[str, Table] = field(default_factory=dict)
    made: int = 0
    """The number of tables that were ever created: object numbers are unique."""
    logs: list[LogFile] = field(default_factory=list)
    closed_threads: list[int] = field(default_factory=list)
    closed_at: dict[int, int] = field(default_factory=dict)
    """The SCNs at which threads were closed."""
    redo: list[RedoRow] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)

    @classmethod
    def read(cls, script: Mapping[str, Any]) -> State:
        """Return the initial database of a script."""
        members = dict(script.get("database", {}))
        threads = members.pop("threads", [1])
        state = cls(**members)
        state.logs = [LogFile(thread, 1, state.scn - 1000) for thread in threads]
        for number, table in enumerate(script.get("tables", ())):
            state.define(table, number)
        return state

    def define(self, definition: Mapping[str, Any], number: int | None = None) -> None:
        """Add or replace a table's definition."""
        before = self.tables.get(definition["name"])
        number = self.made if number is None else number
        table = Table.read(definition, number)
        self.made = max(self.made, number + 1)
        if before is not None:
            table.object_id = definition.get("object", before.object_id)
            table.rows = table.rows or before.rows
        self.tables[definition["name"]] = table

    def apply(self, block: Iterable[Mapping[str, Any]]) -> None:
        """Apply the lines of a block in their order. Raises ValueError for an unknown line."""
        for line in block:
            match line:
                case {"redo": _}:
                    self._redo(line)
                case {"switch": thread}:
                    self.switch(thread)
                case {"delete_logs": sequences}:
                    for log in self._chosen(line.get("thread", 1), sequences):
                        log.is_deleted = True
                case {"remove_logs": sequences}:
                    for log in self._chosen(line.get("thread", 1), sequences):
                        log.is_removed = True
                case {"open_thread": thread}:
                    self._open_thread(thread)
                case {"close_thread": thread}:
                    self.closed_threads.append(thread)
                    self.closed_at[thread] = self.scn
                case {"scn": scn}:
                    self.scn = scn
                case {"table": table}:
                    self.define(table)
                case {"drop_table": name}:
                    del self.tables[name]
                case {"row": name}:
                    self.tables[name].add_row(line, self.scn)
                case {"error": code}:
                    self.faults.append(
                        Fault(code, line["when"], line.get("times", 1), line.get("after", 0))
                    )
                case _:
                    raise ValueError(f"no line of a script: {line}")

    def current_log(self, thread: int) -> LogFile:
        """The log that a redo thread currently writes. Raises ValueError if the thread has no
        log."""
        for log in reversed(self.logs):
            if log.thread == thread and log.is_current:
                return log
        raise ValueError(f"redo thread {thread} has no log")

    def switch(self, thread: int) -> None:
        """Turn a thread's current log into an archived one."""
        old = self.current_log(thread)
        self.scn += 1
        old.next = self.scn
        self.logs.append(LogFile(thread, old.sequence + 1, self.scn))

    def _open_thread(self, thread: int) -> None:
        self.closed_threads = [n for n in self.closed_threads if n != thread]
        closed_at = self.closed_at.pop(thread, None)
        sequence = 1
        if closed_at is not None:
            old = self.current_log(thread)
            old.next, sequence = closed_at, old.sequence + 1
        if all(log.thread != thread or not log.is_current for log in self.logs):
            self.logs.append(LogFile(thread, sequence, self.scn))

    def _chosen(self, thread: int, sequences: list[int]) -> list[LogFile]:
        return [log for log in self.logs if log.thread == thread and log.sequence in sequences]

    def _redo(self, line: Mapping[str, Any]) -> None:
        unknown = set(line) - _ROW_MEMBERS
        if unknown:
            raise ValueError(f"no members of a row of redo: {sorted(unknown)}")
        members = {name: value for name, value in line.items() if name not in ("redo", "table")}
        last = self.redo[-1] if self.redo else None
        scn = members.setdefault("scn", max(self.scn, last.scn + 1 if last else 0))
        operation = _SPELLINGS.get(line["redo"], line["redo"])
        members.setdefault("xid", last.xid if last else "02000a0037030000")
        members.setdefault("code", OPERATION_CODES.get(operation, 0))
        members.setdefault("rs_id", f" 0x000001.{scn:08x}.0010 ")
        members.setdefault("container", self.pdb)
        if "sequence" not in members:
            thread = members.get("thread", 1) or 1  # no thread: in the logs of the first
            members["sequence"] = self._log_at(thread, scn).sequence
        for name in ("time", "start_time", "commit_time"):
            if isinstance(members.get(name), str):
                members[name] = dt.datetime.fromisoformat(members[name])
        members.setdefault("time", time_of(scn))
        schema, _, table = (line.get("table") or "").partition(".")
        defined = self.tables.get(line.get("table") or "")
        members.setdefault("object", defined.object_id if defined else None)
        self.redo.append(
            RedoRow(operation=operation, schema=schema or None, table=table or None, **members)
        )
        self.scn = max(self.scn, scn + 1)

    def _log_at(self, thread: int, scn: int) -> LogFile:
        for log in reversed(self.logs):
            if log.thread == thread and log.first <= scn < log.next:
                return log
        return self.current_log(thread)

    def fault(self, called: str) -> int | None:
        """The number of the ORA error with which a call fails now; `called` is the name of the call
        or the statement. None: it succeeds."""
        for fault in self.faults:
            if fault.times and fault.when in called:
                fault.passed += 1
                if fault.passed <= fault.after:
                    continue
                fault.passed = 0
                fault.times -= 1
                return fault.code
        return None
