"""The demo's shop in any SQL database: its tables, its first rows, and its customers' actions."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import datetime
from decimal import Decimal
from functools import partial
from typing import Any, cast

from headrace.testing.shop import CONVERTERS, GOODS, Shop, first_customers, first_products

Execute = Callable[[str, Sequence[object]], list[tuple[Any, ...]]]
"""Runs a statement with values for its `?` markers; returns the rows."""
Transaction = Callable[[], AbstractContextManager[Execute]]
"""Returns a context manager of a transaction."""

TABLES: Mapping[str, Sequence[str]] = {
    "customers": ("id", "name", "email", "is_vip"),
    "products": ("id", "name", "price", "stock"),
    "orders": ("id", "customer_id", "status", "placed_at"),
    "order_items": ("order_id", "product_id", "quantity", "price"),
}
"""Columns by table, all in the schema `inventory`. `is_vip`, `status` and `placed_at` have defaults
(false, 'new', now); a customer's new number cascades to the orders, the delete of an order to its
items."""


def transactions(connect: Callable[[], AbstractContextManager[Any]], marker: str) -> Transaction:
    """Return a Transaction on a new DB-API connection of `connect`; leaving the connection's
    context ends the transaction. `marker` is the parameter marker in the connection's
    statements."""

    @contextmanager
    def transaction() -> Iterator[Execute]:
        with connect() as connection:
            cursor = connection.cursor()

            def execute(statement: str, values: Sequence[object]) -> list[tuple[Any, ...]]:
                cursor.execute(statement.replace("?", marker), values)
                return cursor.fetchall() if cursor.description else []

            yield execute

    return transaction


def fill(execute: Execute) -> None:
    """Insert the first rows."""
    for customer in first_customers():
        execute("INSERT INTO inventory.customers (id, name, email) VALUES (?, ?, ?)", customer)
    for product in first_products():
        execute(
            "INSERT INTO inventory.products (id, name, price, stock) VALUES (?, ?, ?, ?)", product
        )


class ShopDatabase:
    """The shop's tables on a running server; see headrace.connectors.definition.DemoDatabase.

    `transaction` opens transactions on it, `properties` are the connector's, without converters.
    """

    tables = tuple(TABLES)

    def __init__(self, transaction: Transaction, properties: Mapping[str, str]) -> None:
        self.transaction = transaction
        self.properties = {**properties, **CONVERTERS, "decimal.handling.mode": "string"}
        self.workload = Shop(_Visits(transaction).actions)

    def rows(self, table: str) -> dict[tuple[Any, ...], dict[str, Any]]:
        """A table's rows by key, decimals as texts."""
        names = TABLES[table]
        size = 2 if table == "order_items" else 1
        with self.transaction() as execute:
            fetched = execute(f"SELECT {', '.join(names)} FROM inventory.{table}", ())
        texts = (tuple(str(v) if isinstance(v, Decimal) else v for v in row) for row in fetched)
        return {row[:size]: dict(zip(names, row, strict=True)) for row in texts}

    def key(self, key: Mapping[str, Any]) -> tuple[Any, ...]:
        """The values of an event's key."""
        return tuple(key.values())

    def row(self, after: object) -> dict[str, Any]:
        """An event's `after`."""
        return cast("dict[str, Any]", after)

    def same_value(self, event: object, stored: object) -> bool:
        """Whether an event's JSON value equals the value from `rows`."""
        if isinstance(stored, datetime) and isinstance(event, str):
            return datetime.fromisoformat(event) == stored
        return event == stored


class _Visits:
    """Actions of customers, each in a transaction: they order, change their minds and move."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction
        self._chance = random.Random()  # noqa: S311 - sample data
        self.actions = [
            partial(self._commit, action)
            for action in (
                self._place_order, self._place_order, self._ship, self._reprice, self._cancel,
                self._change_key, self._restock, self._promote,
            )
        ]  # fmt: skip

    def _commit(self, action: Callable[[Execute], None]) -> None:
        with self._transaction() as execute:
            action(execute)

    def _customer(self, execute: Execute) -> int:
        return int(self._chance.choice(execute("SELECT id FROM inventory.customers", ()))[0])

    def _place_order(self, execute: Execute) -> None:
        """Insert an order with its items and reduce the stock: a transaction over three tables."""
        ((last,),) = execute("SELECT coalesce(max(id), 0) FROM inventory.orders", ())
        order = last + 1
        execute(
            "INSERT INTO inventory.orders (id, customer_id) VALUES (?, ?)",
            (order, self._customer(execute)),
        )
        for product in self._chance.sample(range(1, len(GOODS) + 1), self._chance.randint(1, 3)):
            quantity = self._chance.randint(1, 4)
            execute(
                "INSERT INTO inventory.order_items (order_id, product_id, quantity, price) "
                "SELECT CAST(? AS INTEGER), id, CAST(? AS INTEGER), price "
                "FROM inventory.products WHERE id = ?",
                (order, quantity, product),
            )
            execute(
                "UPDATE inventory.products SET stock = stock - ? WHERE id = ?", (quantity, product)
            )

    def _ship(self, execute: Execute) -> None:
        execute(
            "UPDATE inventory.orders SET status = 'shipped' WHERE id = "
            "(SELECT min(id) FROM inventory.orders WHERE status = 'new')",
            (),
        )

    def _reprice(self, execute: Execute) -> None:
        execute(
            "UPDATE inventory.products SET price = CAST(price * ? AS DECIMAL(10, 2)) WHERE id = ?",
            (Decimal(self._chance.randint(95, 106)) / 100, self._chance.randint(1, len(GOODS))),
        )

    def _cancel(self, execute: Execute) -> None:
        execute(
            "DELETE FROM inventory.orders WHERE id = "
            "(SELECT max(id) FROM inventory.orders WHERE status = 'new')",
            (),
        )

    def _change_key(self, execute: Execute) -> None:
        """Give a customer a new number: delete, tombstone and create in the stream."""
        execute(
            "UPDATE inventory.customers SET id = (SELECT max(id) + 1 FROM inventory.customers) "
            "WHERE id = (SELECT min(id) FROM inventory.customers)",
            (),
        )

    def _restock(self, execute: Execute) -> None:
        execute("UPDATE inventory.products SET stock = stock + 25 WHERE stock < 100", ())

    def _promote(self, execute: Execute) -> None:
        execute(
            "UPDATE inventory.customers SET is_vip = NOT is_vip WHERE id = ?",
            (self._customer(execute),),
        )
