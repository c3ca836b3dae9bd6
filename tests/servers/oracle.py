"""One database of a shared stand-in for Oracle, fresh for every test."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

from headrace_demo.oracle.server import OracleServer, Transaction

SCHEMA, PDB = "INV", "ORCLPDB1"


@dataclass(frozen=True)
class OracleDatabase:
    """A database on the stand-in, with nothing in it but what a test makes."""

    server: OracleServer

    @classmethod
    def create(
        cls, server: OracleServer, script: Mapping[str, Any] | None = None
    ) -> OracleDatabase:
        """A database with the tables of a script, which others lose."""
        server.load(script or {})
        return cls(server)

    def create_table(
        self,
        table: str,
        *columns: str,
        key: Iterable[str] = (),
        rows: Iterable[Any] = (),
        **more: Any,
    ) -> None:
        """A table of the schema `INV`; columns as CREATE TABLE has them, `more` as in a script."""
        name = table if "." in table else f"{SCHEMA}.{table}"
        definition = {
            "name": name,
            "columns": columns,
            "key": list(key),
            "rows": list(rows),
            **more,
        }
        self.server.apply([{"table": definition}])

    def transaction(
        self, user: str = "APP", client: str | None = None, thread: int = 1
    ) -> AbstractContextManager[Transaction]:
        """A transaction, which is committed at the end."""
        return self.server.transaction(user, client, thread)

    def sent(self, statement: str) -> int:
        """The number of times that a statement, by its name, was sent to the server."""
        return int(self.server.call("counted").get(statement, 0))

    def change(self, **named: Any) -> None:
        """Changes settings of the database: `log_mode`, `supplemental`, `privileges`,
        `hidden_views` …"""
        self.server.call("change", **named)

    def properties(self, **more: str) -> dict[str, str]:
        """Debezium's connection properties, capturing the schema; `more` uses `_` for `.`."""
        return {
            "connector.class": "io.debezium.connector.oracle.OracleConnector",
            "topic.prefix": "headrace",
            **self.server.properties(),
            "log.mining.sleep.time.default.ms": "20",
            "log.mining.sleep.time.max.ms": "20",
            "table.include.list": rf"{SCHEMA}\..*",
        } | {name.replace("_", "."): value for name, value in more.items()}
