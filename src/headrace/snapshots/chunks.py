"""Chunks: pieces of a table that one task reads with one query."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any, TypeVar

import numpy as np

from headrace.signals.stored import checked_number, checked_text, number, reading, text

_LEAST_ROWS = 1000
_UNDIVIDED_BYTES = 2 << 20
"""A table up to this size that fits a chunk is one chunk."""

KeyBound = tuple[str, ...]
"""An existing key, each of its columns as text."""
Bound = KeyBound | int
"""Where a chunk begins or ends: a key, or the number of a page."""

_Item = TypeVar("_Item")


class Cut(StrEnum):
    """How a table is cut into chunks: by ranges of its key, by pages, or not at all (it is read by
    a statement of its own)."""

    KEY = "key"
    PAGES = "ctid"
    WHOLE = "query"


@dataclass(frozen=True)
class Chunk:
    """A piece of the table with the number `table`, in its partition `leaf`: from `lower` up to
    and without `upper` (None: open). `first` and `last` say which markers its ends carry: "run",
    "table" or "". `rows` is how many rows it should have."""

    table: int
    ordinal: int
    kind: Cut
    leaf: int = 0
    lower: Bound | None = None
    upper: Bound | None = None
    first: str = ""
    last: str = ""
    rows: int = 0

    def to_json(self) -> dict[str, Any]:
        """The chunk for offsets; key values appear in it."""
        members = asdict(self)
        members["kind"] = str(self.kind)
        for name in ("lower", "upper"):
            members[name] = bound_to_json(members[name])
        return members

    @staticmethod
    def from_json(data: dict[str, Any]) -> Chunk:
        """The reverse of `to_json`. Raises HeadraceError("offset.broken")."""
        with reading(data):
            return Chunk(
                number(data, "table"),
                number(data, "ordinal"),
                Cut(data["kind"]),
                number(data, "leaf"),
                bound_from_json(data["lower"]),
                bound_from_json(data["upper"]),
                text(data, "first"),
                text(data, "last"),
                number(data, "rows"),
            )


def bound_to_json(bound: Bound | None) -> Any:
    """A bound as an offset has it."""
    return list(bound) if isinstance(bound, tuple) else bound


def bound_from_json(data: Any) -> Bound | None:
    """The reverse of `bound_to_json`. Raises ValueError."""
    if data is None:
        return None
    if isinstance(data, list):
        return tuple(checked_text(value, "bound") for value in data)
    return checked_number(data, "bound")


def rows_per_chunk(rows: int, table_bytes: int, chunk_bytes: int, slices: int) -> int:
    """How many of a table's `rows` make `chunk_bytes`, when all of them are `table_bytes`; the
    number of chunks is a multiple of `slices`, so that the last ones keep every core busy."""
    chunks = max(1, -(-table_bytes // chunk_bytes))
    if chunks > 1 or table_bytes > _UNDIVIDED_BYTES:
        chunks = -(-chunks // slices) * slices
    return max(_LEAST_ROWS, -(-rows // chunks))


def grouped(items: Sequence[_Item], rows: Sequence[int], slices: int) -> list[list[_Item]]:
    """Neighbours together in at most `slices` groups of about equal shares of rows; `rows` is how
    many each item has."""
    if not items:
        return []
    weights = np.cumsum([max(1, count) for count in rows])
    share = weights[-1] / max(1, min(slices, len(items)))
    groups: list[list[_Item]] = [[]]
    for place, (item, weight) in enumerate(zip(items, weights, strict=True), 1):
        groups[-1].append(item)
        if weight >= share * len(groups) and len(groups) < slices and place < len(items):
            groups.append([])
    return [group for group in groups if group]
