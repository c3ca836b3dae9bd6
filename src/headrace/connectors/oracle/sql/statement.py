"""A statement: its text with slots, and the recognition of a text that was sent."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from headrace.connectors.oracle.sql.grammar import (
    NAME,
    PART,
    TEXT,
    are_expressions,
    is_condition,
    is_query,
)

_SLOT = re.compile(r"\{(\w+)\}")
_TABLE = rf"{NAME}\.{NAME}"
_COLUMN = rf"{NAME}\.{NAME}"
_SOURCE = rf'{_TABLE}(?: AS OF SCN \d+)? "t"'
_KINDS = {
    "name": NAME,
    "table": _TABLE,
    "flush_table": rf"{NAME}(?:\.{NAME})?",
    "source": _SOURCE,
    "as_of": r"(?: AS OF SCN \d+)?",
    "number": r"\d+",
    "size": r"\d+",
    "options": r"SYS\.DBMS_LOGMNR\.[A-Z_]+(?: \+ SYS\.DBMS_LOGMNR\.[A-Z_]+)*",
    "dictionary": rf"(?:, DICTFILENAME => {TEXT})?",
    "container": rf"(?:CDB\$ROOT|{NAME})",
    "view": r"(?:G?V\$|ALL_|DBA_)[A-Z_]+",
    "redo_columns": r"[A-Z_]+#?(?:, [A-Z_]+#?)*",
    "key": rf"{_COLUMN}(?:, {_COLUMN})*",
    "expressions": rf"{PART}+?",
    "condition": rf"{PART}+?",
    "where": rf"(?: WHERE {PART}+?)?",
    "order": rf"(?: ORDER BY {_COLUMN}(?: DESC)?(?:, {_COLUMN}(?: DESC)?)*)?",
    "page": r"(?: OFFSET \d+ ROWS)?(?: FETCH FIRST \d+ ROWS ONLY)?",
    "others": rf"(?: UNION ALL \(SELECT \d+ FROM {_SOURCE} FETCH FIRST 1 ROWS ONLY\))*",
    "inside": r"(?: AND T\.EXTERNAL = 'NO'(?: AND T\.HYBRID = 'NO')?)?",
    "one": r"(?: AND [A-Z]\.(?:TABLE|OBJECT)_NAME = :name)?",
    "query": r".+",
    "action": r".+",
    "kit": r"[A-Z]+",
    "kit_columns": r"[A-Z]+ [A-Z0-9_() ]+(?:, [A-Z]+ [A-Z0-9_() ]+)*",
    "kit_names": r"[A-Z]+(?:, [A-Z]+)*",
    "kit_values": r":id(?:, [A-Za-z0-9_.():' -]+)*",
    "kit_assignments": r"[A-Z]+ = :[a-z]+(?:, [A-Z]+ = :[a-z]+)*",
}
"""The form of each slot's content, by the slot's name; a slot has the same content everywhere."""
_GRAMMAR: Mapping[str, Callable[[str], bool]] = {
    "expressions": are_expressions,
    "condition": is_condition,
    "where": lambda text: not text or is_condition(text.removeprefix(" WHERE ")),
    "query": is_query,
}
"""The rules of content that no form expresses."""


@dataclass(frozen=True)
class Statement:
    """A statement that is sent to Oracle. `text` has slots in braces, `manual` is the place where
    Oracle's manuals describe the views and packages in it. `forms` are regular expressions of slots
    that are narrower here than others of their name."""

    name: str
    manual: str
    text: str
    forms: Mapping[str, str] = field(default_factory=dict, repr=False, compare=False)
    _pattern: re.Pattern[str] = field(init=False, repr=False, compare=False)
    _slots: tuple[str, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        pattern, slots = "", []
        for at, part in enumerate(_SLOT.split(self.text)):
            if not at % 2:
                pattern += re.escape(part)
            elif part in slots:
                pattern += f"(?P={part})"
            else:
                slots.append(part)
                pattern += f"(?P<{part}>{self.forms.get(part, _KINDS[part])})"
        object.__setattr__(self, "_pattern", re.compile(pattern, re.DOTALL))
        object.__setattr__(self, "_slots", tuple(slots))

    @property
    def slots(self) -> tuple[str, ...]:
        """The names of the slots, in the order of the text."""
        return self._slots

    def __call__(self, **slots: str | int) -> str:
        """Return the text; every slot has its value, as SQL."""
        return _SLOT.sub(lambda slot: str(slots[slot[1]]), self.text)

    def match(self, text: str) -> dict[str, str] | None:
        """Return the values of the slots in a text; None: it is another statement."""
        match = self._pattern.fullmatch(text)
        if match is None:
            return None
        slots = match.groupdict()
        is_held = all(holds(slots[slot]) for slot, holds in _GRAMMAR.items() if slot in slots)
        return slots if is_held else None


STATEMENTS: list[Statement] = []
"""Every statement that is sent, in the order in which modules declare them."""


def declared(name: str, manual: str, text: str, **forms: str) -> Statement:
    """Declare a statement, which is added to `STATEMENTS`; `text` may have any white space."""
    statement = Statement(name, manual, " ".join(text.split()), forms)
    STATEMENTS.append(statement)
    return statement
