"""The workload of a support bundle in a Db2: creates its schema, registers its tables, changes
them, records what Capture wrote, and drops everything."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager

from headrace.connectors.db2.config import Db2Config
from headrace.connectors.db2.connection import Connection, connect, translated_error
from headrace.connectors.db2.errors import DriverError
from headrace.connectors.db2.properties.modes import Db2Platform
from headrace.connectors.db2.support import kit
from headrace.connectors.db2.support.asking import Asking
from headrace.connectors.db2.support.kit import Kit, Transaction
from headrace.support.recording import Recording
from headrace.support.workload import Traces, exists, refusal

_THERE = ("42710", "X0Y68")
"""SQLSTATEs of Db2, and of Apache Derby, for a schema that already exists."""
CAPTURED_SECONDS = 90.0
"""The most seconds to wait for Capture, which commits every 30 s unless its parameters say
otherwise."""
_PAUSE_SECONDS = 1.0
_DOING = "The workload of a support bundle"


def ask(config: Db2Config, recording: Recording) -> Generator[tuple[str, bytes]]:
    """See Workload. Raises HeadraceError("support.workload_exists") and
    ("support.workload_refused")."""
    if config.db2_platform == Db2Platform.ZOS:
        raise refusal(
            kit.PLACE,
            "its statements are those of Db2 for Linux, UNIX and Windows, and db2.platform is ZOS",
            "Take the bundle of Db2 for z/OS without it.",
        )
    traces = Traces()
    try:
        with connect(config) as connection:
            making = _Making(config, connection, recording, traces)
            making.make()
            making.change()
            making.look()
    except DriverError as error:
        raise translated_error(error, config, _DOING) from None
    finally:
        # The connection is closed, so none of its locks blocks what follows.
        traces.take_back_on(_taking_back(config, recording))
    yield from ()


class _Making:
    """The workload on one connection."""

    def __init__(
        self, config: Db2Config, connection: Connection, recording: Recording, traces: Traces
    ) -> None:
        self._config, self._connection, self._traces = config, connection, traces
        self._recording = recording
        self._kit, self._asking = Kit(config), Asking(config, connection, recording)
        self._made: list[str] = []
        self._registered: list[str] = []

    def make(self) -> None:
        """Create the schema, the tables and their registrations. Raises
        HeadraceError("support.workload_exists") and ("support.workload_refused")."""
        error = self._done(self._kit.schema())
        if isinstance(error, DriverError):
            if error.state in _THERE:
                raise exists("a schema of its own", [kit.SCHEMA])
            known = translated_error(error, self._config, _DOING)
            raise refusal(kit.PLACE, known.message, f"{known.remedy} It takes DBADM.")
        if error is not None:
            raise error
        self._made = [name for name in kit.TABLES if self._done(self._kit.table(name)) is None]
        for table in self._made:
            if self._done(self._kit.registration(table)) is None:
                self._registered.append(table)
        if kit.SIGNALLED in self._registered:
            self._done(self._kit.signal())
        if self._registered:
            self._asking.send(self._kit.again())

    def _done(self, transaction: Transaction) -> Exception | None:
        """Run a transaction completely or not at all; returns the error that ended it. Raises
        DriverError if the connection is lost."""
        undo = [step.text for step in reversed(transaction.undo)]
        for step in undo:
            self._traces.expect(step)
        for statement in transaction.statements:
            error = self._asking.refusal(statement)
            if error is not None:
                self._asking.check()
                self._connection.rollback()
                for step in undo:
                    self._traces.forget(step)
                return error
        self._connection.commit()
        return None

    def change(self) -> None:
        """Change the tables that were created."""
        for commit in self._kit.written():
            for statement in commit:
                if statement.place.rpartition(" ")[2] in self._made:
                    self._asking.run(statement)
            self._asking.check()
            self._connection.commit()

    def look(self) -> None:
        """Record what Capture made of the changes, once it has captured them, or had the time for
        it."""
        until = time.monotonic() + CAPTURED_SECONDS
        while kit.SIGNALLED in self._registered and not self._captured():
            if time.monotonic() > until:
                break
            time.sleep(_PAUSE_SECONDS)
        for question in (self._kit.registrations, self._kit.signals, self._kit.units):
            self._asking.send(question)
        for table in self._registered:
            self._asking.describe("a workload's change table", *self._change_path(table))
            self._asking.send(self._kit.changes(table))
        self._asking.check()

    def _change_path(self, table: str) -> tuple[str, str]:
        return self._config.cdc_change_tables_schema, kit.change_table(table)

    def _captured(self) -> bool:
        """Whether Capture has written a commit; also True if that cannot be read, which the next
        query reports."""
        try:
            ((count,),) = self._connection.rows(self._kit.captured.text)
            self._connection.rollback()
        except DriverError:
            return True
        return bool(count)


@contextmanager
def _taking_back(config: Db2Config, recording: Recording) -> Iterator[Callable[[str], bool]]:
    """A context with a function that runs an undo statement in a transaction, on a connection of
    its own."""
    questions = {statement.text: statement for statement in Kit(config).listed()}
    with connect(config) as connection:
        asking = Asking(config, connection, recording)

        yield lambda undo: asking.committed(questions[undo])
