"""What a database says of a table beside the schemas of its records: which table and which columns
they are, whatever their names, and what rows have in columns that are younger than they."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class ColumnOrigin:
    """A column. `id` tells it from others of its table, also from one that had its name before
    (empty: it is not known). `filler` is the Connect value of rows that are older than it, and
    `is_known` says whether that is known."""

    id: str = ""
    filler: object = None
    is_known: bool = True


@dataclass(frozen=True)
class TableOrigin:
    """A table: its name in the database, an `id` that tells it from one that had its name before
    (empty: it is not known), and its columns by name."""

    name: str
    id: str = ""
    columns: Mapping[str, ColumnOrigin] = field(default_factory=dict)
