"""One database of a shared PostgreSQL server, fresh for every test."""

from __future__ import annotations

import itertools
import os
import time
from dataclasses import dataclass
from typing import Any

import psycopg

from headrace.testing.embedded import PostgresServer
from tests.servers.spare_databases import SpareDatabases

_numbers = itertools.count(1)
_SLOT_SECONDS = 300.0


@dataclass(frozen=True)
class Database:
    """A database name on a running server, with the usual ways to use it."""

    server: PostgresServer
    name: str

    @classmethod
    def create(cls, server: PostgresServer) -> Database:
        name = f"test_{os.getpid()}_{next(_numbers)}"
        SpareDatabases.of(server).take(name)
        return cls(server, name)

    def drop(self) -> None:
        """Also ends the database's sessions and drops its replication slots."""
        if not SpareDatabases.of(self.server).give(self.name):
            self.server.drop_database(self.name)

    @property
    def dsn(self) -> str:
        return self.server.dsn(self.name)

    def connect(self, user: str | None = None) -> psycopg.Connection[tuple[Any, ...]]:
        """A new connection in autocommit mode."""
        return self.server.connect(self.name, user)

    def execute(self, sql: str, parameters: Any = None) -> list[tuple[Any, ...]]:
        """Several statements are one transaction; the rows of the last one."""
        return self.server.execute(sql, parameters, database=self.name)

    def drop_slot(self, name: str | None = None) -> None:
        """Drop the slot, by default that of `properties`, once its walsender has left it."""
        name = name or self.name
        await_free_slot(self.server, name)
        self.execute("SELECT pg_drop_replication_slot(%s)", (name,))

    def advance_slot(self, lsn: str | None = None) -> None:
        """Another consumer takes everything up to `lsn`, by default up to now."""
        await_free_slot(self.server, self.name)
        query = "SELECT pg_replication_slot_advance(%s, coalesce(%s, pg_current_wal_lsn()))"
        self.execute(query, (self.name, lsn))

    def properties(self, **more: str) -> dict[str, str]:
        """Debezium's connection properties; `more` uses `_` for `.` in property names."""
        return {
            "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
            "topic.prefix": "headrace",
            "database.hostname": self.server.host,
            "database.port": str(self.server.port),
            "database.user": self.server.user,
            "database.password": "unused",
            "database.dbname": self.name,
            "plugin.name": "pgoutput",
            "slot.name": self.name,
            "publication.name": self.name,
        } | {name.replace("_", "."): value for name, value in more.items()}


def await_free_slot(server: PostgresServer, name: str) -> None:
    """Wait until nobody uses the slot: a walsender outlives its client for a moment."""
    query = "SELECT active_pid FROM pg_replication_slots WHERE slot_name = %s"
    deadline = time.monotonic() + _SLOT_SECONDS
    while any(pid for (pid,) in server.execute(query, (name,))):
        assert time.monotonic() < deadline, f"the slot {name} stays in use"
        time.sleep(0.02)
