"""The demo's database: a small shop in an embedded server."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict

from headrace.testing import shop
from headrace.testing.embedded import PostgresServer

SCHEMA = """
CREATE SCHEMA inventory;
CREATE TABLE inventory.customers (
    id integer PRIMARY KEY, name text NOT NULL, email text NOT NULL UNIQUE,
    is_vip boolean NOT NULL DEFAULT false);
CREATE TABLE inventory.products (
    id integer PRIMARY KEY, name text NOT NULL, price numeric(10,2) NOT NULL,
    stock integer NOT NULL);
CREATE TABLE inventory.orders (
    id integer PRIMARY KEY, customer_id integer NOT NULL REFERENCES inventory.customers
        ON UPDATE CASCADE,
    status text NOT NULL DEFAULT 'new', placed_at timestamptz NOT NULL DEFAULT now());
CREATE TABLE inventory.order_items (
    order_id integer NOT NULL REFERENCES inventory.orders ON DELETE CASCADE,
    product_id integer NOT NULL REFERENCES inventory.products,
    quantity integer NOT NULL, price numeric(10,2) NOT NULL, PRIMARY KEY (order_id, product_id));
"""


class ShopDemo:
    """The demo of PostgreSQL."""

    server = "an embedded PostgreSQL"

    @contextmanager
    def open(self) -> Iterator[ShopDatabase]:
        """Starts a server with the shop's tables. Raises HeadraceError without one."""
        with PostgresServer() as server:
            with psycopg.connect(server.dsn()) as connection:
                connection.execute(SCHEMA)
                for table in shop.TABLES:
                    connection.execute(f"ALTER TABLE inventory.{table} REPLICA IDENTITY FULL")
            database = ShopDatabase(server.dsn())
            with database.transaction() as execute:
                shop.fill(execute)
            yield database


class ShopDatabase:
    """The shop's tables on a running server."""

    tables = tuple(shop.TABLES)
    same_value = staticmethod(shop.same_value)

    def __init__(self, dsn: str) -> None:
        self._dsn = dsn
        self.properties = _properties(dsn)
        self.workload = shop.Shop(self.transaction)

    def rows(self, table: str) -> dict[tuple[Any, ...], dict[str, Any]]:
        """See the protocol; decimals as texts."""
        with self.transaction() as execute:
            return shop.rows(execute, table)

    @contextmanager
    def transaction(self) -> Iterator[shop.Execute]:
        """A transaction on a connection of its own."""
        with psycopg.connect(self._dsn) as connection:

            def execute(statement: str, values: Sequence[object]) -> list[tuple[Any, ...]]:
                cursor = connection.execute(statement.replace("?", "%s").encode(), values)
                return cursor.fetchall() if cursor.description else []

            yield execute


def _properties(dsn: str) -> dict[str, str]:
    parts = conninfo_to_dict(dsn)
    return {
        "connector.class": "postgresql",
        "topic.prefix": "shop",
        "database.hostname": str(parts.get("host", "127.0.0.1")),
        "database.port": str(parts.get("port", 5432)),
        "database.user": str(parts.get("user", "postgres")),
        "database.password": str(parts.get("password", "") or "none"),
        "database.dbname": str(parts.get("dbname", "postgres")),
        "schema.include.list": "inventory",
        "slot.name": "headrace_demo",
        **shop.CONVERTERS,
    }
