"""The objects that a workload creates, and their removal."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field

from headrace.errors import HeadraceError

log = logging.getLogger(__name__)


@dataclass
class Traces:
    """Statements that remove the objects of a workload, last first. Each is recorded before the
    statement that creates its object, because the effect of an interrupted statement is unknown."""

    statements: list[str] = field(default_factory=list)

    def expect(self, undo: str) -> None:
        """Record the statement that removes what the next statement creates."""
        self.statements.append(undo)

    def forget(self, undo: str) -> None:
        """Forget an object that the database did not create."""
        self.statements.remove(undo)

    def take_back(self, send: Callable[[str], bool]) -> list[str]:
        """Send each statement; `send` says whether the database executed it. Statements that failed
        are returned, and a warning names them, also after an interruption."""
        left: list[str] = []
        try:
            while self.statements:
                if not send(self.statements[-1]):
                    left.append(self.statements[-1])
                self.statements.pop()
        finally:
            left += reversed(self.statements)
            if left:
                log.warning(
                    "Objects that the workload created may still exist. Run these statements: %s",
                    " ".join(f"{step};" for step in left),
                )
        return left

    def take_back_on(self, session: AbstractContextManager[Callable[[str], bool]]) -> None:
        """Call `take_back` with a new session, if there is anything to remove. If the session
        cannot be opened, or opening it is interrupted, all statements count as failed."""
        if not self.statements:
            return
        is_open = False
        try:
            with session as send:
                is_open = True
                self.take_back(send)
        except BaseException as error:
            if not is_open:
                self.take_back(lambda _undo: False)
            if not isinstance(error, HeadraceError):
                raise


def exists(place: str, names: list[str]) -> HeadraceError:
    """The error of names that the workload needs and that already exist: nothing was created or
    dropped."""
    return HeadraceError(
        "support.workload_exists",
        f"--workload creates tables in {place}, where tables with these names already exist: "
        f"{', '.join(sorted(names))}",
        "Drop them if an earlier workload left them, or leave --workload out.",
    )


def refusal(place: str, reason: str, remedy: str) -> HeadraceError:
    """The error of a database that does not let the user create the workload's objects."""
    return HeadraceError(
        "support.workload_refused",
        f"--workload cannot make its tables in {place}: {reason}",
        f"{remedy} Or leave --workload out: the rest of the bundle only reads.",
    )
