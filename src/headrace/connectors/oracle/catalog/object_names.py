"""Tables that LogMiner names by their number, or by their name in the recycle bin
(log.mining.strategy=hybrid): those that were altered or dropped since the redo was written."""

from __future__ import annotations

import re

from headrace.connectors.oracle import sql
from headrace.connectors.oracle.capture import RECYCLED
from headrace.connectors.oracle.catalog.catalog import Catalog
from headrace.connectors.oracle.connection import Connection

Path = tuple[str, str]

_NUMBERED = re.compile(r"OBJ# ?([0-9]+)")


class ObjectNames:
    """The names that the data dictionary has, read on a connection to the container with the
    tables. Names that were read stay known after the table is dropped. Methods raise
    DriverError."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._paths: dict[int, Path | None] = {}
        self._recycled: dict[str, Path | None] = {}
        self._read()

    def find(self, name: str) -> Path | None:
        """Return schema and name of the table for a name that LogMiner gave. None: the table is not
        known, or `name` is an ordinary table name."""
        if name.startswith(RECYCLED):
            if name not in self._recycled:
                rows = self._connection.rows(sql.RECYCLED(), {"name": name})
                self._recycled[name] = (str(rows[0][0]), str(rows[0][1])) if rows else None
            return self._recycled[name]
        numbered = _NUMBERED.fullmatch(name)
        if numbered is None:
            return None
        number = int(numbered[1])
        if number not in self._paths:
            self._read()
            self._paths.setdefault(number, None)  # Oracle does not reuse numbers of tables
        return self._paths[number]

    def _read(self) -> None:
        for schema, name, number in Catalog(self._connection).tables():
            self._paths[number] = (schema, name)
