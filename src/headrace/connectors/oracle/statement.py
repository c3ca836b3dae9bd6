"""A statement as sql.py has it: its text with slots, and how a text that was sent is told from all
others."""

from __future__ import annotations

import re
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
"""What each slot may hold; a slot's kind is what its name ends with."""


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
            rf"(?P<{part}>{_kind(part)})" if at % 2 else re.escape(part)
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


def _kind(slot: str) -> str:
    return _KINDS[next(kind for kind in _KINDS if slot.endswith(kind))]
