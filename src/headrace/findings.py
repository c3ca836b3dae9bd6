"""Findings of checks: each one has a severity and a remedy."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from headrace.errors import HeadraceError

Level = Literal["ok", "warning", "error"]

_NAMED = 5
"""Number of names that a message lists."""


@dataclass(frozen=True)
class Finding:
    """A result of a check. `level` error: the connector will not start, or will miss changes.

    `code` is dotted and stable; `remedy` (SQL where that is possible) is empty for `ok`.
    """

    code: str
    level: Level
    message: str
    remedy: str = ""


class Findings(list[Finding]):
    """The list of findings so far."""

    def add(self, code: str, level: Level, message: str, remedy: str = "") -> None:
        """Add a finding. Raises ValueError for a level that does not exist."""
        if level not in get_args(Level):
            raise ValueError(f"{level!r} is not a level: use one of {', '.join(get_args(Level))}")
        self.append(Finding(code, level, message, remedy))

    def add_error(self, error: HeadraceError, level: Level = "error") -> None:
        """Add a finding with code, message and remedy of an error."""
        self.add(error.code, level, error.message, error.remedy)

    def add_foreseen(self, error: HeadraceError) -> None:
        """Add an error that a start detects by itself: the database refuses the attempt, or changes
        are missed, and the start warns of that with the same code."""
        self.add_error(error)

    def require(self, log: logging.Logger) -> None:
        """Log warnings with their codes, and raise the first error, as a start does."""
        for finding in self:
            if finding.level == "error":
                raise HeadraceError(finding.code, finding.message, finding.remedy)
            if finding.level == "warning":
                log.warning("%s", HeadraceError(finding.code, finding.message, finding.remedy))

    def add_all(self, findings: Iterable[Finding]) -> None:
        """Add findings of another list."""
        for finding in findings:
            self.add(finding.code, finding.level, finding.message, finding.remedy)

    def guard(self, part: Callable[[], None]) -> None:
        """Run a part of the checks; a HeadraceError that it raises is a finding."""
        try:
            part()
        except HeadraceError as error:
            self.add_error(error)


class Preconditions(Findings):
    """Findings for a start, which requires what the checks check: the first error is raised, unless
    the start detects it by itself. Only `headrace check` shows warnings."""

    def add(self, code: str, level: Level, message: str, remedy: str = "") -> None:
        """Add a finding, see Findings. Raises HeadraceError for an error."""
        if level == "error":
            raise HeadraceError(code, message, remedy)
        super().add(code, level, message, remedy)

    def add_error(self, error: HeadraceError, level: Level = "error") -> None:
        """Raise the error if `level` is error, see Findings."""
        if level == "error":
            raise error
        super().add_error(error, level)

    def add_foreseen(self, error: HeadraceError) -> None:
        """Do nothing: the start detects the error by itself."""

    def guard(self, part: Callable[[], None]) -> None:
        """Run a part of the checks; its errors are raised."""
        part()


class ConnectorChecks:
    """Base class of a connector's checks; the codes of their findings begin with `connector`."""

    connector: str
    findings: Findings

    def ok(self, code: str, message: str) -> None:
        """Add a finding that needs no action; `code` is without the connector's name, here and
        below."""
        self.findings.add(f"{self.connector}.{code}", "ok", message)

    def warn(self, code: str, message: str, remedy: str) -> None:
        """Add a finding that does not prevent the stream from starting."""
        self.findings.add(f"{self.connector}.{code}", "warning", message, remedy)

    def refuse(self, code: str, message: str, remedy: str) -> None:
        """Add a finding that prevents the stream from starting."""
        self.findings.add(f"{self.connector}.{code}", "error", message, remedy)

    def foresee(self, code: str, message: str, remedy: str) -> None:
        """Add a finding that the start detects by itself; see Findings.add_foreseen."""
        self.findings.add_foreseen(HeadraceError(f"{self.connector}.{code}", message, remedy))


# An SQL statement in a remedy, from its first word to its semicolon.
_SQL = re.compile(
    r"""\b(?:ALTER|CREATE|GRANT|SELECT\s+pg_|(?:CALL|VALUES)\s+(?=")|SHUTDOWN\s|STARTUP\s)(?:"(?:[^"]|"")*"|'(?:[^']|'')*'|[^;"'])*;"""
)


def statements(remedy: str) -> list[str]:
    """Return the SQL statements of a remedy, in the order in which they are to be run."""
    return [text for text, is_statement in steps(remedy) if is_statement]


def steps(remedy: str) -> Iterator[tuple[str, bool]]:
    """Yield the steps of a remedy in their order: a text, and whether it is an SQL statement."""
    end = 0
    for match in _SQL.finditer(remedy):
        yield from _words(remedy[end : match.start()])
        yield " ".join(match[0].split()), True
        end = match.end()
    yield from _words(remedy[end:])


def _words(text: str) -> Iterator[tuple[str, bool]]:
    text = " ".join(text.split())
    if any(map(str.isalnum, text)):
        yield text, False


def counted(count: int, noun: str) -> str:
    """Return a number with its noun: `1 error`, `2 errors`."""
    return f"{count:,} {noun}" + ("" if count == 1 else "s")


def sized(count: int | None) -> str:
    """Return a number of bytes as `12.3 MB`, by powers of 1024; an empty text for None."""
    if count is None:
        return ""
    size = float(count)
    for unit in ("B", "kB", "MB", "GB"):
        if abs(size) < 1024:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} TB"


def aligned(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yield a line per row, with aligned columns; lines are not wrapped at the terminal's width."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        yield "  ".join(cells).rstrip()


def named(names: Sequence[str]) -> str:
    """Return the first five names, and how many more there are."""
    more = len(names) - _NAMED
    return ", ".join(names[:_NAMED]) + (f" and {more} more" if more > 0 else "")
