"""Messages about logs that are gone."""

from __future__ import annotations

from headrace.connectors.oracle.config import OracleConfig
from headrace.connectors.oracle.streaming.windows.logs import RedoLog
from headrace.connectors.oracle.streaming.windows.redo import Redo
from tests.connectors.oracle.test_connection import PROPERTIES


def test_an_error_names_all_logs_that_cannot_be_opened() -> None:
    redo = Redo(OracleConfig.parse(PROPERTIES))
    for number in (3, 4):
        error = redo.leave_out(RedoLog(f"/arch/{number}.arc", 1, 2, 1, number, True, False))
    assert error.message == (
        "The archived log with sequence 4 of thread 1 is gone; V$ARCHIVED_LOG lists files that "
        "cannot be opened: /arch/3.arc, /arch/4.arc"
    )
