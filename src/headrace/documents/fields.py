"""Fields that are removed from documents or renamed: `field.exclude.list` and `field.renames`.

`FieldRules` applies the rules of one collection to BSON bytes; compiled readers call
`headrace.documents.kernels.field_kernel` with its `address` and `count`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from headrace.connect.kernels.memory import PADDING, address_of
from headrace.documents.bson import NO_ROOM, broken
from headrace.documents.kernels.field_kernel import (
    FIELD_EXISTS,
    MAX_NODES,
    RULE_WORDS,
    filter_fields,
    filter_names,
)
from headrace.errors import HeadraceError


class PathRule(NamedTuple):
    """The new name of the field at `path` (names from the top of the document); None: the field is
    removed."""

    path: tuple[str, ...]
    name: str | None = None


class FieldRules:
    """The rules of one collection in the form that kernels read, applied in their order; can be
    pickled. Raises ValueError for a path that is empty or has more than `MAX_NODES` names, a name
    with a zero character, and a field that is renamed to its own name.

    `address` is that of `count` rules in memory that lives as long as this object, and `longest` is
    the length of the longest new name in bytes.
    """

    def __init__(self, rules: Sequence[PathRule]) -> None:
        for rule in rules:
            _check(rule)
        self._rules = tuple(rules)
        self.count = len(self._rules)
        texts = bytearray()
        places: list[tuple[int, int]] = []
        for rule in self._rules:
            for name in (*rule.path, rule.name or ""):
                raw = name.encode()
                places.append((len(texts), len(raw)))
                texts += raw
        self._texts = np.frombuffer(bytes(texts) + bytes(PADDING), np.uint8)
        self._nodes = np.array(places or [(0, 0)], np.int64)
        self._nodes[:, 0] += address_of(self._texts)
        self._words = np.zeros((max(self.count, 1), RULE_WORDS), np.int64)
        first = 0
        for words, rule in zip(self._words, self._rules, strict=False):
            words[0], words[1] = len(rule.path), address_of(self._nodes) + 16 * first
            first += len(rule.path)
            if rule.name is not None:
                words[2:] = self._nodes[first]
            first += 1
        self.address = address_of(self._words)
        self.longest = max((len((r.name or "").encode()) for r in self._rules), default=0)

    def __reduce__(self) -> tuple[object, ...]:
        return FieldRules, (self._rules,)

    def document(self, document: bytes) -> bytes:
        """Return a whole document after the rules.

        Raises HeadraceError `documents.value_not_understood` when it is not BSON, and
        `documents.value_not_representable` when a field would get a name that already exists.
        """
        return self._apply(document, lambda *arguments: self._fields(0, *arguments))

    def updated_fields(self, fields: bytes) -> bytes:
        """Return the changed fields of an update, whose names are dotted, after the rules. Raises
        as `document`."""
        return self._apply(fields, lambda *arguments: self._fields(1, *arguments))

    def names(self, names: bytes) -> bytes:
        """Return the array of an update's removed fields, or of its truncated arrays, after the
        rules."""
        return self._apply(names, self._names)

    def _fields(self, is_change: int, at: int, size: int, spare: int, out: int, room: int) -> int:
        return int(filter_fields(self.address, self.count, is_change, at, size, spare, out, room))

    def _names(self, at: int, size: int, _spare: int, out: int, room: int) -> int:
        return int(filter_names(self.address, self.count, at, size, self.longest, out, room))

    def _apply(self, raw: bytes, run: Callable[[int, int, int, int, int], int]) -> bytes:
        source = np.frombuffer(raw + bytes(PADDING), np.uint8)
        room = 2 * len(raw) + 1024
        while True:
            spare, out = np.empty((2, room + PADDING), np.uint8)
            end = run(address_of(source), len(raw), address_of(spare), address_of(out), room)
            if end >= 0:
                return out[: end - address_of(out)].tobytes()
            if end == FIELD_EXISTS:
                raise field_exists()
            if end != NO_ROOM:
                raise broken(end)
            room *= 2


def field_exists(document: str = "a document") -> HeadraceError:
    """The error of a document in which the new name of a field already exists; `document` names
    it."""
    return HeadraceError(
        "documents.value_not_representable",
        f"field.renames: {document} has a field already that another one is renamed to",
        "Choose a name in field.renames that no document of the collection has; "
        "event.processing.failure.handling.mode=warn leaves such records out.",
    )


def _check(rule: PathRule) -> None:
    dotted = ".".join(rule.path)
    if not 0 < len(rule.path) <= MAX_NODES:
        raise ValueError(f"{dotted!r} has {len(rule.path)} names, not 1 to {MAX_NODES}")
    if "\0" in dotted + (rule.name or ""):
        raise ValueError(f"{dotted!r} or its new name has a zero character")
    if rule.path[-1] == rule.name:
        raise ValueError(f"{dotted!r} has the name already that it is to get")
