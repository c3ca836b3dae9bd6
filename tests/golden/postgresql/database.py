"""The workloads of PostgreSQL: SQL, of which each block is a transaction."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from headrace.testing.embedded import PostgresServer
from tests.connectors.postgresql.harness import Reader
from tests.golden.database import PREFIX, Database
from tests.golden.postgresql.varying import normalise
from tests.servers.postgresql import await_free_slot

DATABASE = PREFIX


class PostgresDatabase(Database):
    """A database and a replication slot of one name, created again for every workload."""

    folder = Path(__file__).parent
    suffix = ".sql"
    artifact = "connector-postgres"
    normalise = staticmethod(normalise)

    def __init__(self, server: PostgresServer | None = None) -> None:
        self._server = PostgresServer(16) if server is None else server
        self._server.start()

    def properties(self) -> dict[str, str]:
        return self.properties_at(self._server.host, self._server.port)

    @staticmethod
    def properties_at(host: str, port: int) -> dict[str, str]:
        """The properties of a connector for a server there."""
        return {
            "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
            "plugin.name": "pgoutput",
            "database.hostname": host,
            "database.port": str(port),
            "database.user": PostgresServer.user,
            "database.password": "x",
            "database.dbname": DATABASE,
            "slot.name": DATABASE,
            "publication.name": DATABASE,
        }

    def renew(self) -> None:
        self._server.drop_database(DATABASE)
        self._server.create_database(DATABASE)

    def execute(self, block: str) -> None:
        self._server.execute(block, database=DATABASE)

    def streaming(self) -> bool:
        walsender = "SELECT 1 FROM pg_stat_replication WHERE state = 'streaming'"
        return bool(self._server.execute(walsender))

    def end(self) -> Any:
        return self._server.execute("SELECT pg_current_wal_lsn()")[0][0]

    def sent(self, end: Any) -> bool:
        walsender = "SELECT 1 FROM pg_stat_replication WHERE sent_lsn >= %s"
        return bool(self._server.execute(walsender, (end,)))

    def reader(self, properties: Mapping[str, str]) -> Reader:
        return Reader(properties, offsets=[{"v": 1, "server": PREFIX}])

    def stopped(self) -> None:
        await_free_slot(self._server, DATABASE)

    def clean(self) -> None:
        self._server.drop_database(DATABASE)

    def close(self) -> None:
        self._server.close()
