"""A connection to the pluggable database that is opened when it is first needed, and again when it
was lost."""

from __future__ import annotations

from headrace.connectors.oracle.config import OracleConfig
from headrace.connectors.oracle.connection import Connection, connect, translated_error
from headrace.connectors.oracle.errors import DriverError, translate
from headrace.errors import HeadraceError
from headrace.relational.reading.kept_connection import KeptConnection


def database_connection(config: OracleConfig) -> Connection:
    """An open connection, in the pluggable database where there is one. Raises HeadraceError."""
    connection = connect(config)
    try:
        if config.database_pdb_name:
            connection.switch_to(config.catalog_name)
    except DriverError as error:
        connection.close()
        raise translated_error(error, config, "Connecting") from None
    return connection


def kept_connection(config: OracleConfig) -> KeptConnection[Connection]:
    """See KeptConnection."""

    def translated(error: Exception, doing: str) -> HeadraceError | None:
        return translate(error, config, doing)

    return KeptConnection(lambda: database_connection(config), translated)
