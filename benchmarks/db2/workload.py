"""A backlog of change rows in three change tables, made by a few statements."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from benchmarks.processes import cpu_seconds
from headrace_demo.db2.capture import CaptureProgram
from headrace_demo.db2.control_tables import FIRST_COMMIT, place
from headrace_demo.db2.derby import DerbyServer

SCHEMA, TABLES = "BENCH", ("ORDERS", "ITEMS", "PAYMENTS")
_COLUMNS = (
    "ID INTEGER NOT NULL PRIMARY KEY, CUSTOMER INTEGER NOT NULL, NAME VARCHAR(60), "
    "AMOUNT DECIMAL(12, 2), ORDERED TIMESTAMP"
)
_ROWS_OF_ONE_TABLE = 100
ROWS_OF_A_COMMIT = _ROWS_OF_ONE_TABLE * len(TABLES)
"""Of five rows three are inserts, and two are the halves of an update."""
_OPERATIONS = "CASE WHEN MOD(N, 5) = 3 THEN 'D' ELSE 'I' END"


@dataclass(frozen=True)
class Backlog:
    """A database whose Capture program does not run: the synchpoint moves when `show` is called."""

    server: DerbyServer
    name: str
    rows: int

    @staticmethod
    def events(rows: int) -> int:
        """Changes that so many of the rows make."""
        return rows * 4 // 5

    def server_cpu(self) -> float:
        """CPU seconds so far of Derby and of the bridge before it."""
        return cpu_seconds(self.server.pid) + cpu_seconds(self.server.bridge.pid)

    def properties(self) -> dict[str, str]:
        """The connector's."""
        return {
            "connector.class": "io.debezium.connector.db2.Db2Connector",
            "topic.prefix": "bench",
            "database.hostname": self.server.host,
            "database.port": str(self.server.bridge.port),
            "database.user": self.server.user,
            "database.password": "unused",
            "database.dbname": self.name,
            "driver.AUTHENTICATION": "SERVER",
            "table.include.list": rf"{SCHEMA}\..*",
            "snapshot.mode": "no_data",
            "poll.interval.ms": "20",
            "key.converter.schemas.enable": "false",
            "value.converter.schemas.enable": "false",
            "header.converter.schemas.enable": "false",
        }

    def show(self, rows: int) -> None:
        """The synchpoint moves after the last commit of so many rows; 0: before the first one."""
        commits = rows // ROWS_OF_A_COMMIT
        last = FIRST_COMMIT + 1000 + commits - 1 if commits else FIRST_COMMIT + 1
        self.server.execute(
            self.name,
            "UPDATE ASNCDC.IBMSNAP_REGISTER SET SYNCHPOINT = ? WHERE GLOBAL_RECORD = 'Y'",
            (last.to_bytes(16, "big"),),
        )


@contextmanager
def backlog(rows: int) -> Iterator[Backlog]:
    """So many change rows, over all tables, which no reader can see yet; whole commits."""
    with DerbyServer(memory="512m") as server:
        name = "BENCH"
        server.create_database(name)
        capture = CaptureProgram(server, name)
        capture.install()
        server.execute(name, f"CREATE SCHEMA {SCHEMA}")
        for table in TABLES:
            server.execute(name, f"CREATE TABLE {SCHEMA}.{table} ({_COLUMNS})")
            capture.add_table(SCHEMA, table)
        assert rows % ROWS_OF_A_COMMIT == 0
        each = rows // len(TABLES)
        server.execute(name, "CREATE TABLE NUMBERS (N INTEGER NOT NULL PRIMARY KEY)")
        server.execute(name, "INSERT INTO NUMBERS VALUES 0")
        count = 1
        while count < each:
            server.execute(
                name,
                f"INSERT INTO NUMBERS SELECT N + {count} FROM NUMBERS WHERE N + {count} < {each}",
            )
            count *= 2
        commit = f"CAST({FIRST_COMMIT + 1000} + N / {_ROWS_OF_ONE_TABLE} AS BIGINT)"
        for number, table in enumerate(TABLES):
            intent = f"CAST({len(TABLES)} * N + {number} AS BIGINT)"
            server.execute(
                name,
                f'INSERT INTO ASNCDC."CDC_{SCHEMA}_{table}" SELECT {place(commit, 16)}, '
                f"{place(intent, 16)}, {_OPERATIONS}, N - MOD(N, 5) / 4, MOD(N, 5000), "
                "'Customer with a name of its own', 12.50, CURRENT_TIMESTAMP FROM NUMBERS",
            )
        server.execute(
            name,
            "INSERT INTO ASNCDC.IBMSNAP_UOW (IBMSNAP_UOWID, IBMSNAP_COMMITSEQ, IBMSNAP_LOGMARKER, "
            "IBMSNAP_AUTHTKN, IBMSNAP_AUTHID) SELECT X'00000000000000000000', "
            f"{place(f'CAST({FIRST_COMMIT + 1000} + N AS BIGINT)', 16)}, CURRENT_TIMESTAMP, "
            f"'bench', 'bench' FROM NUMBERS WHERE N < {each // _ROWS_OF_ONE_TABLE + 1}",
        )
        yield Backlog(server, name, each * len(TABLES))
