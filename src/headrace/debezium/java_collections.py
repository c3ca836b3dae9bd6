"""The iteration order of Java's hash maps, which Debezium's events keep, and their JSON text."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import TypeVar

_Key = TypeVar("_Key", bound=Hashable)


def java_hash(text: str) -> int:
    """The hash of a string in java.util.HashMap, spread as HashMap does: 32 bits."""
    value = 0
    units = text.encode("utf-16-be", "surrogatepass")
    for high, low in zip(units[::2], units[1::2], strict=True):
        value = (31 * value + (high << 8 | low)) & 0xFFFFFFFF
    return value ^ (value >> 16)


def java_order(keys: Iterable[_Key], spread: Callable[[_Key], int], capacity: int) -> list[_Key]:
    """The keys in the order in which java.util.HashMap iterates over them: by bucket, then in order
    of insertion. `capacity` is the initial number of buckets."""
    listed = list(keys)
    for size in range(1, len(listed) + 1):
        if size > capacity * 3 // 4:
            capacity *= 2
    return sorted(listed, key=lambda key: spread(key) & (capacity - 1))


_ESCAPED = re.compile(r'[\x00-\x1f"\\]')
_SHORT = {"\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r", '"': '\\"', "\\": "\\\\"}


def json_text(members: Mapping[str, str | None]) -> str:
    """A map of texts as compact JSON, as Jackson writes it to a string (not to bytes: only quotes,
    backslashes and control characters are escaped)."""
    texts = (
        f"{_quoted(key)}:{'null' if value is None else _quoted(value)}"
        for key, value in members.items()
    )
    return "{" + ",".join(texts) + "}"


def _quoted(text: str) -> str:
    escaped = _ESCAPED.sub(lambda f: _SHORT.get(f[0]) or f"\\u{ord(f[0]):04X}", text)
    return f'"{escaped}"'
