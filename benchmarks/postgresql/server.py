"""The PostgreSQL server of the benchmark."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from benchmarks.contenders import wait_until
from benchmarks.postgresql import workload
from benchmarks.server import BenchServer, Writer
from headrace.testing.embedded import PostgresServer

DATABASE = workload.DATABASE
# When a contender began to read: its first query of the kind.
_READING = {
    "snapshot": "query ILIKE 'COPY %' OR query ILIKE 'SELECT%FROM \"public\".%'"
    " OR query ILIKE 'SELECT%FROM %orders%' OR query ILIKE '%FETCH%'",
    "stream": "query ILIKE 'START_REPLICATION%'",
}


@dataclass(frozen=True)
class _Inserts:
    connection: Any
    insert_row: bytes

    def insert(self, key: int) -> None:
        self.connection.execute(self.insert_row, (key,))


class Server(BenchServer):
    """The database `bench`, with a publication of all tables; every reader has its own slot."""

    key = re.compile(rb'"after":\{"id":(\d+)')

    def __init__(self, server: PostgresServer) -> None:
        self.server = server
        server.create_database(DATABASE)
        self.execute("CREATE PUBLICATION bench FOR ALL TABLES")

    def execute(self, sql: str) -> list[tuple[Any, ...]]:
        return self.server.execute(sql, database=DATABASE)

    def properties(self) -> dict[str, str]:
        return {
            "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
            "plugin.name": "pgoutput",
            "database.hostname": self.server.host,
            "database.port": str(self.server.port),
            "database.user": self.server.user,
            "database.password": "x",
            "database.dbname": DATABASE,
            "publication.name": "bench",
        }

    def from_now_on(self, collection: str, reader: str) -> dict[str, str]:
        self.execute(f"SELECT pg_create_logical_replication_slot('{reader}', 'pgoutput')")
        return {
            "table.include.list": f"public.{collection}",
            "snapshot.mode": "no_data",
            "slot.name": reader,
        }

    def forget_readers(self) -> None:
        idle = "SELECT count(*) FROM pg_replication_slots WHERE active"
        wait_until(lambda: self.execute(idle)[0][0] == 0)
        self.execute("SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots")

    def watching(self) -> Any:
        return self.server.connect(DATABASE)

    def first_read(self, connection: Any, kind: str) -> float | None:
        query = (
            "SELECT extract(epoch FROM min(query_start))::float8 FROM pg_stat_activity"
            f" WHERE pid <> pg_backend_pid() AND state = 'active' AND ({_READING[kind]})"
        )
        (at,) = connection.execute(query.encode()).fetchone()
        return None if at is None else float(at)

    def streaming(self) -> bool:
        return bool(self.execute("SELECT 1 FROM pg_stat_replication WHERE state = 'streaming'"))

    def make_empty(self, collection: str) -> None:
        workload.make_table(self.server, collection, 0)

    @contextmanager
    def writer(self, collection: str) -> Iterator[Writer]:
        insert = f"INSERT INTO {collection} (id, customer, name) VALUES (%s, 1, 'a name')"
        with self.server.connect(DATABASE) as connection:
            yield _Inserts(connection, insert.encode())
