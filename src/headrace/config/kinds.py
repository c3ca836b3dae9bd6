"""Kinds of property values: how a text is parsed into a typed value, and what is expected."""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Generic, NamedTuple, TypeVar

from headrace.config.regex import Use, compile_java_regex, split_regex_list
from headrace.config.secret import Secret, SecretSource

T = TypeVar("T")
E = TypeVar("E", bound=StrEnum)

_MILLISECONDS = {
    "ms": 1, "milliseconds": 1, "millisecond": 1,
    "s": 1000, "sec": 1000, "second": 1000, "seconds": 1000,
    "m": 60_000, "min": 60_000, "minute": 60_000, "minutes": 60_000,
    "h": 3_600_000, "hour": 3_600_000, "hours": 3_600_000,
    "d": 86_400_000, "day": 86_400_000, "days": 86_400_000,
}  # fmt: skip
# As in Spark's own settings, 64m, 64MB and 64MiB are the same 67,108,864 bytes.
_BYTES = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
_QUANTITY = re.compile(r"([0-9_]+)\s*([A-Za-z]*)")
INT_MAX = (1 << 31) - 1
LONG_MAX = (1 << 63) - 1
_LONGEST_MS = LONG_MAX // 1000  # Spark counts microseconds


@dataclass(frozen=True)
class ValueKind(Generic[T]):
    """The kind of a property's values. `parse` raises ValueError for an invalid text; a text in the
    error says what is wrong. A value without text counts as not set, unless it `may_be_empty`.

    `expects` completes "expected …". `values` are the possible texts of an enumeration. A text that
    `has_placeholders` may contain a plain `${name}`, whose meaning the property defines.
    `from_source` makes a value from one whose text may change, and is called at each use.
    """

    expects: str
    parse: Callable[[str], T]
    values: tuple[str, ...] = ()
    is_secret: bool = False
    keeps_spaces: bool = False
    may_be_empty: bool = False
    has_placeholders: bool = False
    from_source: Callable[[T, SecretSource], T] | None = None


class MessageKeyColumns(NamedTuple):
    """An entry of `message.key.columns`: the expressions of tables and of their key columns, in
    order."""

    table: str
    columns: tuple[str, ...]


def is_json(value: object) -> bool:
    """Return whether JSON can represent the value."""
    try:
        json.dumps(value)
    except (TypeError, ValueError):
        return False
    return True


def _parse_boolean(text: str) -> bool:
    match text.lower():
        case "true":
            return True
        case "false":
            return False
    raise ValueError


TEXT: ValueKind[str] = ValueKind("a text", str)
EXACT_TEXT: ValueKind[str] = ValueKind("a text", str, keeps_spaces=True, may_be_empty=True)
"""A text, possibly empty, whose surrounding spaces are part of it."""
TRIMMED_TEXT: ValueKind[str] = ValueKind("a text", str, may_be_empty=True)
"""A text that may be empty; spaces around it do not count, as Kafka reads options."""
PATH: ValueKind[str] = ValueKind("a path", lambda text: os.path.expanduser(text))  # noqa: PTH111
SECRET: ValueKind[Secret] = ValueKind(
    "a secret", Secret, is_secret=True, keeps_spaces=True, from_source=Secret.from_source
)
BOOLEAN: ValueKind[bool] = ValueKind("true or false", _parse_boolean, ("true", "false"))
JAVA_CLASS: ValueKind[str] = ValueKind("a Java class name", str)


def templated(kind: ValueKind[T]) -> ValueKind[T]:
    """Return the kind of a text in which a plain `${name}` has a meaning of its own."""
    return replace(kind, has_placeholders=True)


def integer(low: int = 0, high: int = INT_MAX) -> ValueKind[int]:
    """Return the kind of a whole number in [low, high]."""

    def parse(text: str) -> int:
        if re.fullmatch(r"[+-]?[0-9]{1,20}", text) is None or not low <= int(text) <= high:
            raise ValueError
        return int(text)

    if high in (INT_MAX, LONG_MAX):
        return ValueKind(f"a whole number, {low} or more", parse)
    return ValueKind(f"a whole number from {low} to {high}", parse)


def number_above(low: float) -> ValueKind[float]:
    """Return the kind of a finite decimal number greater than `low`."""

    def parse(text: str) -> float:
        if re.fullmatch(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,4})?", text) is None:
            raise ValueError
        if not low < float(text) < math.inf:
            raise ValueError
        return float(text)

    return ValueKind(f"a number greater than {low:g}", parse)


def milliseconds(low: int = 0) -> ValueKind[int]:
    """Return the kind of a number of milliseconds, as in all Debezium properties that end in
    `.ms`."""
    return ValueKind(f"a number of milliseconds, {low} or more", integer(low, LONG_MAX).parse)


def duration(low_ms: int = 0, *, bare_unit: str = "ms") -> ValueKind[int]:
    """Return the kind of `10 s`, `500 ms`, `2 min`, from `low_ms`; a number alone counts
    `bare_unit`. The value is in ms."""

    def parse(text: str) -> int:
        match = _QUANTITY.fullmatch(text)
        if match is None or len(match[1]) > 15:
            raise ValueError
        factor = _MILLISECONDS.get(match[2].lower() or bare_unit)
        if factor is None:
            raise ValueError
        value = int(match[1]) * factor
        if not low_ms <= value <= _LONGEST_MS:
            raise ValueError
        return value

    least = f", {low_ms} ms or more" if low_ms else ""
    form = "a duration such as 10 s or 500 ms"
    return ValueKind(f"{form}{least}; a number alone is in {bare_unit}", parse)


def size(low: int = 0) -> ValueKind[int]:
    """Return the kind of `64MB`, `64 MiB`, `64m` or a number of bytes. The value is in bytes."""

    def parse(text: str) -> int:
        match = _QUANTITY.fullmatch(text)
        if match is None or len(match[1]) > 15:
            raise ValueError
        unit = re.fullmatch(r"([kmgt]?)(i?b)?", match[2].lower())
        if unit is None:
            raise ValueError
        count = int(match[1]) * _BYTES[unit[1]]
        if not low <= count <= LONG_MAX:
            raise ValueError
        return count

    least = f", {low} {'byte' if low == 1 else 'bytes'} or more" if low else ""
    return ValueKind(f"a size such as 64MB{least}", parse)


def choice(members: type[E], *, aliases: Mapping[str, str] | None = None) -> ValueKind[E]:
    """Return the kind of an enumeration's values, in any case. `aliases` are other spellings,
    lower-case."""
    values = tuple(member.value for member in members)
    by_text = {value.lower(): members(value) for value in values}
    for alias, value in (aliases or {}).items():
        by_text[alias.lower()] = members(value)

    def parse(text: str) -> E:
        member = by_text.get(text.lower())
        if member is None:
            raise ValueError
        return member

    return ValueKind("one of " + ", ".join(values), parse, values)


def one_of(*values: str) -> ValueKind[str]:
    """Return the kind of these texts, in any case; the value has the case given here."""
    by_text = {value.lower(): value for value in values}

    def parse(text: str) -> str:
        value = by_text.get(text.lower())
        if value is None:
            raise ValueError
        return value

    return ValueKind("one of " + ", ".join(values), parse, values)


def matching(pattern: str, expects: str) -> ValueKind[str]:
    """Return the kind of a text that matches `pattern` as a whole."""
    compiled = re.compile(pattern)

    def parse(text: str) -> str:
        if compiled.fullmatch(text) is None:
            raise ValueError
        return text

    return ValueKind(expects, parse)


def _parse_comma_list(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


def _parse_regex_list(text: str) -> tuple[str, ...]:
    parts = tuple(split_regex_list(text))
    for part in parts:
        compile_java_regex(part)
    return parts


def _parse_regex(text: str) -> str:
    compile_java_regex(text, case_matters=True)
    return text


def _parse_row_regex(text: str) -> str:
    compile_java_regex(text, case_matters=True, use=Use.WHOLE_TEXTS)
    return text


def _parse_statements(text: str) -> tuple[str, ...]:
    parts = (part.replace("\0", ";").strip() for part in text.replace(";;", "\0").split(";"))
    return tuple(part for part in parts if part)


def _parse_parameters(text: str) -> tuple[tuple[str, str], ...]:
    pairs = []
    for part in filter(None, (part.strip() for part in text.split(";"))):
        key, equals, value = part.partition("=")
        if not equals or not key.strip():
            raise ValueError(f"{part!r} is not of the form name=value")
        pairs.append((key.strip(), value.strip()))
    return tuple(pairs)


def _parse_key_columns(text: str) -> tuple[MessageKeyColumns, ...]:
    entries = []
    for part in filter(None, (part.strip() for part in text.split(";"))):
        # The table expression may contain a colon ("(?:a|b)"); column names cannot.
        table, colon, columns = part.rpartition(":")
        names = _parse_comma_list(columns)
        if not colon or not table.strip() or not names:
            raise ValueError(f"{part!r} is not of the form schema.table:column,column")
        for name in names:
            compile_java_regex(f"{table.strip()}.{name}")
        entries.append(MessageKeyColumns(table.strip(), names))
    return tuple(entries)


def _parse_operations(text: str) -> tuple[str, ...]:
    parts = tuple(part.lower() for part in _parse_comma_list(text))
    if parts == ("none",):
        return ()
    if not parts or any(part not in ("c", "u", "d", "t") for part in parts):
        raise ValueError
    return tuple(dict.fromkeys(parts))


def _parse_trigger(text: str) -> str:
    if re.fullmatch(r"available[-_ ]?now", text, re.IGNORECASE):
        return AVAILABLE_NOW
    # Spark's own texts are sums: `1 minute 30 seconds`, `interval 10 seconds`.
    summands = re.sub(r"^interval\s+", "", text, flags=re.IGNORECASE)
    if re.fullmatch(r"([0-9]+\s*[A-Za-z]+\s*)+", summands) is None:
        return f"{duration().parse(summands)} milliseconds"
    parts = re.findall(r"[0-9]+\s*[A-Za-z]+", summands)
    return f"{sum(map(duration().parse, parts))} milliseconds"


COMMA_LIST: ValueKind[tuple[str, ...]] = ValueKind("a comma-separated list", _parse_comma_list)
REGEX_LIST: ValueKind[tuple[str, ...]] = ValueKind(
    "a comma-separated list of regular expressions", _parse_regex_list
)
REGEX: ValueKind[str] = ValueKind("a case-sensitive regular expression", _parse_regex)
ROW_REGEX: ValueKind[str] = ValueKind(REGEX.expects, _parse_row_regex)
"""A regular expression for texts in rows, or for topics that rows name."""
STATEMENTS: ValueKind[tuple[str, ...]] = ValueKind(
    "SQL statements separated by semicolons (two for a literal one)", _parse_statements
)
PARAMETERS: ValueKind[tuple[tuple[str, str], ...]] = ValueKind(
    "name=value;name=value", _parse_parameters
)
KEY_COLUMNS: ValueKind[tuple[MessageKeyColumns, ...]] = ValueKind(
    "schema.table:column,column;schema.table:column", _parse_key_columns
)
OPERATIONS: ValueKind[tuple[str, ...]] = ValueKind(
    "a comma-separated list of c, u, d and t, or none", _parse_operations
)
AVAILABLE_NOW = "availableNow"
TRIGGER: ValueKind[str] = ValueKind(
    "availableNow, or the interval of micro-batches such as 500 ms", _parse_trigger
)
"""AVAILABLE_NOW, or an interval in the notation of Spark's parser, which has no `ms` and no `s`."""
