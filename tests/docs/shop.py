"""The database `shop` that the pages speak of."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from headrace.testing.embedded import PostgresServer
from tests.docs.pages import Block

TABLES = """
CREATE SCHEMA inventory;
CREATE TABLE inventory.customers (id int PRIMARY KEY, name text);
CREATE TABLE inventory.orders (id int PRIMARY KEY, customer int, quantity int, region text);
INSERT INTO inventory.customers VALUES (1, 'Ana'), (2, 'Ben');
INSERT INTO inventory.orders VALUES (1, 1, 5, 'EU'), (2, 2, 1, 'US'), (3, 1, 2, 'EU');
"""


class Shop:
    """The database on a server of its own, with tables and without a role."""

    def __init__(self, server: PostgresServer, tables: str = TABLES) -> None:
        self.server = server
        server.create_database("shop")
        if tables:
            self.execute(tables)

    @property
    def substitutes(self) -> dict[str, str]:
        """The server's names in pages, and its names here."""
        port = str(self.server.port)
        return {
            "5432": port,
            "=localhost": f"={self.server.host}",
            "=db\n": f"={self.server.host}\n",
            '"localhost"': f'"{self.server.host}"',
        }

    def execute(self, sql: str) -> list[tuple[Any, ...]]:
        """The rows of the last statement."""
        return self.server.execute(sql, database="shop")

    def run(self, block: Block) -> None:
        """The statements of a page, one transaction each, as psql runs them."""
        with self.server.connect("shop") as connection:
            for statement in block.text.split(";\n"):
                if statement.strip():
                    connection.execute(statement.encode())

    def slots(self) -> set[str]:
        """Names of the server's replication slots."""
        return {name for (name,) in self.execute("SELECT slot_name FROM pg_replication_slots")}


@contextmanager
def shop(tables: str = TABLES) -> Iterator[Shop]:
    """One whose server ends with the context."""
    with PostgresServer() as server:
        yield Shop(server, tables)


def events(file: Path) -> list[tuple[str, Any, Any]]:
    """Topic, operation and row of each event in a file of JSON lines, without tombstones."""
    lines = map(json.loads, file.read_text().splitlines())
    return [
        (line["topic"], line["value"]["op"], line["value"]["after"])
        for line in lines
        if line["value"] is not None
    ]
