"""The demo's database: a small shop in an embedded server, and people who use it."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from decimal import Decimal
from typing import Any

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict

from headrace.testing.embedded import PostgresServer

SCHEMA = """
CREATE SCHEMA inventory;
CREATE TABLE inventory.customers (
    id serial PRIMARY KEY, name text NOT NULL, email text NOT NULL UNIQUE,
    is_vip boolean NOT NULL DEFAULT false);
CREATE TABLE inventory.products (
    id serial PRIMARY KEY, name text NOT NULL, price numeric(10,2) NOT NULL,
    stock integer NOT NULL);
CREATE TABLE inventory.orders (
    id serial PRIMARY KEY, customer_id integer NOT NULL REFERENCES inventory.customers
        ON UPDATE CASCADE,
    status text NOT NULL DEFAULT 'new', placed_at timestamptz NOT NULL DEFAULT now());
CREATE TABLE inventory.order_items (
    order_id integer NOT NULL REFERENCES inventory.orders ON DELETE CASCADE,
    product_id integer NOT NULL REFERENCES inventory.products,
    quantity integer NOT NULL, price numeric(10,2) NOT NULL, PRIMARY KEY (order_id, product_id));
ALTER TABLE inventory.customers REPLICA IDENTITY FULL;
ALTER TABLE inventory.products REPLICA IDENTITY FULL;
ALTER TABLE inventory.orders REPLICA IDENTITY FULL;
ALTER TABLE inventory.order_items REPLICA IDENTITY FULL;
"""
TABLES = {
    "customers": ("id",),
    "products": ("id",),
    "orders": ("id",),
    "order_items": ("order_id", "product_id"),
}
"""Key columns by table."""

_NAMES = ("Ada", "Bela", "Chidi", "Dora", "Emil", "Fatou", "Goran", "Hana", "Ivo", "June")
_GOODS = ("kettle", "lamp", "mug", "notebook", "pen", "plate", "scarf", "spoon", "torch", "vase")


class ShopDemo:
    """The demo of PostgreSQL."""

    server = "an embedded PostgreSQL"

    @contextmanager
    def open(self) -> Iterator[ShopDatabase]:
        """Starts a server with the shop's tables. Raises HeadraceError without one."""
        with PostgresServer() as server:
            dsn = server.dsn()
            _create(dsn)
            yield ShopDatabase(dsn)


class ShopDatabase:
    """The shop's tables on a running server."""

    tables = tuple(TABLES)

    def __init__(self, dsn: str) -> None:
        self._dsn = dsn
        self.properties = _properties(dsn)
        self.workload = Shop(dsn)

    def rows(self, table: str) -> dict[tuple[Any, ...], dict[str, Any]]:
        """A table's rows by key, decimals as texts."""
        with psycopg.connect(self._dsn) as connection:
            query = sql.SQL("SELECT * FROM inventory.{}").format(sql.Identifier(table))
            cursor = connection.execute(query)
            names = [column.name for column in cursor.description or ()]
            rows = [dict(zip(names, row, strict=True)) for row in cursor]
        for row in rows:
            for name, value in row.items():
                if isinstance(value, Decimal):
                    row[name] = str(value)
        return {tuple(row[name] for name in TABLES[table]): row for row in rows}

    def same_value(self, event: object, stored: object) -> bool:
        """Whether an event's JSON value says what `rows` gave."""
        if isinstance(stored, datetime) and isinstance(event, str):
            return datetime.fromisoformat(event) == stored
        return event == stored


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
        "decimal.handling.mode": "string",
        "key.converter": "json",
        "key.converter.schemas.enable": "false",
        "value.converter": "json",
        "value.converter.schemas.enable": "false",
    }


def _create(dsn: str) -> None:
    """Make the tables and their first rows."""
    chance = random.Random(1)  # noqa: S311 - sample data
    with psycopg.connect(dsn) as connection:
        connection.execute(SCHEMA)
        for name in _NAMES:
            connection.execute(
                "INSERT INTO inventory.customers (name, email) VALUES (%s, %s)",
                (name, f"{name.lower()}@example.org"),
            )
        for name in _GOODS:
            connection.execute(
                "INSERT INTO inventory.products (name, price, stock) VALUES (%s, %s, %s)",
                (name, Decimal(chance.randint(100, 9999)) / 100, chance.randint(50, 500)),
            )


class Shop(threading.Thread):
    """Customers who order, change their minds and move; a few statements a second."""

    def __init__(self, dsn: str, pause_s: float = 0.35) -> None:
        super().__init__(name="demo workload", daemon=True)
        self.transactions = 0
        self.failure: Exception | None = None
        self._dsn = dsn
        self._pause_s = pause_s
        self._stopping = threading.Event()
        self._chance = random.Random()  # noqa: S311 - sample data

    def stop(self) -> None:
        """Ends after the transaction at hand."""
        self._stopping.set()
        if self.is_alive():
            self.join(10)

    def run(self) -> None:
        actions = (
            self._place_order, self._place_order, self._ship, self._reprice, self._cancel,
            self._change_key, self._restock, self._promote,
        )  # fmt: skip
        try:
            with psycopg.connect(self._dsn) as connection:
                while not self._stopping.is_set():
                    action = actions[self.transactions % len(actions)]
                    with connection.transaction():
                        action(connection)
                    self.transactions += 1
                    self._stopping.wait(self._pause_s)
        except psycopg.Error as error:
            self.failure = error

    def _place_order(self, connection: psycopg.Connection) -> None:
        """One transaction over three tables."""
        row = connection.execute(
            "INSERT INTO inventory.orders (customer_id) "
            "SELECT id FROM inventory.customers ORDER BY random() LIMIT 1 RETURNING id"
        ).fetchone()
        assert row is not None
        for product in self._chance.sample(range(1, len(_GOODS) + 1), self._chance.randint(1, 3)):
            quantity = self._chance.randint(1, 4)
            connection.execute(
                "INSERT INTO inventory.order_items "
                "SELECT %s, id, %s, price FROM inventory.products WHERE id = %s",
                (row[0], quantity, product),
            )
            connection.execute(
                "UPDATE inventory.products SET stock = stock - %s WHERE id = %s",
                (quantity, product),
            )

    def _ship(self, connection: psycopg.Connection) -> None:
        connection.execute(
            "UPDATE inventory.orders SET status = 'shipped' WHERE id = "
            "(SELECT min(id) FROM inventory.orders WHERE status = 'new')"
        )

    def _reprice(self, connection: psycopg.Connection) -> None:
        connection.execute(
            "UPDATE inventory.products SET price = round(price * %s, 2) WHERE id = %s",
            (Decimal(self._chance.randint(95, 106)) / 100, self._chance.randint(1, len(_GOODS))),
        )

    def _cancel(self, connection: psycopg.Connection) -> None:
        connection.execute(
            "DELETE FROM inventory.orders WHERE id = "
            "(SELECT max(id) FROM inventory.orders WHERE status = 'new')"
        )

    def _change_key(self, connection: psycopg.Connection) -> None:
        """A customer gets a new number: delete, tombstone and create in the stream."""
        connection.execute(
            "UPDATE inventory.customers SET id = nextval('inventory.customers_id_seq') WHERE id = "
            "(SELECT min(id) FROM inventory.customers)"
        )

    def _restock(self, connection: psycopg.Connection) -> None:
        connection.execute("UPDATE inventory.products SET stock = stock + 25 WHERE stock < 100")

    def _promote(self, connection: psycopg.Connection) -> None:
        connection.execute(
            "UPDATE inventory.customers SET is_vip = NOT is_vip WHERE id = "
            "(SELECT id FROM inventory.customers ORDER BY random() LIMIT 1)"
        )
