"""Checks that LogMiner returns the redo to this user: the stream's session, on the newest SCN."""

from __future__ import annotations

import time

from headrace.connectors.oracle.checks.arrow_fetch import UNSUITABLE_DRIVER, arrow_error
from headrace.connectors.oracle.checks.state import Checked, granted
from headrace.connectors.oracle.connection import (
    CHECK_LIMIT,
    Connection,
    connect,
    translated_error,
)
from headrace.connectors.oracle.errors import DriverError
from headrace.connectors.oracle.properties.modes import MiningStrategy
from headrace.connectors.oracle.streaming.progress import MiningProgress
from headrace.connectors.oracle.streaming.windows.pacing import SWITCHED, logs_inconsistent
from headrace.connectors.oracle.streaming.windows.redo import InconsistentLogsError, Redo, Window
from headrace.connectors.oracle.streaming.windows.session import MiningSession, RowLimit
from headrace.errors import HeadraceError
from headrace.findings import Level

_WAITS = (0.0, 1.0, 2.0, 4.0)
"""Seconds before each attempt: a log may just be switched or archived."""
_TIMEOUT = "oracle.query_timeout"
_UNKNOWN_COLUMN = 904
_GRANTS = {
    "oracle.no_privilege": ("EXECUTE_CATALOG_ROLE", "LOGMINING", "SELECT ANY TRANSACTION"),
    "oracle.table_gone": ("SELECT_CATALOG_ROLE",),
}
"""Rights that the user may lack although the views of rights do not say so."""


def check_mining(checked: Checked) -> None:
    """Check that the redo of the newest SCN can be mined. Each attempt has its own connection, so
    that no session of LogMiner remains; it writes nothing. Raises HeadraceError."""
    passing: tuple[HeadraceError, Level] | None = None
    for seconds in _WAITS:
        time.sleep(seconds)
        passing = _attempt(checked)
        if passing is None:
            return
    if passing is not None:
        checked.findings.add_error(*passing)


def _attempt(checked: Checked) -> tuple[HeadraceError, Level] | None:
    """Mine; returns an error that another attempt may not have, and its level. Raises other errors
    as HeadraceError."""
    config = checked.config
    with connect(config, limit=CHECK_LIMIT, container=config.root) as connection:
        mining = _Mining(checked, connection)
        try:
            mining.run()
        except InconsistentLogsError as error:
            level: Level = "warning" if error.is_archiving else "error"
            return logs_inconsistent(error, mining.scn), level
        except DriverError as error:
            known = mining.translated(error)
            if known.code == _TIMEOUT:  # the stream has more time, and doubles it
                checked.findings.add_error(known, "warning")
            elif known.code in SWITCHED:
                return known, "error"
            else:
                raise known from None
        except UNSUITABLE_DRIVER as error:
            raise arrow_error(checked, f"{type(error).__name__}: {error}") from None
    return None


class _Mining:
    """A session of LogMiner on one SCN."""

    def __init__(self, checked: Checked, connection: Connection) -> None:
        self._checked, self._connection = checked, connection
        self._session: MiningSession | None = None
        self.scn = 0
        """The SCN after which redo is mined."""

    def run(self) -> None:
        """Mine the redo. Raises DriverError, HeadraceError and InconsistentLogsError."""
        connection, config = self._connection, self._checked.config
        window = self._window(Redo(config))
        if window is None:
            return
        limit = RowLimit(config)
        limit.milliseconds = config.connection_validation_timeout_ms
        # The stream would write the dictionary of redo_log_catalog to the redo; a check writes
        # nothing.
        written = config.log_mining_strategy is MiningStrategy.REDO_LOG_CATALOG
        strategy = MiningStrategy.ONLINE_CATALOG if written else None
        session = self._session = MiningSession(
            connection, config, config.container, MiningProgress(), limit, strategy
        )
        began = time.monotonic()
        session.begin(window)
        rows = sum(len(batch) for batch in session.rows(window))
        session.end()
        names = ", ".join(redo_log.name for redo_log in window.logs.logs)
        without = ", with the online catalog" if written else ""
        self._checked.ok(
            "mining",
            f"LogMiner reads {names}: {rows} rows of the SCN {window.last} in "
            f"{time.monotonic() - began:.1f} s{without}",
        )

    def _window(self, redo: Redo) -> Window | None:
        """Return the window of the newest SCN; None: no log is archived, and no others are read."""
        connection = self._connection
        if redo.oldest(connection) is None:
            return None
        look = redo.now(connection)
        newest = redo.newest(connection, look)
        self.scn = max(newest - 1, 0)
        return redo.window(connection, look, (self.scn, self.scn, self.scn), newest)

    def translated(self, error: DriverError) -> HeadraceError:
        """Return the HeadraceError of an error of the driver, with a remedy other than `headrace
        check`."""
        config = self._checked.config
        refused = None if self._session is None else self._session.refused
        mined_log = "the newest redo" if refused is None else f"the redo log {refused.name}"
        known = translated_error(error, config, f"Mining {mined_log}", CHECK_LIMIT)
        if error.code == _UNKNOWN_COLUMN:
            version = ".".join(map(str, self._connection.version))
            return HeadraceError(
                "oracle.mining",
                f"{known.message}: V$LOGMNR_CONTENTS of Oracle {version} lacks a column that the "
                "stream reads",
                "headrace mines Oracle Database 19c and later; report it with the server's version "
                "if it is one of these.",
            )
        if known.code in _GRANTS:
            return HeadraceError(known.code, known.message, granted(config, *_GRANTS[known.code]))
        return known
