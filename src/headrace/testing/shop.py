"""A small shop for demonstrations in any SQL database: its first rows, and people who use it."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from decimal import Decimal
from typing import Any

Execute = Callable[[str, Sequence[object]], list[tuple[Any, ...]]]
"""Runs a statement with values in place of its question marks; what it returns are rows."""
Transaction = Callable[[], AbstractContextManager[Execute]]
"""Opens a transaction, which ends with the context."""

TABLES: Mapping[str, Sequence[str]] = {
    "customers": ("id", "name", "email", "is_vip"),
    "products": ("id", "name", "price", "stock"),
    "orders": ("id", "customer_id", "status", "placed_at"),
    "order_items": ("order_id", "product_id", "quantity", "price"),
}
"""Columns by table, all in the schema `inventory`. `is_vip`, `status` and `placed_at` have defaults
(false, 'new', now); a customer's new number cascades to the orders, an order's end to its items."""

CONVERTERS: Mapping[str, str] = {
    "decimal.handling.mode": "string",
    "key.converter": "json",
    "key.converter.schemas.enable": "false",
    "value.converter": "json",
    "value.converter.schemas.enable": "false",
}
"""Properties under which events show what `rows` gives."""

_NAMES = ("Ada", "Bela", "Chidi", "Dora", "Emil", "Fatou", "Goran", "Hana", "Ivo", "June")
_GOODS = ("kettle", "lamp", "mug", "notebook", "pen", "plate", "scarf", "spoon", "torch", "vase")


def fill(execute: Execute) -> None:
    """Insert the first rows."""
    chance = random.Random(1)  # noqa: S311 - sample data
    for number, name in enumerate(_NAMES, 1):
        execute(
            "INSERT INTO inventory.customers (id, name, email) VALUES (?, ?, ?)",
            (number, name, f"{name.lower()}@example.org"),
        )
    for number, name in enumerate(_GOODS, 1):
        price = Decimal(chance.randint(100, 9999)) / 100
        execute(
            "INSERT INTO inventory.products (id, name, price, stock) VALUES (?, ?, ?, ?)",
            (number, name, price, chance.randint(50, 500)),
        )


def rows(execute: Execute, table: str) -> dict[tuple[Any, ...], dict[str, Any]]:
    """A table's rows by key, decimals as texts."""
    names = TABLES[table]
    size = 2 if table == "order_items" else 1
    found = execute(f"SELECT {', '.join(names)} FROM inventory.{table}", ())
    texts = (tuple(str(v) if isinstance(v, Decimal) else v for v in row) for row in found)
    return {row[:size]: dict(zip(names, row, strict=True)) for row in texts}


def same_value(event: object, stored: object) -> bool:
    """Whether an event's JSON value says what `rows` gave."""
    if isinstance(stored, datetime) and isinstance(event, str):
        return datetime.fromisoformat(event) == stored
    return event == stored


class Shop(threading.Thread):
    """Customers who order, change their minds and move; a few statements a second."""

    def __init__(self, transaction: Transaction, pause_s: float = 0.35) -> None:
        super().__init__(name="demo workload", daemon=True)
        self.transactions = 0
        self.failure: Exception | None = None
        self._transaction, self._pause_s = transaction, pause_s
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
            while not self._stopping.is_set():
                action = actions[self.transactions % len(actions)]
                with self._transaction() as execute:
                    action(execute)
                self.transactions += 1
                self._stopping.wait(self._pause_s)
        except Exception as error:  # noqa: BLE001 - the demo shows it
            self.failure = error

    def _customer(self, execute: Execute) -> int:
        return int(self._chance.choice(execute("SELECT id FROM inventory.customers", ()))[0])

    def _place_order(self, execute: Execute) -> None:
        """One transaction over three tables."""
        ((last,),) = execute("SELECT coalesce(max(id), 0) FROM inventory.orders", ())
        order = last + 1
        execute(
            "INSERT INTO inventory.orders (id, customer_id) VALUES (?, ?)",
            (order, self._customer(execute)),
        )
        for product in self._chance.sample(range(1, len(_GOODS) + 1), self._chance.randint(1, 3)):
            quantity = self._chance.randint(1, 4)
            execute(
                "INSERT INTO inventory.order_items (order_id, product_id, quantity, price) "
                "SELECT ?, id, ?, price FROM inventory.products WHERE id = ?",
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
            "UPDATE inventory.products SET price = round(price * ?, 2) WHERE id = ?",
            (Decimal(self._chance.randint(95, 106)) / 100, self._chance.randint(1, len(_GOODS))),
        )

    def _cancel(self, execute: Execute) -> None:
        execute(
            "DELETE FROM inventory.orders WHERE id = "
            "(SELECT max(id) FROM inventory.orders WHERE status = 'new')",
            (),
        )

    def _change_key(self, execute: Execute) -> None:
        """A customer gets a new number: delete, tombstone and create in the stream."""
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
