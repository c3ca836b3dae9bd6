"""heartbeat.action.query: SQL that runs with each heartbeat."""

from __future__ import annotations

import logging
from collections.abc import Callable
from enum import Enum, auto

from headrace.errors import HeadraceError

log = logging.getLogger(__name__)

PROPERTY = "heartbeat.action.query"


class Failure(Enum):
    """What an error of the driver means for the heartbeats."""

    NO_TABLE = auto()
    """A table of the query is missing."""
    SERVER_GOES = auto()
    """The server shuts down or starts up."""
    OTHER = auto()


class HeartbeatQuery:
    """SQL that runs with each heartbeat, on a connection of its own: for logs that do not move, or
    not in this database. A write to a captured table makes the position move.

    `execute` runs a statement of users; it raises an error of the driver, or HeadraceError where it
    cannot connect. `explain` says what such an error means, and how it is told; None: it is not the
    driver's. `connector` begins the codes of errors, `close` closes the connection and never
    raises.
    """

    def __init__(
        self,
        connector: str,
        query: str,
        execute: Callable[[str], object],
        explain: Callable[[Exception], tuple[Failure, HeadraceError] | None],
        close: Callable[[], None],
    ) -> None:
        self._connector, self._query = connector, query
        self._execute, self._explain = execute, explain
        self.close = close

    def run(self) -> None:
        """Run it once. What it fails with is a warning, and the next heartbeat tries again, but:

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
            if failure is Failure.NO_TABLE:
                raise HeadraceError(
                    f"{self._connector}.heartbeat_table",
                    explanation.message,
                    f"Create the table, or correct {PROPERTY}.",
                ) from None
            if failure is Failure.SERVER_GOES:
                raise explanation from None
            log.warning("%s", explanation.message)
