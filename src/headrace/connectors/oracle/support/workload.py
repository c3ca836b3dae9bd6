"""The workload of a support bundle: creates its tables, changes them, mines their redo, and drops
them."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace

from headrace.connectors.oracle import sql
from headrace.connectors.oracle.config import OracleConfig
from headrace.connectors.oracle.connection import Connection, connect, translated_error
from headrace.connectors.oracle.errors import DriverError
from headrace.connectors.oracle.sql import redo_conditions
from headrace.connectors.oracle.support import kit, questions
from headrace.connectors.oracle.support.redo import Asking
from headrace.support.plan import Workload
from headrace.support.questions import Question
from headrace.support.recording import Recording
from headrace.support.workload import Traces, exists, refusal

_EXISTS = 955
_WRITTEN_SECONDS, _PAUSE_SECONDS = 30.0, 0.5
"""The most seconds to wait until the redo of the last change can be mined, and the pause between
two checks."""
_DOING = "The workload of a support bundle"


def workload(config: OracleConfig) -> Workload:
    """See SupportPlan."""
    return Workload(
        f"tables HEADRACE_KIT_… in {kit.PLACE}, which are dropped at the end",
        tuple(kit.listed()),
        lambda recording, _seconds: _ask(config, recording),
    )


def _ask(config: OracleConfig, recording: Recording) -> Generator[tuple[str, bytes]]:
    traces = Traces()
    try:
        with ExitStack() as opened:
            sessions = [
                opened.enter_context(connect(config, container=config.container))
                for _ in range(kit.SESSIONS)
            ]
            kitted = _Kit(config, sessions, recording, traces)
            first = kitted.make()
            kitted.change()
            root = opened.enter_context(connect(config))
            yield from _mined(config, root, recording, first)
    except DriverError as error:
        raise translated_error(error, config, _DOING) from None
    finally:
        # The sessions are closed, so none of their locks blocks what follows.
        traces.take_back_on(_dropping(config, recording))


class _Kit:
    """The tables, and their changes on several sessions where the tables are."""

    def __init__(
        self,
        config: OracleConfig,
        sessions: Sequence[Connection],
        recording: Recording,
        traces: Traces,
    ) -> None:
        self._config, self._sessions, self._traces = config, sessions, traces
        self._recording = recording
        self._asking = [Asking(config, session, recording) for session in sessions]
        self._made: set[str] = set()

    def make(self) -> int:
        """Create the tables; returns the SCN before. Raises
        HeadraceError("support.workload_exists") and ("support.workload_refused")."""
        first, *_ = self._asking
        existing = first.send(kit.EXISTING)
        if existing is not None and existing.rows:
            raise exists(kit.PLACE, [str(row[0]) for row in existing.rows])
        scn = first.scn()
        self._create(kit.TYPE, kit.TYPE.text, sql.KIT_DROP_TYPE())
        version = self._sessions[0].version
        for table, columns in kit.TABLES.items():
            if version < kit.LEAST.get(table, ()):
                continue
            error = self._create(kit.TABLE, kit.create(table, columns), sql.KIT_DROP(kit=table))
            if error is None:
                self._made.add(table)
                first.run(kit.LOGGING, sql.KIT_LOGGING(kit=table))
            elif isinstance(error, DriverError) and (not self._made or error.code == _EXISTS):
                known = translated_error(error, self._config, _DOING)
                raise refusal(kit.PLACE, known.message, known.remedy)
        if "INVISIBLES" in self._made:
            first.run(kit.INDEX)
        return scn

    def _create(self, question: Question, text: str, undo: str) -> Exception | None:
        """Create an object that `undo` drops; returns the error that ended it."""
        self._traces.expect(undo)
        first, *_ = self._asking
        question = replace(question, place=f"{kit.PLACE}, {text.split()[2]}")
        error = first.refusal(question, text)
        first.check()
        if isinstance(error, DriverError):
            self._traces.forget(undo)
        return error

    def change(self) -> None:
        """Change the tables that were created."""
        for step in kit.changes():
            if step.table in self._made:
                place = f"{kit.PLACE}, {sql.KIT}{step.table}"
                question = replace(step.question, place=place)
                asking = self._asking[step.session]
                asking.run(question, step.text, step.binds)
                asking.check()
                if step.commits:
                    self._sessions[step.session].commit()


def _mined(
    config: OracleConfig, root: Connection, recording: Recording, first: int
) -> Generator[tuple[str, bytes]]:
    asking = Asking(config, root, recording)
    asking.enter(sql.ROOT)
    scn, until = asking.scn(), time.monotonic() + _WRITTEN_SECONDS
    while (written := asking.written()) < scn and time.monotonic() < until:
        asking.check()
        time.sleep(_PAUSE_SECONDS)
    condition = redo_conditions.contents_condition(
        config.container,
        [
            f"(SEG_OWNER IS NULL OR SEG_OWNER = {sql.text(_owner(config))})",
            f"(TABLE_NAME IS NULL OR TABLE_NAME LIKE {sql.text(f'{sql.KIT}%')})",
        ],
        lobs=True,
        ddl_is_filtered=True,
    )
    yield from asking.mined(first, written, condition, "workload", _shown)
    asking.check()


def _shown(table: str | None) -> Question:
    return kit.CONTENTS if table in kit.NAMES else questions.CONTENTS


def _owner(config: OracleConfig) -> str:
    user = str(config.database_user)
    return user.strip('"') if user.startswith('"') else user.upper()


@contextmanager
def _dropping(config: OracleConfig, recording: Recording) -> Iterator[Callable[[str], bool]]:
    """A context with a function that drops what was created, on a session of its own."""
    with connect(config, container=config.container) as connection:
        asking = Asking(config, connection, recording)

        def send(undo: str) -> bool:
            question = kit.DROP_TYPE if undo == kit.DROP_TYPE.text else kit.DROP
            return asking.run(question, undo)

        yield send
