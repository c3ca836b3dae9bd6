"""Our side of the workloads: Derby, which IBM's driver takes for Db2.

Of a type that Derby lacks a column has another type there, whose values the driver gives as it
gives those of the first one by its manual: DECFLOAT and fine timestamps as texts.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import closing
from typing import Any

from headrace_demo.db2.derby import DerbyServer
from tests.golden.db2.database import DATABASE, CapturedDatabase
from tests.golden.db2.reader import Reader

_SYNCHPOINT = "SELECT SYNCHPOINT FROM ASNCDC.IBMSNAP_REGISTER WHERE GLOBAL_RECORD = 'Y'"
_COMMENT = re.compile(r" COMMENT '[^']*'")
_LACKING = {
    r"\bDECFLOAT\(\d+\)": "VARCHAR(42)",
    r"\bTIMESTAMP\([7-9]\)": "VARCHAR(29)",
    r"\bTIMESTAMP\([0-6]\)": "TIMESTAMP",
    r"\bBINARY\((\d+)\)": r"CHAR(\1) FOR BIT DATA",
    r"\bVARBINARY\((\d+)\)": r"VARCHAR(\1) FOR BIT DATA",
}
_TABLES = """
SELECT SCHEMANAME, TABLENAME FROM SYS.SYSTABLES JOIN SYS.SYSSCHEMAS USING (SCHEMAID)
WHERE TABLETYPE = 'T'
"""
_SCHEMAS = """
SELECT SCHEMANAME FROM SYS.SYSSCHEMAS
WHERE SCHEMANAME NOT LIKE 'SYS%' AND SCHEMANAME NOT IN ('APP', 'NULLID', 'SQLJ')
"""


class DerbyDatabase(CapturedDatabase):
    """One database, from which each workload takes away what the last one has left."""

    def __init__(self, server: DerbyServer) -> None:
        super().__init__()
        self._server = server
        self._connection: Any = None

    def connection_properties(self) -> dict[str, str]:
        return properties_at(self._server.host, self._server.bridge.port)

    def renew_server(self) -> None:
        if self._connection is None:
            self._server.create_database(DATABASE)
            self._connection = self._server.connect(DATABASE)
            self._connection.set_autocommit(False)
        self.transact([f'DROP TABLE "{schema}"."{name}"' for schema, name in self._rows(_TABLES)])
        self.transact([f'DROP SCHEMA "{schema}" RESTRICT' for (schema,) in self._rows(_SCHEMAS)])

    def transact(self, statements: Sequence[str]) -> None:
        with closing(self._connection.cursor()) as cursor:
            for statement in statements:
                statement = _for_derby(statement)
                # The driver counts letters and sends as many bytes.
                longer = len(statement.encode()) - len(statement)
                try:
                    cursor.execute(statement + " " * longer)
                except Exception as error:
                    self._connection.rollback()
                    error.add_note(statement)
                    raise
        self._connection.commit()

    def number(self, query: str) -> int:
        ((number,),) = self._rows(query)
        return int(number)

    def _rows(self, query: str) -> list[tuple[Any, ...]]:
        with closing(self._connection.cursor()) as cursor:
            cursor.execute(query)
            rows = [*cursor.fetchall()]
        self._connection.commit()
        return rows

    def streaming(self) -> bool:
        raise NotImplementedError("Debezium reads H2")

    def end(self) -> Any:
        raise NotImplementedError("Debezium reads H2")

    def sent(self, end: Any) -> bool:
        raise NotImplementedError("Debezium reads H2")

    def reader(self, properties: Mapping[str, str]) -> Reader:
        return Reader(properties, newest=self._newest)

    def _newest(self) -> int:
        with self._lock:
            ((synchpoint,),) = self._rows(_SYNCHPOINT)
        return int.from_bytes(synchpoint, "big")

    def close(self) -> None:
        super().close()
        if self._connection is not None:
            self._connection.close()


def properties_at(host: str, port: int) -> dict[str, str]:
    """The properties of a connector for a server there."""
    return {
        "database.hostname": host,
        "database.port": str(port),
        "database.user": DerbyServer.user,
        "database.password": "unused",
        "database.dbname": DATABASE,
        "driver.AUTHENTICATION": "SERVER",
        "poll.interval.ms": "20",
    }


def _for_derby(statement: str) -> str:
    statement = _COMMENT.sub("", statement)
    for lacking, other in _LACKING.items():
        statement = re.sub(lacking, other, statement)
    return statement
