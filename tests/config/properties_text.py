"""Texts in the Java properties format, as java.util.Properties.store escapes them."""

from __future__ import annotations

import re
from collections.abc import Iterable

_WRITTEN = {"\t": "\\t", "\n": "\\n", "\r": "\\r", "\f": "\\f", "\\": "\\\\"}


def format_properties(pairs: Iterable[tuple[str, str]]) -> str:
    """A text that `parse_properties` reads back as the same pairs."""
    return "".join(f"{_escape_key(key)}={_escape_value(value)}\n" for key, value in pairs)


def _escape_value(value: str) -> str:
    escaped = "".join(_WRITTEN.get(character, character) for character in value)
    leading = len(escaped) - len(escaped.lstrip(" "))
    return "\\ " * leading + escaped[leading:]


def _escape_key(key: str) -> str:
    escaped = "".join(_WRITTEN.get(character, character) for character in key)
    return re.sub(r"([ =:#!])", r"\\\1", escaped)
