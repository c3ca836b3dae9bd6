"""Chunks: pieces of a table that one task reads with one query."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any, TypeVar

import numpy as np

from headrace.signals.stored import checked_number, checked_text, number, reading, text

_MIN_ROWS = 1000
_UNDIVIDED_BYTES = 2 << 20
"""The largest size of a table, in bytes, that is read as one chunk if it fits a chunk."""

KeyBound = tuple[str, ...]
"""An existing key: the text of each of its columns."""
Bound = KeyBound | int
"""A bound of a chunk: a key, or the number of a page."""

_Item = TypeVar("_Item")


class ChunkKind(StrEnum):
    """The way a table is divided into chunks: by ranges of its key, by pages, or not at all (a
    statement of its own reads it)."""

    KEY = "key"
    PAGES = "ctid"
    WHOLE = "query"


@dataclass(frozen=True)
class Chunk:
    """A piece of the table with the number `table`, in its partition `leaf`: from `lower` to
    `upper`, without it (None: open). `first` and `last` are the snapshot markers of its first and
    last row: "run", "table" or "". `rows` is the number of rows it should have."""

    table: int
    ordinal: int
    kind: ChunkKind
    leaf: int = 0
    lower: Bound | None = None
    upper: Bound | None = None
    first: str = ""
    last: str = ""
    rows: int = 0

    def to_json(self) -> dict[str, Any]:
        """Return the chunk for offsets; key values appear in it."""
        members = asdict(self)
        members["kind"] = str(self.kind)
        for name in ("lower", "upper"):
            members[name] = bound_to_json(members[name])
        return members

    @staticmethod
    def from_json(data: dict[str, Any]) -> Chunk:
        """Read the JSON object of `to_json`. Raises HeadraceError("offset.broken")."""
        with reading(data):
            return Chunk(
                number(data, "table"),
                number(data, "ordinal"),
                ChunkKind(data["kind"]),
                number(data, "leaf"),
                bound_from_json(data["lower"]),
                bound_from_json(data["upper"]),
                text(data, "first"),
                text(data, "last"),
                number(data, "rows"),
            )


def bound_to_json(bound: Bound | None) -> Any:
    """Return a bound as JSON for offsets."""
    return list(bound) if isinstance(bound, tuple) else bound


def bound_from_json(data: Any) -> Bound | None:
    """Read the JSON of `bound_to_json`. Raises ValueError."""
    if data is None:
        return None
    if isinstance(data, list):
        return tuple(checked_text(value, "bound") for value in data)
    return checked_number(data, "bound")


def rows_per_chunk(rows: int, table_bytes: int, chunk_bytes: int, slices: int) -> int:
    """Return how many rows make a chunk of `chunk_bytes`, if a table's `rows` have `table_bytes`;
    the number of chunks is a multiple of `slices`, so that the last ones keep every core busy."""
    chunks = max(1, -(-table_bytes // chunk_bytes))
    if chunks > 1 or table_bytes > _UNDIVIDED_BYTES:
        chunks = -(-chunks // slices) * slices
    return max(_MIN_ROWS, -(-rows // chunks))


def grouped(items: Sequence[_Item], rows: Sequence[int], slices: int) -> list[list[_Item]]:
    """Group neighbours into at most `slices` groups with about equal numbers of rows; `rows` has
    the number of each item."""
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
