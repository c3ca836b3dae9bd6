"""Parts of changes, which the tasks of a slice write for the tables of its records.

A part is a file of Arrow's IPC format with the changes of one table, one schema of its rows, in the
order of the log. It has the columns that are named here, followed by those of the table. A delete
has only the columns of the key. Other records have all columns; values that the log does not carry
are null. A column with such values has another one, `UNAVAILABLE` + name, which is true for them.
`OLD_KEY` (a struct of the key's columns) exists if the key of a row changed and the log does not
carry all of the row's values; it is null in other rows.

Parts of change logs and histories have `COMMIT_TIME`, too. In parts of change logs a delete has the
values before it, as far as the log carries them.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

SEQUENCE, OPERATION, COMMIT_TIME, OLD_KEY, UNAVAILABLE = (
    "__headrace_sequence",
    "__headrace_operation",
    "__headrace_commit_time",
    "__headrace_old_key",
    "__headrace_untold.",
)
"""Columns: the place of a change (texts of equal length, in the order of the log); its `Operation`
(int8); the time of the source's commit (an instant in microseconds); the key before a key change;
and the prefix of the names of boolean columns."""


class Operation(IntEnum):
    """The kind of a change. An INSERT or a READ carries all values of the row, except after a key
    change."""

    INSERT = 0  # Debezium's c
    UPDATE = 1
    DELETE = 2
    READ = 3  # r


@dataclass(frozen=True)
class Part:
    """A part, as one row that goes through Spark. `path` is within the folder of parts; empty if
    the slice has only a TRUNCATE of the table. A slice may have several parts of a table.

    `schema` is the JSON of the table's schema (see the module `schemas`; equal schemas have equal
    texts); empty if `path` is. `buckets` are the buckets of the file's record batches; empty: it is
    not divided. `first` and `last` are the sequences of its first and last changes, `truncated` is
    that of the last TRUNCATE of the table in the slice (empty: no TRUNCATE), `source_ms` the latest
    time of the database in it (0: unknown). `truncates` has every TRUNCATE of the table in the
    slice: JSON, a list of pairs of its sequence and the time of its commit (microseconds). `error`
    says why `rows` changes could not be made (JSON of code, message and remedy; `path` is empty
    then): they are lost to the table. `shown_until` is the beginning of the sequences of the first
    changes that rows of a snapshot do not show, those in the part and those before it (empty: they
    are as old as their sequences say).
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
    truncates: str = ""
    shown_until: str = ""
