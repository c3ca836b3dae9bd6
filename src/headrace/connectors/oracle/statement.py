"""A statement as sql.py has it: its text with slots, and how a text that was sent is told from all
others."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

_SLOT = re.compile(r"\{(\w+)\}")
_NAME = r'"(?:[^"\x00]|"")+"'
_TEXT = r"'(?:[^']|'')*'"
_ANY = r".+"
_KINDS = {
    "name": _NAME,
    "table": rf"{_NAME}\.{_NAME}",
    "flush_table": rf"{_NAME}(?:\.{_NAME})?",
    "number": r"\d+",
    "text": _TEXT,
    "texts": rf"{_TEXT}(?:, {_TEXT})*",
    "options": r"DBMS_LOGMNR\.\w+(?: \+ DBMS_LOGMNR\.\w+)*",
    "dictionary": rf"(?:, DICTFILENAME => {_TEXT})?",
    "container": rf"(?:CDB\$ROOT|{_NAME})",
    "view": r"[A-Z_$]+",
    "condition": _ANY,
    "columns": _ANY,
    "rest": r".*",
}
"""What each slot may hold, by its name."""


@dataclass(frozen=True)
class Statement:
    """A statement that is sent to Oracle. `text` has slots in braces, `manual` is where Oracle's
    manuals tell of the views and packages in it."""

    name: str
    manual: str
    text: str
    _pattern: re.Pattern[str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        parts = _SLOT.split(self.text)
        pattern = "".join(
            rf"(?P<{part}>{_KINDS[part]})" if at % 2 else re.escape(part)
            for at, part in enumerate(parts)
        )
        object.__setattr__(self, "_pattern", re.compile(pattern, re.DOTALL))

    def __call__(self, **slots: str | int) -> str:
        """The text; every slot has its value, as SQL."""
        return _SLOT.sub(lambda slot: str(slots[slot[1]]), self.text)

    def match(self, text: str) -> dict[str, str] | None:
        """The values of the slots in a text; None: it is another statement."""
        match = self._pattern.fullmatch(text)
        return None if match is None else match.groupdict()


def listed(statements: Iterable[Statement]) -> str:
    """The page that lists statements, as Markdown."""
    lines = [
        "# Statements that are sent to Oracle",
        "",
        "All of them; a test holds this page to `headrace.connectors.oracle.sql`. Names in braces "
        "stand for what differs, names behind a colon are binds. The manuals are those of Oracle "
        "Database: Reference, PL/SQL Packages and Types Reference, SQL Language Reference, "
        "Globalization Support Guide, and the chapter on LogMiner of Utilities.",
    ]
    for one in statements:
        lines += ["", f"## {one.name}", "", f"{one.manual}.", "", "```sql", one.text, "```"]
    return "\n".join(lines) + "\n"
