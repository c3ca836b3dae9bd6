"""The demo's database: a small shop in an embedded server."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from psycopg.conninfo import conninfo_to_dict

from headrace.errors import HeadraceError
from headrace.testing import sql_shop
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
    def open(self, uri: str | None) -> Iterator[sql_shop.ShopDatabase]:
        """Start a server with the shop's tables. Raises HeadraceError if no server can be started,
        and for the connection string of another database."""
        if uri is not None:
            raise HeadraceError(
                "postgresql.demo_server",
                "The demo of PostgreSQL starts a server of its own, and reads no other",
                "Remove --uri.",
            )
        with PostgresServer() as server:
            with psycopg.connect(server.dsn()) as connection:
                connection.execute(SCHEMA)
                for table in sql_shop.TABLES:
                    connection.execute(f"ALTER TABLE inventory.{table} REPLICA IDENTITY FULL")
            transaction = sql_shop.transactions(lambda: psycopg.connect(server.dsn()), "%s")
            database = sql_shop.ShopDatabase(transaction, _properties(server.dsn()))
            with database.transaction() as execute:
                sql_shop.fill(execute)
            yield database


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
    }
