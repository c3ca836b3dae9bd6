"""heartbeat.action.query: SQL that runs with each heartbeat."""

from __future__ import annotations

import logging
from collections.abc import Callable
from enum import Enum, auto

from headrace.errors import HeadraceError
from headrace.findings import Findings

log = logging.getLogger(__name__)

PROPERTY = "heartbeat.action.query"


class HeartbeatFailure(Enum):
    """Kinds of the driver's errors that the heartbeats distinguish."""

    NO_TABLE = auto()
    """A table of the query does not exist."""
    SERVER_UNAVAILABLE = auto()
    """The server shuts down or starts up."""
    OTHER = auto()


class HeartbeatQuery:
    """SQL that runs with each heartbeat, on its own connection: for logs that do not advance, or
    not in this database. A write to a captured table advances the position.

    `execute` runs a user's statement; it raises an error of the driver, or HeadraceError if it
    cannot connect. `explain` returns the kind of such an error, and its message; None: it is not an
    error of the driver. `connector` is the prefix of error codes, `close` closes the connection and
    never raises. `prepare` lets the server parse a statement without running it, and raises as
    `execute` does; it does nothing for statements that cannot be parsed this way.
    """

    def __init__(
        self,
        connector: str,
        query: str,
        execute: Callable[[str], object],
        explain: Callable[[Exception], tuple[HeartbeatFailure, HeadraceError] | None],
        close: Callable[[], None],
        prepare: Callable[[str], object],
    ) -> None:
        self._connector, self._query, self._prepare = connector, query, prepare
        self._execute, self._explain = execute, explain
        self.close = close

    def run(self) -> None:
        """Run the query once. A failure is logged as a warning, and the next heartbeat tries again,
        with these exceptions:

        Raises HeadraceError("….heartbeat_table") when a table of the query is missing, and a
        retriable error when the server shuts down or starts up, or cannot be reached.
        """
        try:
            self._execute(self._query)
        except HeadraceError:
            raise
        except Exception as error:
            self.close()
            explained = self._explain(error)
            if explained is None:
                raise
            failure, explanation = explained
            if failure is HeartbeatFailure.NO_TABLE:
                raise self._no_table(explanation) from None
            if failure is HeartbeatFailure.SERVER_UNAVAILABLE:
                raise explanation from None
            log.warning("%s", explanation.message)

    def examine(self) -> Findings:
        """Return the findings on the query, which the server only parses: an error for a missing
        table, which would end the stream at the first heartbeat; otherwise a warning, like that of
        each heartbeat. Raises HeadraceError if it cannot connect."""
        findings = Findings()
        try:
            self._prepare(self._query)
        except HeadraceError:
            raise
        except Exception as error:
            explained = self._explain(error)
            if explained is None:
                raise
            failure, explanation = explained
            if failure is HeartbeatFailure.SERVER_UNAVAILABLE:
                raise explanation from None
            if failure is HeartbeatFailure.NO_TABLE:
                findings.add_error(self._no_table(explanation))
            else:
                code = f"{self._connector}.heartbeat_query"
                remedy = f"Correct {PROPERTY}: until then each heartbeat fails with a warning."
                findings.add(code, "warning", explanation.message, remedy)
        finally:
            self.close()
        return findings

    def _no_table(self, explanation: HeadraceError) -> HeadraceError:
        return HeadraceError(
            f"{self._connector}.heartbeat_table",
            explanation.message,
            f"Create the table, or correct {PROPERTY}.",
        )
