"""A simulator of the Capture program of SQL replication, on Derby.

The real program reads Db2's log. In the simulator triggers write the rows of the change tables
within each transaction that changes a captured table; a thread does the rest of the program's work:
it writes the units of work and advances the synchpoints. Two differences are visible in the control
tables: a transaction of several statements is several commits unless it is one of
`CaptureProgram.transaction`, and only one transaction writes at a time.
"""

from __future__ import annotations

import logging
import random
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from typing import Any

from headrace.connect.deadline import Deadline
from headrace_demo.db2 import control_tables as tables
from headrace_demo.db2.control_tables import SIMULATOR, quoted
from headrace_demo.db2.derby import DerbyServer
from headrace_demo.db2.peculiarities import Peculiarities

log = logging.getLogger(__name__)

_PAUSE_S = 0.1  # between cycles, if no commit and no waiting caller is known
_QUIET_CYCLES = 5  # without changes the time of the synchpoint moves every 0.6 seconds
_CHECK_EVERY_S = 0.01
_CAPTURED_WITHIN_S = 60.0

_LARGE = ("CLOB", "BLOB", "XML")

Execute = Callable[[str, Sequence[object]], list[tuple[Any, ...]]]


class CaptureProgram:
    """The program on one database; it runs while its context is active.

    `control` and `changes` are the schemas of control and change tables, `width` is the size of an
    LSN in bytes: 16, or 10 on z/OS.
    """

    def __init__(
        self,
        server: DerbyServer,
        database: str,
        *,
        control: str = "ASNCDC",
        changes: str = "ASNCDC",
        width: int = 16,
        peculiarities: Peculiarities | None = None,
    ) -> None:
        self.server, self.database = server, database
        self.control, self.changes, self.width = control, changes, width
        self._peculiarities = peculiarities or Peculiarities()
        self._chance = random.Random(self._peculiarities.seed)  # noqa: S311 - draws of a seed
        self._thread: threading.Thread | None = None
        self._register_lock = threading.Lock()  # held while a transaction changes the register
        self._stopping = threading.Event()
        self._hurried = threading.Event()

    def __enter__(self) -> CaptureProgram:
        self.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()

    # -- set-up -------------------------------------------------------------------------------

    def install(self) -> None:
        """Creates the control tables, which are empty except for the global row."""
        with self._session() as execute:
            for statement in tables.installation(self.control, self.changes, self.width):
                execute(statement, ())

    def add_table(
        self, schema: str, table: str, change_table: str | None = None, state: str = "A"
    ) -> str:
        """Registers a table, like `CALL ASNCDC.ADDTABLE`; returns the name of the change table. A
        table may be registered twice, with a change table for each registration. The start of the
        registration is null until the program's next cycle."""
        name = change_table or f"CDC_{schema}_{table}"
        source, changes = quoted(schema, table), quoted(self.changes, name)
        register = quoted(self.control, "IBMSNAP_REGISTER")
        columns = self._captured(schema, table)
        with self._register_lock, self._session() as execute:
            for statement in tables.change_table(source, changes, columns):
                execute(statement, ())
            index = quoted(self.changes, f"{name}_X")
            execute(
                f"CREATE UNIQUE INDEX {index} ON {changes} (IBMSNAP_COMMITSEQ, IBMSNAP_INTENTSEQ)",
                (),
            )
            execute(tables.next_commit("1 = 1"), ())
            execute(
                f"INSERT INTO {SIMULATOR}.REGISTERED SELECT ?, ?, NUMBER FROM {SIMULATOR}.COMMITS",
                (self.changes, name),
            )
            execute(
                f"INSERT INTO {register} (SOURCE_OWNER, SOURCE_TABLE, SOURCE_VIEW_QUAL, "
                "GLOBAL_RECORD, SOURCE_STRUCTURE, SOURCE_CONDENSED, SOURCE_COMPLETE, CD_OWNER, "
                "CD_TABLE, PHYS_CHANGE_OWNER, PHYS_CHANGE_TABLE, DISABLE_REFRESH, ARCH_LEVEL, "
                "CHG_UPD_TO_DEL_INS, CHGONLY, OPTION_FLAGS, STATE) VALUES (?, ?, 0, 'N', 1, 'Y', "
                "'Y', ?, ?, ?, ?, 0, '0801', 'Y', 'N', 'NNNN', ?)",
                (schema, table, self.changes, name, self.changes, name, state),
            )
            execute(
                tables.subscription(self.control),
                (schema, table, schema, table, self.changes, name),
            )
            for statement in tables.capturing(source, (self.changes, name), columns, self.width):
                execute(statement, ())
        return name

    def remove_table(self, schema: str, table: str, change_table: str | None = None) -> None:
        """Ends a registration, like `CALL ASNCDC.REMOVETABLE`; its change table is dropped."""
        name = change_table or f"CDC_{schema}_{table}"
        self.stop_capturing(name)
        with self._register_lock, self._session() as execute:
            execute(
                f"DELETE FROM {quoted(self.control, 'IBMSNAP_REGISTER')} WHERE SOURCE_OWNER = ? "
                "AND SOURCE_TABLE = ? AND CD_TABLE = ?",
                (schema, table, name),
            )
            execute(
                f"DELETE FROM {quoted(self.control, 'IBMSNAP_PRUNCNTL')} "
                "WHERE PHYS_CHANGE_OWNER = ? AND PHYS_CHANGE_TABLE = ?",
                (self.changes, name),
            )
            execute(
                f"DELETE FROM {SIMULATOR}.REGISTERED WHERE CD_OWNER = ? AND CD_TABLE = ?",
                (self.changes, name),
            )
            execute(f"DROP TABLE {quoted(self.changes, name)}", ())

    def stop_capturing(self, change_table: str) -> None:
        """Stops writing changes to this change table, which is kept."""
        with self._session() as execute:
            _drop_triggers(execute, change_table)

    def reinit(self, schema: str, table: str, change_table: str | None = None) -> None:
        """Captures the columns that both a table and its change table have now, as the program does
        when it reads its registrations again."""
        name = change_table or f"CDC_{schema}_{table}"
        present = {column for column, _ in self._columns(self.changes, name)}
        columns = tuple(
            captured for captured in self._captured(schema, table) if captured in present
        )
        with self._session() as execute:
            _drop_triggers(execute, name)
            source = quoted(schema, table)
            for statement in tables.capturing(source, (self.changes, name), columns, self.width):
                execute(statement, ())

    def resume_capturing(self, schema: str, table: str, change_table: str | None = None) -> None:
        """Resumes writing changes to a change table, for the columns that have the same name and
        type in both tables: both may have been altered since `stop_capturing`."""
        name = change_table or f"CDC_{schema}_{table}"
        captured = self._columns(self.changes, name)
        columns = tuple(
            column for column, kind in self._columns(schema, table) if (column, kind) in captured
        )
        with self._session() as execute:
            changes = (self.changes, name)
            for statement in tables.capturing(quoted(schema, table), changes, columns, self.width):
                execute(statement, ())

    def set_state(self, change_table: str, state: str) -> None:
        """Writes the STATE of a registration: A(ctive), I(nactive), S(topped). If the program runs,
        it first starts the registrations that exist."""
        if self.is_running:
            self.advance()
        with self._register_lock, self._session() as execute:
            execute(
                f"UPDATE {quoted(self.control, 'IBMSNAP_REGISTER')} SET STATE = ? "
                "WHERE CD_TABLE = ?",
                (state, change_table),
            )

    def prune(self, through: bytes) -> None:
        """Deletes rows of change tables and units of work up to and including an LSN."""
        register = quoted(self.control, "IBMSNAP_REGISTER")
        with self._register_lock, self._session() as execute:
            self._activate(execute, self._synchpoint(execute))
            for owner, table in self._change_tables(execute):
                execute(
                    f"DELETE FROM {quoted(owner, table)} WHERE IBMSNAP_COMMITSEQ <= ?", (through,)
                )
            execute(
                f"UPDATE {register} SET CD_OLD_SYNCHPOINT = ? WHERE GLOBAL_RECORD = 'N' AND "
                "CD_OLD_SYNCHPOINT < ?",
                (through, through),
            )
            units = quoted(self.control, "IBMSNAP_UOW")
            execute(f"DELETE FROM {units} WHERE IBMSNAP_COMMITSEQ <= ?", (through,))

    # -- transactions -------------------------------------------------------------------------

    @contextmanager
    def transaction(self) -> Iterator[Execute]:
        """A transaction of any number of statements, which is one commit; an error rolls it
        back."""
        with self._session() as execute:
            execute(tables.next_commit("1 = 1", is_open=1), ())
            yield execute
            execute(f"UPDATE {SIMULATOR}.COMMITS SET IS_OPEN = 0", ())
        self.hurry()

    def execute(self, statement: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """Runs a transaction of one statement."""
        with self.transaction() as execute:
            return execute(statement, values)

    # -- the program --------------------------------------------------------------------------

    def start(self) -> None:
        """Starts advancing the synchpoints."""
        assert self._thread is None
        self._stopping.clear()
        self._thread = threading.Thread(target=self._run, name="Capture", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stops advancing the synchpoints. Later transactions come after the last synchpoint."""
        if self._thread is not None:
            self._stopping.set()
            self.hurry()
            self._thread.join()
            self._thread = None

    def hurry(self) -> None:
        """Starts the next cycle immediately, because of a commit."""
        self._hurried.set()

    @property
    def is_running(self) -> bool:
        """Whether the synchpoints advance."""
        return self._thread is not None

    def await_captured(self) -> bytes:
        """Waits until all commits are captured; returns the synchpoint."""
        assert self._thread is not None, "the program does not run"
        deadline = Deadline(_CAPTURED_WITHIN_S)
        with closing(self._connect()) as connection:
            with transaction_on(connection) as execute:
                committed = self._committed(execute)
            while True:
                with transaction_on(connection) as execute:
                    synchpoint = self._synchpoint(execute)
                if synchpoint >= committed:
                    return synchpoint
                assert not deadline.is_over, "the synchpoint does not move"
                self.hurry()
                deadline.pause(_CHECK_EVERY_S)

    def synchpoint(self) -> bytes:
        """The LSN up to which changes are captured."""
        with self._session() as execute:
            return self._synchpoint(execute)

    def advance(self) -> bool:
        """Runs one cycle of the program, which captures all commits; returns whether there were
        any."""
        with closing(self._connect()) as connection:
            return self._cycle(connection, is_whole=True)

    def _run(self) -> None:
        quiet = 0
        while not self._stopping.is_set():
            try:
                with closing(self._connect()) as connection:
                    while not self._is_stopped_in(_PAUSE_S):
                        quiet = 0 if quiet >= _QUIET_CYCLES else quiet + 1
                        self._cycle(connection, is_reported=quiet == 0)
            except Exception as error:  # noqa: BLE001 - Derby stops, and starts again
                log.debug("Capture: %s", error)
                self._stopping.wait(2 * _PAUSE_S)

    def _is_stopped_in(self, seconds: float) -> bool:
        self._hurried.wait(seconds)
        self._hurried.clear()
        pause = self._chance.uniform(0, self._peculiarities.longest_pause)
        return self._stopping.wait(pause) if pause else self._stopping.is_set()

    def _reached(self, before: bytes, now: bytes) -> bytes:
        """The LSN up to which a cycle captures: `now`, or with a lag an earlier one."""
        if self._chance.random() >= self._peculiarities.lag or now <= before:
            return now
        number = self._chance.randint(int.from_bytes(before), int.from_bytes(now))
        return number.to_bytes(self.width)

    def _cycle(self, connection: Any, *, is_reported: bool = True, is_whole: bool = False) -> bool:
        with transaction_on(connection) as execute:
            now = self._committed(execute)  # waits until the open transaction ends
        with self._register_lock, transaction_on(connection) as execute:
            before = self._synchpoint(execute)
            if not is_whole:
                now = self._reached(before, now)
            if now > before or is_reported:
                self._activate(execute, max(now, before))
            if now > before:
                self._write_units_of_work(execute, before, now)
                self._move_new_synchpoints(execute, before, now)
            if now > before or is_reported:
                execute(
                    f"UPDATE {quoted(self.control, 'IBMSNAP_REGISTER')} SET SYNCHPOINT = ?, "
                    "SYNCHTIME = CURRENT_TIMESTAMP WHERE GLOBAL_RECORD = 'Y'",
                    (max(now, before),),
                )
        return now > before

    def _activate(self, execute: Execute, reached: bytes) -> None:
        execute(tables.activation(self.control, self.width), (int.from_bytes(reached),))

    def _move_new_synchpoints(self, execute: Execute, before: bytes, now: bytes) -> None:
        register = quoted(self.control, "IBMSNAP_REGISTER")
        for owner, table in self._change_tables(execute):
            ((newest,),) = execute(
                f"SELECT MAX(IBMSNAP_COMMITSEQ) FROM {quoted(owner, table)} "
                "WHERE IBMSNAP_COMMITSEQ > ? AND IBMSNAP_COMMITSEQ <= ?",
                (before, now),
            )
            if newest is not None:
                execute(
                    f"UPDATE {register} SET CD_NEW_SYNCHPOINT = ? "
                    "WHERE CD_OWNER = ? AND CD_TABLE = ?",
                    (bytes(newest), owner, table),
                )

    def _write_units_of_work(self, execute: Execute, before: bytes, now: bytes) -> None:
        units = quoted(self.control, "IBMSNAP_UOW")
        for number in range(int.from_bytes(before) + 1, int.from_bytes(now) + 1):
            execute(
                f"INSERT INTO {units} (IBMSNAP_UOWID, IBMSNAP_COMMITSEQ, IBMSNAP_LOGMARKER, "
                "IBMSNAP_AUTHTKN, IBMSNAP_AUTHID) VALUES (?, ?, CURRENT_TIMESTAMP, 'simulator', ?)",
                (number.to_bytes(10), number.to_bytes(self.width), self.server.user),
            )

    def _synchpoint(self, execute: Execute) -> bytes:
        register = quoted(self.control, "IBMSNAP_REGISTER")
        ((synchpoint,),) = execute(
            f"SELECT SYNCHPOINT FROM {register} WHERE GLOBAL_RECORD = 'Y'", ()
        )
        return bytes(synchpoint)

    def _committed(self, execute: Execute) -> bytes:
        ((number,),) = execute(f"SELECT NUMBER FROM {SIMULATOR}.COMMITS", ())
        return int(number).to_bytes(self.width)

    def _change_tables(self, execute: Execute) -> list[tuple[Any, ...]]:
        register = quoted(self.control, "IBMSNAP_REGISTER")
        return execute(f"SELECT CD_OWNER, CD_TABLE FROM {register} WHERE GLOBAL_RECORD = 'N'", ())

    def _captured(self, schema: str, table: str) -> tuple[str, ...]:
        """The captured columns: all except large objects."""
        return tuple(
            name for name, kind in self._columns(schema, table) if not str(kind).startswith(_LARGE)
        )

    def _columns(self, schema: str, table: str) -> list[tuple[Any, ...]]:
        """Names and types of a table's columns."""
        with self._session() as execute:
            return execute(
                "SELECT COLUMNNAME, COLUMNDATATYPE FROM SYS.SYSCOLUMNS C, "
                "SYS.SYSTABLES T, SYS.SYSSCHEMAS S "
                "WHERE C.REFERENCEID = T.TABLEID AND T.SCHEMAID = S.SCHEMAID AND SCHEMANAME = ? "
                "AND TABLENAME = ? ORDER BY COLUMNNUMBER",
                (schema, table),
            )

    @contextmanager
    def _session(self) -> Iterator[Execute]:
        with closing(self._connect()) as connection, transaction_on(connection) as execute:
            yield execute

    def _connect(self) -> Any:
        connection = self.server.connect(self.database)
        connection.set_autocommit(False)
        return connection


def _drop_triggers(execute: Execute, change_table: str) -> None:
    """Drops the triggers that fill a change table."""
    triggers = {name for (name,) in execute("SELECT TRIGGERNAME FROM SYS.SYSTRIGGERS", ())}
    for name in sorted(triggers.intersection(tables.triggers(change_table))):
        execute(f"DROP TRIGGER {quoted(SIMULATOR, name)}", ())


@contextmanager
def transaction_on(connection: Any) -> Iterator[Execute]:
    """A transaction that commits at the end; an error rolls it back."""
    cursor = connection.cursor()

    def execute(statement: str, values: Sequence[object]) -> list[tuple[Any, ...]]:
        cursor.execute(statement, tuple(values) or None)
        return cursor.fetchall() if cursor.description else []

    try:
        yield execute
    except BaseException:
        connection.rollback()
        raise
    connection.commit()
