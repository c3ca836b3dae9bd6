"""The demo's database: a small shop on Apache Derby, which IBM's driver accepts as Db2, with a
simulator of SQL replication's Capture program."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

from headrace.errors import HeadraceError
from headrace.testing import sql_shop
from headrace_demo.db2.capture import CaptureProgram
from headrace_demo.db2.derby import DerbyServer

DATABASE, SCHEMA = "SHOP", "INVENTORY"
# Db2 has no ON UPDATE CASCADE: orders keep the former number of a customer.
TABLES = """
CREATE TABLE inventory.customers (
    id INTEGER NOT NULL PRIMARY KEY, name VARCHAR(40) NOT NULL, email VARCHAR(60) NOT NULL UNIQUE,
    is_vip BOOLEAN NOT NULL DEFAULT FALSE);
CREATE TABLE inventory.products (
    id INTEGER NOT NULL PRIMARY KEY, name VARCHAR(40) NOT NULL, price DECIMAL(10,2) NOT NULL,
    stock INTEGER NOT NULL);
CREATE TABLE inventory.orders (
    id INTEGER NOT NULL PRIMARY KEY, customer_id INTEGER NOT NULL,
    status VARCHAR(10) NOT NULL DEFAULT 'new',
    placed_at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP);
CREATE TABLE inventory.order_items (
    order_id INTEGER NOT NULL REFERENCES inventory.orders ON DELETE CASCADE,
    product_id INTEGER NOT NULL REFERENCES inventory.products,
    quantity INTEGER NOT NULL, price DECIMAL(10,2) NOT NULL, PRIMARY KEY (order_id, product_id));
"""


class ShopDemo:
    """The demo of Db2, which needs no Db2."""

    server = "a simulator of Db2 (Apache Derby, and a stand-in for Capture)"

    @contextmanager
    def open(self, uri: str | None) -> Iterator[ShopDatabase]:
        """Starts Derby with the shop's tables, and Capture. Raises HeadraceError if Derby is not
        available, and for the connection string of another server."""
        if uri is not None:
            raise HeadraceError(
                "db2.demo_server",
                "The demo of Db2 starts a simulator of its own, and reads no other server",
                "Remove --uri.",
            )
        with DerbyServer() as server:
            server.create_database(DATABASE)
            capture = CaptureProgram(server, DATABASE)
            capture.install()
            server.execute(DATABASE, f"CREATE SCHEMA {SCHEMA}")
            for statement in filter(str.strip, TABLES.split(";")):
                server.execute(DATABASE, statement)
            for table in ShopDatabase.tables:
                capture.add_table(SCHEMA, table)
            with capture:
                database = ShopDatabase(capture)
                with database.transaction() as execute:
                    sql_shop.fill(execute)
                capture.await_captured()
                yield database


class ShopDatabase(sql_shop.ShopDatabase):
    """The shop on the simulator. Unquoted names are in upper case."""

    tables = tuple(map(str.upper, sql_shop.TABLES))

    def __init__(self, capture: CaptureProgram) -> None:
        super().__init__(capture.transaction, _properties(capture.server))

    def rows(self, table: str) -> dict[tuple[Any, ...], dict[str, Any]]:
        """A table's rows by key, decimals as texts."""
        rows = super().rows(table.lower())
        return {
            key: {name.upper(): value for name, value in row.items()} for key, row in rows.items()
        }

    def same_value(self, event: object, stored: object) -> bool:
        """Whether an event's JSON value equals the value from `rows`: times are microseconds."""
        if isinstance(stored, datetime) and isinstance(event, int):
            return datetime.fromtimestamp(event / 1_000_000, UTC).replace(tzinfo=None) == stored
        return event == stored


def _properties(server: DerbyServer) -> Mapping[str, str]:
    return {
        "connector.class": "db2",
        "topic.prefix": "shop",
        "database.hostname": server.host,
        "database.port": str(server.bridge.port),
        "database.user": server.user,
        "database.password": "none",
        "database.dbname": DATABASE,
        "driver.AUTHENTICATION": "SERVER",
        "table.include.list": rf"{SCHEMA}\..*",
        "include.schema.changes": "false",
    }
