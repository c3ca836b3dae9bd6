"""H2 in Db2's mode, in this process: what Debezium reads while it is recorded."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from headrace.java import find_java
from headrace.spark.jvm.maven import fetch_jars

_MODULE = ("com.h2database", "h2", "2.3.232")
_CATALOG = (
    "CREATE SCHEMA SYSCAT",
    "CREATE VIEW SYSCAT.TABLES AS SELECT TABLE_SCHEMA TABSCHEMA, TABLE_NAME TABNAME, 1 TBSPACEID,"
    " ABS(MOD(ORA_HASH(TABLE_NAME), 30000)) TABLEID FROM INFORMATION_SCHEMA.TABLES",
    "CREATE VIEW SYSCAT.SYSTABLES AS SELECT TABSCHEMA CREATOR, TABNAME NAME, TBSPACEID DBID,"
    " TABLEID OBID FROM SYSCAT.TABLES",
    "SET QUERY_STATISTICS TRUE",
    "SET QUERY_STATISTICS_MAX_ENTRIES 1000",
)
USER = "DB2INST1"
PASSWORD = "x"


def h2_jars() -> Path:
    """The folder with H2's jar. Raises NotFetched."""
    return fetch_jars(find_java() / "bin" / "java", _MODULE, alone=True)


class H2Server:
    """One database in memory, which Debezium reaches by TCP."""

    def __init__(self, database: str) -> None:
        import jpype

        jars = [str(jar) for jar in h2_jars().glob("*.jar")]
        if not jpype.isJVMStarted():
            jpype.startJVM("-Duser.timezone=UTC", classpath=jars)
        server = jpype.JClass("org.h2.tools.Server")
        self._error = jpype.JException
        self._server = server.createTcpServer("-tcpPort", "0").start()
        url = f"jdbc:h2:mem:{database};MODE=DB2;DB_CLOSE_DELAY=-1;LOCK_TIMEOUT=20000"
        connect = jpype.JClass("java.sql.DriverManager").getConnection
        self._connection = connect(url, USER, PASSWORD)
        self._connection.setAutoCommit(False)

    @property
    def port(self) -> int:
        return int(self._server.getPort())

    def renew(self) -> None:
        """Removes everything except what every Db2 has."""
        self.execute(("SET QUERY_STATISTICS FALSE", "DROP ALL OBJECTS", *_CATALOG))

    def execute(self, statements: Sequence[str]) -> None:
        """Run the statements in one transaction."""
        statement = self._connection.createStatement()
        for text in statements:
            try:
                statement.execute(text)
            except self._error as error:
                self._connection.rollback()
                sys.exit(f"H2 refuses {text}: {error.getMessage()}")
        self._connection.commit()
        statement.close()

    def number(self, query: str) -> int:
        """The result of a query for one number."""
        statement: Any = self._connection.createStatement()
        rows = statement.executeQuery(query)
        rows.next()
        number = int(rows.getLong(1))
        statement.close()
        self._connection.commit()
        return number

    def close(self) -> None:
        self._connection.createStatement().execute("SHUTDOWN")
        self._server.stop()
