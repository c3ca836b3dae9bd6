"""One database of a shared PostgreSQL server, fresh for every test."""

from __future__ import annotations

import itertools
import os
from dataclasses import dataclass
from typing import Any

import psycopg

from headrace.cli.embedded import PostgresServer

_numbers = itertools.count(1)


@dataclass(frozen=True)
class Database:
    """A database name on a running server, with the usual ways to use it."""

    server: PostgresServer
    name: str

    @classmethod
    def create(cls, server: PostgresServer) -> Database:
        name = f"test_{os.getpid()}_{next(_numbers)}"
        server.create_database(name)
        return cls(server, name)

    def drop(self) -> None:
        """Also ends the database's sessions and drops its replication slots."""
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
