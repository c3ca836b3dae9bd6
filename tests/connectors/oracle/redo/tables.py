"""Tables whose redo statements tests parse, and images as tests compare them."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from headrace.connect.images import cells
from headrace.connectors.oracle.redo.reference import ParsedStatement
from headrace.connectors.oracle.redo.statements import RedoImages, RedoStatements
from headrace.connectors.oracle.redo.tables import RedoTable
from headrace.connectors.oracle.types.source_type import OracleType
from headrace.relational.table import Column, Table

UNAVAILABLE = b"?"
TYPES = {
    "ID": OracleType.of("NUMBER", 22, 9, 0),
    "NAME": OracleType.of("VARCHAR2", 40),
    "AMOUNT": OracleType.of("NUMBER", 22, 12, 2),
    "DAY": OracleType.of("DATE", 7),
    "AT": OracleType.of("TIMESTAMP(6)", 11),
    "ZONED": OracleType.of("TIMESTAMP(6) WITH TIME ZONE", 13),
    "LOCAL": OracleType.of("TIMESTAMP(3) WITH LOCAL TIME ZONE", 11),
    "BYTES": OracleType.of("RAW", 16),
    "LARGE": OracleType.of("CLOB", 4000),
    "NATIONAL": OracleType.of("NVARCHAR2", 40),
    "SINGLE": OracleType.of("BINARY_FLOAT", 4),
    "YEARS": OracleType.of("INTERVAL YEAR(2) TO MONTH", 5),
    "DAYS": OracleType.of("INTERVAL DAY(2) TO SECOND(6)", 11),
    "TRUTH": OracleType.of("BOOLEAN", 1),
}


def table(
    *names: str, not_null: tuple[str, ...] = (), relaxed: bool = False, converting: str = "warn"
) -> RedoTable:
    """A table of columns of these names (all by default)."""
    columns = tuple(Column(name, TYPES[name], name in not_null) for name in names or TYPES)
    return RedoTable.of(Table("S", "T", columns), relaxed=relaxed, converting=converting)


def parsed(statements: list[str], of: RedoTable) -> RedoImages:
    """A batch of statements of one table."""
    redo = RedoStatements()
    number = redo.add(of)
    return redo.parse(pa.array(statements, pa.string()), np.full(len(statements), number, np.int32))


def images_of(batch: RedoImages, row: int) -> bytes:
    """The bytes of a statement's images."""
    return bytes(batch.images[batch.offsets[row] : batch.offsets[row + 1]])


def shown(change: ParsedStatement) -> tuple[str, list[bytes | None], list[bytes | None]]:
    """The operation as a letter, and the cells before and after."""
    images = (change.old, change.new)
    old, new = (cells(image, unavailable=UNAVAILABLE) if image else [] for image in images)
    return chr(change.operation), old, new
