"""The server that answers, as reports of errors describe it."""

from __future__ import annotations

from headrace.connectors.oracle import sql
from headrace.connectors.oracle.connection import Connection, Row
from headrace.connectors.oracle.errors import DriverError

_HIDDEN = (942, 1031)
"""ORA codes of views that the user may not see."""
_CONTAINERS = {"YES": "a container database", "NO": "not a container database"}


def described(connection: Connection) -> str:
    """Return the version, and what the user may see of edition, platform and containers, as in
    `Oracle 19.3.0.0.0 (Oracle Database 19c Enterprise Edition, Linux x86 64-bit, a container
    database)`. Raises DriverError."""
    parts = [str(product) for (product,) in _rows(connection, sql.PRODUCT())][:1]
    for platform, cdb in _rows(connection, sql.PLATFORM()):
        parts += [str(platform), _CONTAINERS.get(cdb, "")]
    version = ".".join(map(str, connection.version))
    details = ", ".join(filter(None, (part.strip() for part in parts)))
    return f"Oracle {version} ({details})" if details else f"Oracle {version}"


def _rows(connection: Connection, statement: str) -> list[Row]:
    try:
        return connection.rows(statement)
    except DriverError as error:
        if error.code not in _HIDDEN:
            raise
        return []
