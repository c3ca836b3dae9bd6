"""What checks find: each finding says how bad it is, and what mends it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from headrace.errors import HeadraceError

Level = Literal["ok", "warning", "error"]


@dataclass(frozen=True)
class Finding:
    """One answer of a check. `level` error: the connector will not start, or will miss changes.

    `code` is dotted and stable; `remedy` (SQL where that is possible) is empty for `ok`.
    """

    code: str
    level: Level
    message: str
    remedy: str = ""


class Findings(list[Finding]):
    """The findings so far."""

    def add(self, code: str, level: Level, message: str, remedy: str = "") -> None:
        """Add a finding."""
        self.append(Finding(code, level, message, remedy))

    def add_error(self, error: HeadraceError, level: Level = "error") -> None:
        """Add what an error says."""
        self.add(error.code, level, error.message, error.remedy)

    def guard(self, part: Callable[[], None]) -> None:
        """Run a part of the checks; a HeadraceError that it raises is a finding."""
        try:
            part()
        except HeadraceError as error:
            self.add_error(error)
