"""Checks that the driver returns rows as Arrow, in which form the stream reads the redo."""

from __future__ import annotations

import pyarrow as pa

from headrace.connectors.oracle import sql
from headrace.connectors.oracle.checks.state import Checked
from headrace.connectors.oracle.connection import CHECK_LIMIT, driver_version, translated_error
from headrace.connectors.oracle.errors import DriverError
from headrace.connectors.oracle.streaming import redo_rows
from headrace.errors import HeadraceError

SCHEMA = pa.schema(
    [
        pa.field("SCN", redo_rows.REDO.field(redo_rows.SCN).type),
        pa.field("TIME", redo_rows.REDO.field(redo_rows.TIMESTAMP).type),
        pa.field("HASH", redo_rows.REDO.field(redo_rows.XID).type),
        pa.field("NAME", redo_rows.REDO.field(redo_rows.TABLE_NAME).type),
        pa.field("LOG_MODE", redo_rows.REDO.field(redo_rows.SQL_REDO).type),
        pa.field("MISSING", redo_rows.REDO.field(redo_rows.INFO).type),
    ]
)
"""The schema of `sql.ARROW_ROW`, which has every type that the stream reads."""
UNSUITABLE_DRIVER = (AttributeError, TypeError, ValueError, pa.ArrowException)
"""Exceptions of a driver that cannot return Arrow, or whose method has other parameters."""
_UNTRANSLATED = "oracle.query_failed"
"""The code of an error of the driver that headrace does not explain."""


def check_arrow_fetch(checked: Checked) -> None:
    """Check that the driver returns the same row as Arrow and through a cursor. Raises DriverError
    and HeadraceError."""
    connection, statement = checked.in_root(), sql.ARROW_ROW()
    expected = connection.rows(statement)
    try:
        batches = list(connection.batches(statement, SCHEMA))
        fetched = [tuple(row.values()) for batch in batches for row in batch.to_pylist()]
    except DriverError as error:
        if _code(checked, error) != _UNTRANSLATED:
            raise
        raise arrow_error(checked, error.text) from None
    except UNSUITABLE_DRIVER as error:
        raise arrow_error(checked, f"{type(error).__name__}: {error}") from None
    if fetched != expected:
        raise arrow_error(checked, "the values as Arrow differ from those of a cursor")
    checked.ok("arrow_fetch", f"The driver ({driver_version(checked.config)}) gives rows as Arrow")


def arrow_error(checked: Checked, why: str) -> HeadraceError:
    """Return the error of a driver or a server that returns no rows as Arrow."""
    config, version = checked.config, ".".join(map(str, checked.connection.version))
    return HeadraceError(
        "oracle.arrow_fetch",
        f"The driver ({driver_version(config)}, with PyArrow {pa.__version__}) does not give rows "
        f"of Oracle {version} as Arrow (fetch_df_batches with requested_schema): "
        f"{config.hidden.in_error(why, '')}",
        "Install the current driver (pip install --upgrade oracledb, 3.4 or later), and leave "
        "driver.module out. If this persists, report it with these versions.",
    )


def _code(checked: Checked, error: DriverError) -> str:
    return translated_error(error, checked.config, limit=CHECK_LIMIT).code
