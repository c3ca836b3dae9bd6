"""A connection that is opened when it is first needed, and again after it was lost."""

from __future__ import annotations

from headrace.connectors.db2.config import Db2Config
from headrace.connectors.db2.connection import Connection, Isolation, connect, translated_error
from headrace.connectors.db2.errors import DriverError, translate
from headrace.errors import HeadraceError
from headrace.relational.reading.kept_connection import KeptConnection


def kept_connection(
    config: Db2Config, isolation: Isolation = Isolation.CS
) -> KeptConnection[Connection]:
    """See KeptConnection. Rows are read in `isolation`."""

    def opened() -> Connection:
        connection = connect(config)
        try:
            connection.isolate(isolation)
        except DriverError as error:
            connection.close()
            raise translated_error(error, config, "Connecting") from None
        return connection

    def translated(error: Exception, doing: str) -> HeadraceError | None:
        return translate(error, config, doing)

    return KeptConnection(opened, translated)
