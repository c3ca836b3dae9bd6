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
    """Statements that take back what a workload makes, last first. Each is known before the
    statement is sent whose work it takes back, because nobody knows what became of one that was
    interrupted."""

    statements: list[str] = field(default_factory=list)

    def expect(self, undo: str) -> None:
        """The next statement makes what `undo` takes back."""
        self.statements.append(undo)

    def refused(self, undo: str) -> None:
        """The database did not make it."""
        self.statements.remove(undo)

    def take_back(self, send: Callable[[str], bool]) -> list[str]:
        """Sends each statement; `send` says whether the database took it. Those that are left over
        are returned, and a warning names them, also where this is interrupted."""
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
                    " ".join(f"{one};" for one in left),
                )
        return left

    def take_back_on(self, session: AbstractContextManager[Callable[[str], bool]]) -> None:
        """As `take_back`, on a session that is opened for it, where there is anything. Where it
        cannot be opened, and where that is interrupted, all statements are left over."""
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
    """What a workload needs is somebody's, or was left over: nothing was made or dropped."""
    return HeadraceError(
        "support.workload_exists",
        f"--workload makes tables of its own in {place}, where these are already: "
        f"{', '.join(sorted(names))}",
        "Drop them if an earlier workload left them, or leave --workload out.",
    )


def refused(place: str, reason: str, remedy: str) -> HeadraceError:
    """The database does not let the user make what a workload needs."""
    return HeadraceError(
        "support.workload_refused",
        f"--workload cannot make its tables in {place}: {reason}",
        f"{remedy} Or leave --workload out: the rest of the bundle only reads.",
    )
