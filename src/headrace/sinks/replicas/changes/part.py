"""Parts of changes: what the tasks of a slice write for the tables that its records belong to.

A part is a file of Arrow's IPC format with the changes of one table, one schema of its rows, in the
order of the log. Its columns are those of the table, and before them what the constants here name.
A delete has the columns of the key only; a record of another kind has them all, but for values
that the log does not carry: these are null, and true in the column `UNTOLD` + name, which a part
has for columns with such a value only. `OLD_KEY` (a struct of the key's columns) stands in parts
with a row whose key changed and whose values the log does not carry all; it is null in other rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

SEQUENCE, OPERATION, OLD_KEY, UNTOLD = (
    "__headrace_sequence",
    "__headrace_operation",
    "__headrace_old_key",
    "__headrace_untold.",
)
"""Text of the place of a change (all of one length, in the order of the log); a number (int8) of
`Operation`; the key before a key change; and the beginning of names of boolean columns."""


class Operation(IntEnum):
    """What a change does. A new row has all its values, but after a key change."""

    INSERT = 0  # c and r of Debezium
    UPDATE = 1
    DELETE = 2


@dataclass(frozen=True)
class Part:
    """A part, as one row that goes through Spark. `path` is within the folder of parts; empty where
    the slice had nothing of the table but a TRUNCATE. A slice may have several parts of a table.

    `schema` is the JSON of the table's schema (see the module `schemas`; equal schemas have equal
    texts); empty where `path` is. `buckets` are
    those of the record batches of the file; empty: it is not divided. `first` and `last` are
    sequences of its changes, `truncated` that of the last TRUNCATE of the table in the slice
    (empty: there was none), `source_ms` the greatest time of the database in it (0: unknown).
    `error` says why `rows` changes could not be made (JSON of code, message and remedy; `path` is
    empty then): they are lost to the table.
    """

    topic: str
    path: str
    rows: int
    size: int
    schema: str
    buckets: tuple[int, ...]
    first: str
    last: str
    truncated: str
    has_untold: bool
    has_old_keys: bool
    source_ms: int
    error: str = ""
