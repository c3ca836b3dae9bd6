"""The Java properties format, parsed like java.util.Properties.load."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from headrace.errors import HeadraceError

_LINE_END = re.compile(r"\r\n|\r|\n")
_SPACE = " \t\f"
_ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}


class Entry(NamedTuple):
    """A key, its value, and the number of the line it starts on (from 1)."""

    key: str
    value: str
    line: int


def decode_properties(content: bytes) -> str:
    """Decode UTF-8, otherwise ISO 8859-1 (the format's older encoding)."""
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return content.decode("iso-8859-1")


def parse_properties(text: str) -> list[Entry]:
    """Return all pairs in order, including repeated keys.

    Raises HeadraceError("config.bad_escape") for a `\\u` without four hexadecimal digits.
    """
    entries = []
    for number, line in _logical_lines(text.removeprefix("\ufeff")):
        end = 0
        while end < len(line) and line[end] not in "=: \t\f":
            end += 2 if line[end] == "\\" else 1
        end = min(end, len(line))
        rest = line[end:].lstrip(_SPACE)
        if rest[:1] in ("=", ":"):
            rest = rest[1:].lstrip(_SPACE)
        entries.append(Entry(_unescape(line[:end], number), _unescape(rest, number), number))
    return entries


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield the lines without comments and blanks, with continuations joined, and their first
    number."""
    joined: str | None = None
    first = 0
    for number, natural in enumerate(_LINE_END.split(text), start=1):
        line = natural.lstrip(_SPACE)
        if joined is None:
            if not line or line[0] in "#!":
                continue
            joined, first = "", number
        backslashes = len(line) - len(line.rstrip("\\"))
        if backslashes % 2:
            joined += line[:-1]
            continue
        yield first, joined + line
        joined = None
    if joined:
        yield first, joined


def _unescape(text: str, number: int) -> str:
    if "\\" not in text:
        return text
    out: list[str] = []
    position = 0
    while position < len(text):
        character = text[position]
        position += 1
        if character != "\\":
            out.append(character)
            continue
        follower = text[position : position + 1]
        position += 1
        if follower != "u":
            out.append(_ESCAPES.get(follower, follower))
            continue
        digits = text[position : position + 4]
        if re.fullmatch("[0-9A-Fa-f]{4}", digits) is None:
            raise HeadraceError(
                "config.bad_escape",
                f"Line {number} of the properties holds \\u without four hexadecimal digits",
                "Write a backslash as two backslashes, or complete the escape.",
            )
        out.append(chr(int(digits, 16)))
        position += 4
    # Characters beyond the first plane are written as two escapes, whose halves are joined here.
    joined = "".join(out)
    return joined.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
