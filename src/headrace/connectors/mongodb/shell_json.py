"""The JSON that MongoDB's shell and Java driver accept: names without quotes, single quotes,
`/regex/i` and constructors such as `ObjectId("…")`, all converted to Extended JSON version 2."""

from __future__ import annotations

import base64
import json
import math
import re
import uuid
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

_SPACE = re.compile(r"\s*")
_NAME = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*")
_NUMBER = re.compile(r"-?(?:Infinity|[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)")
_QUOTED = {
    quote: re.compile(rf"{quote}((?:[^\\{quote}]|\\.)*){quote}", re.DOTALL) for quote in "\"'"
}
_REGEX = re.compile(r"/((?:[^\\/]|\\.)+)/([a-z]*)", re.DOTALL)
_ESCAPE = re.compile(r"\\(u[0-9A-Fa-f]{4}|.)", re.DOTALL)
_ESCAPED = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_DEEPEST = 100
"""The maximum nesting depth, as in a BSON document."""


def parse_shell_json(text: str) -> Any:
    """Parse `text`: dicts, lists, strings, numbers, booleans and None; other types of BSON as in
    Extended JSON version 2, `{"$oid": "…"}`. Raises ValueError with the position (counted from 1)
    of the first character that cannot be read."""
    reader = _Reader(text)
    value = reader.value(0)
    reader.space()
    if reader.position < len(text):
        raise reader.error("the text continues after the value")
    return value


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0

    def error(self, reason: str) -> ValueError:
        return ValueError(f"position {self.position + 1}: {reason}")

    def space(self) -> None:
        match = _SPACE.match(self.text, self.position)
        assert match is not None
        self.position = match.end()

    def takes(self, sign: str) -> bool:
        """Whether `sign` follows; if so, moves after it."""
        self.space()
        if not self.text.startswith(sign, self.position):
            return False
        self.position += len(sign)
        return True

    def match(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        matched = pattern.match(self.text, self.position)
        if matched is not None:
            self.position = matched.end()
        return matched

    def value(self, depth: int) -> Any:
        if depth > _DEEPEST:
            raise self.error(f"it is nested more than {_DEEPEST} levels deep")
        if self.takes("{"):
            return self._members(depth)
        if self.takes("["):
            return self._elements(depth, "]")
        quoted = self._quoted()
        if quoted is not None:
            return quoted
        start = self.position
        number = self.match(_NUMBER)
        if number is not None:
            try:
                return _number(number[0])
            except ValueError as error:
                self.position = start
                raise self.error(str(error)) from None
        regex = self.match(_REGEX)
        if regex is not None:
            return _regex(regex[1].replace("\\/", "/"), "".join(sorted(regex[2])))
        return self._word(depth)

    def _members(self, depth: int) -> dict[str, Any]:
        members: dict[str, Any] = {}
        while not self.takes("}"):
            name = self._quoted()
            if name is None:
                bare = self.match(_NAME)
                if bare is None:
                    raise self.error("a name is expected")
                name = bare[0]
            if not self.takes(":"):
                raise self.error(f"a colon is expected after {name!r}")
            self.space()
            members[name] = self.value(depth + 1)
            if not self.takes(",") and not self.text.startswith("}", self.position):
                raise self.error("a comma or } is expected")
        return members

    def _elements(self, depth: int, closing: str) -> list[Any]:
        elements: list[Any] = []
        while not self.takes(closing):
            elements.append(self.value(depth + 1))
            if not self.takes(",") and not self.text.startswith(closing, self.position):
                raise self.error(f"a comma or {closing} is expected")
        return elements

    def _quoted(self) -> str | None:
        self.space()
        quote = self.text[self.position : self.position + 1]
        if quote not in _QUOTED:
            return None
        quoted = self.match(_QUOTED[quote])
        if quoted is None:
            raise self.error("the string is not closed")
        text = _ESCAPE.sub(_unescaped, quoted[1])
        try:
            # Two escapes may form one character.
            return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le")
        except UnicodeDecodeError:
            raise self.error("the string has an unpaired surrogate") from None

    def _word(self, depth: int) -> Any:
        start = self.position
        name = self.match(_NAME)
        if name is not None and name[0] == "new":
            self.space()
            name = self.match(_NAME)
        word = "" if name is None else name[0]
        if word in _WORDS:
            if word in ("MinKey", "MaxKey") and self.takes("("):
                self._elements(depth, ")")
            return _WORDS[word]
        if word in _CONSTRUCTORS and self.takes("("):
            arguments = self._elements(depth, ")")
            try:
                return _CONSTRUCTORS[word](*arguments)
            except (ArithmeticError, AttributeError, TypeError, ValueError):
                self.position = start
                raise self.error(f"the arguments of {word}(…) are not valid") from None
        self.position = start
        raise self.error("a value is expected")


def _unescaped(escape: re.Match[str]) -> str:
    code = escape[1]
    return chr(int(code[1:], 16)) if len(code) == 5 else _ESCAPED.get(code, code)


def _number(text: str) -> Any:
    if not re.fullmatch(r"-?[0-9]+", text):
        double = float(text)
        sign = "-" if double < 0 else ""
        return double if math.isfinite(double) else {"$numberDouble": f"{sign}Infinity"}
    return _integer(text, 64)


def _integer(value: Any, bits: int) -> int:
    """Raises ValueError for a number that needs more bits."""
    number = int(value)
    if not -(1 << bits - 1) <= number < 1 << bits - 1:
        raise ValueError(f"the number needs more than {bits} bits")
    return number


def _regex(pattern: str, options: str = "") -> Any:
    return {"$regularExpression": {"pattern": pattern, "options": options}}


def _date(value: Any) -> Any:
    if isinstance(value, str):
        at = datetime.fromisoformat(value)
        value = (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp() * 1000
    return {"$date": {"$numberLong": str(round(value))}}


def _binary(kind: int, content: bytes) -> Any:
    return {"$binary": {"base64": base64.b64encode(content).decode(), "subType": f"{kind:02x}"}}


_WORDS: dict[str, Any] = {
    "true": True,
    "false": False,
    "null": None,
    "undefined": {"$undefined": True},
    "NaN": {"$numberDouble": "NaN"},
    "MinKey": {"$minKey": 1},
    "MaxKey": {"$maxKey": 1},
}
_CONSTRUCTORS: dict[str, Callable[..., Any]] = {
    "ObjectId": lambda text: {"$oid": bytes.fromhex(text).hex()},
    "ISODate": _date,
    "Date": _date,
    "NumberInt": lambda value: _integer(value, 32),
    "NumberLong": lambda value: {"$numberLong": str(_integer(value, 64))},
    "NumberDecimal": lambda value: {"$numberDecimal": str(value)},
    "Timestamp": lambda seconds, increment: {"$timestamp": {"t": seconds, "i": increment}},
    "RegExp": _regex,
    "UUID": lambda text: _binary(4, uuid.UUID(text).bytes),
    "BinData": lambda kind, text: _binary(kind, base64.b64decode(text, validate=True)),
    "HexData": lambda kind, text: _binary(kind, bytes.fromhex(text)),
}


def to_extended_json(text: str) -> str:
    """Convert `text` to Extended JSON, which the driver reads. Raises ValueError."""
    return json.dumps(parse_shell_json(text), ensure_ascii=False)
