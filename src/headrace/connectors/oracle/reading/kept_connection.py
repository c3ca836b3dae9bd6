"""A connection to the pluggable database that is opened when it is first needed, and again after it
was lost."""

from __future__ import annotations

from headrace.connectors.oracle.config import OracleConfig
from headrace.connectors.oracle.connection import Connection, connect
from headrace.connectors.oracle.errors import translate
from headrace.errors import HeadraceError
from headrace.relational.reading.kept_connection import KeptConnection


def kept_connection(config: OracleConfig) -> KeptConnection[Connection]:
    """See KeptConnection."""

    def translated(error: Exception, doing: str) -> HeadraceError | None:
        return translate(error, config, doing)

    return KeptConnection(lambda: connect(config, container=config.container), translated)
